/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replica by descriptors: any meta file beside any data. What counts as read was under a checksum that is right, and lies
 * where it belongs. In front: what is asked for, and how long the data are; then the data, then the meta file.
 */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/rd.h"
#include "base/scope.h"
#include "store/hdfs/dn/replica.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int file_of(const char *name, const uint8_t *p, size_t n)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	assert(fd >= 0);
	assert(n == 0 || pwrite(fd, p, n, 0) == (ssize_t)n);
	return fd;
}

/* Cut in the middle, so that both halves have parts of chunks. */
static int check(struct replica_read *read, uint8_t *out, uint64_t n)
{
	struct block_seg segs[2] = {{out, n - n / 2}, {out + n - n / 2, n / 2}};

	read->segs = segs;
	read->n_segs = n / 2 ? 2 : 1;
	return replica_read(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct rd r = rd_of(p, n);
	uint64_t offset = rd_be32(&r), length = 1u + rd_be16(&r);
	uint16_t n_data = rd_be16(&r);
	const uint8_t *data = rd_bytes(&r, n_data), *meta = r.at;
	AUTO_FREE uint8_t *out = mem_zalloc(length);
	struct replica_read read = {.offset = offset};
	int code;

	if (r.bad || !out || rd_left(&r) < REPLICA_META_HEAD)
		return 0;
	code = replica_meta_parse(meta, &read.meta);
	assert(code == 0 || code == E_PROTOCOL);
	if (code < 0)
		return 0;
	assert(read.meta.chunk_bytes > 0 && read.meta.chunk_bytes <= BLOCK_MAX_CHUNK);
	read.data_fd = file_of("data", data, n_data);
	read.meta_fd = file_of("meta", meta, rd_left(&r));
	code = check(&read, out, length);
	assert(code == 0 || code == -EBADMSG || code == -ENODATA || code == -ENOMEM);
	assert(code == 0 ? read.n_done == length : read.n_done < length);
	assert(!read.n_done || (offset + read.n_done <= n_data && memcmp(out, data + offset, read.n_done) == 0));
	assert(code != -EBADMSG || read.bad_at < n_data);
	close(read.data_fd);
	close(read.meta_fd);
	return 0;
}
