/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a DataNode sends for a read: whatever it is, and however it comes, nothing is written but where the reader wants it,
 * and the end is the same. In front of it: what was asked for, and which of it somebody wants.
 */
#include <assert.h>
#include <string.h>

#include "base/rd.h"
#include "base/scope.h"
#include "store/hdfs/dn/block_flow.h"

#define MAX_SEGS 16u

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct asked {
	uint64_t offset, length;
	uint32_t seg_bytes;
	uint16_t wanted;	/* bits: of the segments */
};

static struct asked asked_of(struct rd *r)
{
	struct asked a = {.offset = rd_be32(r), .length = 1u + rd_be16(r), .seg_bytes = 1u + rd_be16(r)};

	a.wanted = rd_be16(r);
	return a;
}

static unsigned segs_of(const struct asked *a, uint8_t *out, struct block_seg segs[MAX_SEGS])
{
	uint64_t at = 0;
	unsigned n = 0;

	while (at < a->length) {
		uint64_t part = n + 1 == MAX_SEGS ? a->length - at : MIN(a->length - at, a->seg_bytes);

		segs[n] = (struct block_seg){.buf = a->wanted >> n & 1 ? out + at : NULL, .n = part};
		n++;
		at += part;
	}
	return n;
}

/* The next bytes, at most `most`. How many there was room for. */
static size_t receive(struct block_flow *f, const uint8_t *p, size_t n, size_t most)
{
	size_t took = 0;

	n = MIN(n, most);
	flow_layout(f);
	assert(f->n_iov > 0 && f->n_iov <= FLOW_MAX_IOV);
	for (unsigned i = 0; i < f->n_iov && took < n; i++) {
		size_t part = MIN(f->iov[i].iov_len, n - took);

		assert(f->iov[i].iov_len > 0);
		memcpy(f->iov[i].iov_base, p + took, part);
		took += part;
	}
	return took;
}

static int read_all(const struct asked *a, const uint8_t *p, size_t n, size_t most, uint8_t *out)
{
	struct block_seg segs[MAX_SEGS];
	struct block_flow f;
	int r = flow_init(&f, a->offset, a->length, segs, segs_of(a, out, segs));

	while (r == 0 && n) {
		size_t took = receive(&f, p, n, most);

		r = flow_took(&f, took);
		assert(f.n_done <= a->length && (r <= 0 || f.n_done == a->length));
		p += took;
		n -= took;
	}
	assert(r == -ENOMEM || r >= 0 || f.err.code == r);
	flow_release(&f);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const size_t mosts[] = {1, 7, 1000};
	struct rd r = rd_of(p, n);
	struct asked a = asked_of(&r);
	AUTO_FREE uint8_t *whole = mem_zalloc(a.length), *parts = mem_zalloc(a.length);
	int r_whole;

	if (r.bad || !whole || !parts)
		return 0;
	r_whole = read_all(&a, r.at, rd_left(&r), SIZE_MAX, whole);
	for (unsigned i = 0; i < N_ELEMS(mosts); i++) {
		assert(read_all(&a, r.at, rd_left(&r), mosts[i], parts) == r_whole);
		assert(r_whole < 1 || memcmp(whole, parts, a.length) == 0);
	}
	return 0;
}
