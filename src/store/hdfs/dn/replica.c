/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/dn/replica.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/rd.h"
#include "base/scope.h"

#define META_VERSION 1
#define SLICE_BYTES (256u << 10) /* verified while it is in the cache */

int replica_meta_parse(const uint8_t head[REPLICA_META_HEAD], struct replica_meta *ret)
{
	struct rd rd = rd_of(head, REPLICA_META_HEAD);
	uint16_t version = rd_be16(&rd);
	uint8_t kind = rd_u8(&rd);
	uint32_t chunk_bytes = rd_be32(&rd);

	if (version != META_VERSION || kind > CRC_C || !chunk_bytes || chunk_bytes > BLOCK_MAX_CHUNK)
		return E_PROTOCOL;
	*ret = (struct replica_meta){.kind = (enum crc_kind)kind, .chunk_bytes = chunk_bytes};
	return 0;
}

/* Bytes there are, up to n. */
static ssize_t pread_full(int fd, uint8_t *p, size_t n, uint64_t offset)
{
	size_t have = 0;

	while (have < n) {
		ssize_t r = pread(fd, p + have, n - have, (off_t)(offset + have));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		have += (size_t)r;
	}
	return (ssize_t)have;
}

/* The checksums of n bytes of data from the chunk at offset on, against those of the meta file. */
static int check(struct replica_read *r, const uint8_t *p, size_t n, uint64_t offset)
{
	uint8_t sums[SLICE_BYTES / 64];
	size_t n_chunks = (n + r->meta.chunk_bytes - 1) / r->meta.chunk_bytes, at = 0;

	if (r->meta.kind == CRC_NONE)
		return 0;
	while (at < n_chunks) {
		size_t part = MIN(n_chunks - at, sizeof(sums) / 4), from = at * r->meta.chunk_bytes;
		uint64_t chunk = offset / r->meta.chunk_bytes + at;
		ssize_t got = pread_full(r->meta_fd, sums, part * 4, REPLICA_META_HEAD + chunk * 4);
		int64_t bad;

		if (got < 0)
			return (int)got;
		if ((size_t)got < part * 4)
			return -ENODATA;
		bad = crc_check(r->meta.kind, r->meta.chunk_bytes, p + from, MIN(n - from, part * r->meta.chunk_bytes), sums);
		if (bad >= 0) {
			r->bad_at = (chunk + (uint64_t)bad) * r->meta.chunk_bytes;
			return -EBADMSG;
		}
		at += part;
	}
	return 0;
}

/* A part of one chunk, by way of the whole. */
static int read_part(struct replica_read *r, uint8_t *to, size_t n, uint64_t offset)
{
	AUTO_FREE uint8_t *chunk = mem_alloc(r->meta.chunk_bytes);
	uint64_t begin = offset / r->meta.chunk_bytes * r->meta.chunk_bytes;
	ssize_t got;
	int code;

	if (!chunk)
		return -ENOMEM;
	got = pread_full(r->data_fd, chunk, r->meta.chunk_bytes, begin);
	if (got < 0)
		return (int)got;
	if (begin + (uint64_t)got < offset + n)
		return -ENODATA;
	code = check(r, chunk, (size_t)got, begin);
	if (code == 0)
		memcpy(to, chunk + (offset - begin), n);
	return code;
}

/* Whole chunks, straight to where they belong. */
static int read_chunks(struct replica_read *r, uint8_t *to, size_t n, uint64_t offset)
{
	ssize_t got = pread_full(r->data_fd, to, n, offset);

	if (got < 0)
		return (int)got;
	return (size_t)got < n ? -ENODATA : check(r, to, n, offset);
}

/* How many of n bytes at offset are read at once, and whether they are whole chunks. */
static size_t slice(const struct replica_read *r, uint64_t n, uint64_t offset, bool *ret_whole)
{
	uint32_t chunk = r->meta.chunk_bytes;
	uint64_t in_chunk = offset % chunk, most = MAX(SLICE_BYTES / chunk * chunk, chunk);

	*ret_whole = in_chunk == 0 && n >= chunk;
	if (*ret_whole)
		return MIN(n / chunk * chunk, most);
	return MIN(n, chunk - in_chunk);
}

static int read_seg(struct replica_read *r, uint8_t *to, uint64_t n, uint64_t offset)
{
	while (n) {
		bool whole;
		size_t part = slice(r, n, offset, &whole);
		int code = (whole ? read_chunks : read_part)(r, to, part, offset);

		if (code < 0)
			return code;
		r->n_done += part;
		to += part;
		offset += part;
		n -= part;
	}
	return 0;
}

int replica_read(struct replica_read *r)
{
	uint64_t offset = r->offset;
	int code = 0;

	r->n_done = 0;
	for (unsigned i = 0; i < r->n_segs && code == 0; i++) {
		if (r->segs[i].buf)
			code = read_seg(r, r->segs[i].buf, r->segs[i].n, offset);
		else
			r->n_done += r->segs[i].n;
		offset += r->segs[i].n;
	}
	return code;
}
