/* SPDX-License-Identifier: Apache-2.0 */
/* What a DataNode sends for a read, in whatever pieces it comes: every byte is right or an error, and none is counted twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "base/scope.h"
#include "store/hdfs/dn/block_flow.h"
#include "wire/hadoop/pb.h"

#define BLOCK_BYTES 1000003u
#define MAX_SEGS 64u

struct dice {
	struct philox_key key;
	uint64_t n;
};

static uint32_t dice_below(struct dice *d, uint32_t n)
{
	uint32_t u[4];

	philox(d->key, d->n++, 0, 0, u);
	return (uint32_t)((uint64_t)u[0] * n >> 32);
}

struct sent {
	enum crc_kind kind;
	uint32_t chunk, packet;		/* bytes */
	bool sync;			/* heads two bytes longer than usual */
	uint64_t block_bytes;
};

static uint8_t *block_new(void)
{
	uint8_t *p = mem_alloc(BLOCK_BYTES);

	for (uint32_t i = 0; i < BLOCK_BYTES; i++)
		p[i] = (uint8_t)(i * 2654435761u >> 13);
	return p;
}

static void put_answer(struct buf *b, const struct sent *s, uint64_t offset)
{
	AUTO_BUF struct buf sum, info, m;

	buf_init(&sum, 1000);
	buf_init(&info, 1000);
	buf_init(&m, 1000);
	buf_pb_u64(&sum, 1, s->kind);
	buf_pb_u64(&sum, 2, s->chunk);
	buf_pb_bytes(&info, 1, sum.ptr, sum.n);
	buf_pb_u64(&info, 2, offset);
	buf_pb_u64(&m, 1, 0);
	buf_pb_bytes(&m, 4, info.ptr, info.n);
	buf_varint(b, m.n);
	buf_add(b, m.ptr, m.n);
}

static void put_packet(struct buf *b, const struct sent *s, const uint8_t *block, uint64_t at, uint32_t n, int64_t seqno)
{
	uint8_t head[PACKET_LENGTHS + PACKET_HEADER_MAX];
	uint32_t n_sums = s->kind == CRC_NONE ? 0 : (n + s->chunk - 1) / s->chunk * 4;
	struct packet pk = {.offset = at, .seqno = seqno, .n_data = n, .n_sums = n_sums, .last = n == 0, .sync = s->sync};

	buf_add(b, head, packet_put(&pk, head));
	if (n_sums)
		crc_fill(s->kind, s->chunk, block + at, n, buf_grow(b, n_sums));
	buf_add(b, block + at, n);
}

/* All that a node sends for n bytes at offset. */
static void put_all(struct buf *b, const struct sent *s, const uint8_t *block, uint64_t offset, uint64_t n)
{
	uint64_t at = offset / s->chunk * s->chunk, end = (offset + n + s->chunk - 1) / s->chunk * s->chunk;
	int64_t seqno = 0;

	end = MIN(end, s->block_bytes);
	put_answer(b, s, at);
	for (uint32_t part; at < end; at += part) {
		part = (uint32_t)MIN(end - at, MAX(s->packet / s->chunk * s->chunk, s->chunk));
		put_packet(b, s, block, at, part, seqno++);
	}
	put_packet(b, s, block, at, 0, seqno);
}

/* Cuts n bytes of out into segments, some of which nobody wants. */
static unsigned cut(struct dice *d, uint8_t *out, uint64_t n, struct block_seg segs[MAX_SEGS])
{
	unsigned n_segs = 0, most = 1 + dice_below(d, MAX_SEGS);
	uint64_t at = 0;

	while (at < n) {
		uint64_t part = n_segs + 1 == most ? n - at : 1 + dice_below(d, (uint32_t)(n - at));

		segs[n_segs++] = (struct block_seg){.buf = dice_below(d, 4) ? out + at : NULL, .n = part};
		at += part;
	}
	return n_segs;
}

/* Gives the flow what was sent, in parts of at most `most` bytes. */
static int feed(struct dice *d, struct block_flow *f, const uint8_t *p, size_t n, uint32_t most)
{
	int r = 0;

	while (r == 0 && n) {
		size_t took = 0, part = 1 + dice_below(d, most);

		part = MIN(n, part);
		flow_layout(f);
		assert_true(f->n_iov > 0 && f->n_iov <= FLOW_MAX_IOV);
		for (unsigned i = 0; i < f->n_iov && took < part; i++) {
			size_t fits = MIN(f->iov[i].iov_len, part - took);

			assert_true(f->iov[i].iov_len > 0);
			memcpy(f->iov[i].iov_base, p + took, fits);
			took += fits;
		}
		r = flow_took(f, took);
		p += took;
		n -= took;
	}
	return r == 0 && !n ? -EPIPE : r;
}

static void check_segs(const struct block_seg *segs, unsigned n_segs, const uint8_t *block, uint64_t offset, uint64_t n_done)
{
	for (unsigned i = 0; i < n_segs && n_done; i++) {
		uint64_t part = MIN(n_done, segs[i].n);

		if (segs[i].buf)
			assert_memory_equal(segs[i].buf, block + offset, part);
		offset += part;
		n_done -= part;
	}
}

struct trial {
	struct sent sent;
	uint64_t offset, length;
	uint32_t most;
	int64_t flip;		/* bit, counted from the stream's begin; -1: none */
};

static struct trial trial_of(struct dice *d)
{
	static const uint32_t chunks[] = {512, 512, 512, 1, 100, 4096, 200000}, packets[] = {65536, 65536, 4096, 512, 300000};
	struct trial t = {.flip = -1};
	uint32_t most;

	t.sent = (struct sent){.kind = (enum crc_kind)(dice_below(d, 8) ? 2 - dice_below(d, 2) : 0),
		.chunk = chunks[dice_below(d, 7)], .packet = packets[dice_below(d, 5)], .sync = dice_below(d, 8) == 0,
		.block_bytes = BLOCK_BYTES};
	t.offset = dice_below(d, BLOCK_BYTES);
	most = 1u << dice_below(d, 21);
	t.length = 1 + dice_below(d, (uint32_t)MIN(BLOCK_BYTES - t.offset, most));
	/* A chunk of a byte makes a stream that is mostly checksums. */
	if (t.sent.chunk == 1)
		t.length = MIN(t.length, 5000);
	t.most = 1u << dice_below(d, 21);
	if (t.most < 64)
		t.length = MIN(t.length, 20000);
	return t;
}

static int run(struct dice *d, const struct trial *t, const uint8_t *block, uint8_t *out, uint64_t *ret_done)
{
	struct block_seg segs[MAX_SEGS];
	unsigned n_segs;
	struct block_flow f;
	AUTO_BUF struct buf b;
	int r;

	memset(out, 0xa5, t->length);
	n_segs = cut(d, out, t->length, segs);
	buf_init(&b, 64u << 20);
	put_all(&b, &t->sent, block, t->offset, t->length);
	assert_int_equal(b.r, 0);
	if (t->flip >= 0)
		b.ptr[(uint64_t)t->flip / 8 % b.n] ^= (uint8_t)(1u << (t->flip % 8));
	assert_int_equal(flow_init(&f, t->offset, t->length, segs, n_segs), 0);
	r = feed(d, &f, b.ptr, b.n, t->most);
	*ret_done = f.n_done;
	if (t->sent.kind != CRC_NONE || t->flip < 0)
		check_segs(segs, n_segs, block, t->offset, f.n_done);
	flow_release(&f);
	return r;
}

static unsigned n_trials(void)
{
	const char *s = getenv("OLDDOG_SCHEDULES");
	uint64_t n = 100;

	if (s)
		assert_int_equal(str_to_u64(str_of(s), &n), 0);
	return (unsigned)(5 * n);
}

static void whatever_the_packets_and_however_they_come_all_bytes_are_right(void **state)
{
	AUTO_FREE uint8_t *block = block_new(), *out = mem_alloc(BLOCK_BYTES);
	struct dice d = {.key = philox_key_of(1, "flow")};

	for (unsigned i = 0; i < n_trials(); i++) {
		struct trial t = trial_of(&d);
		uint64_t n_done;

		assert_int_equal(run(&d, &t, block, out, &n_done), 1);
		assert_int_equal(n_done, t.length);
	}
}

/* A bit of a head may be one that says nothing, or leaves the flow waiting; no wrong byte counts in any case. */
static void a_flipped_bit_is_an_error_or_changes_nothing(void **state)
{
	AUTO_FREE uint8_t *block = block_new(), *out = mem_alloc(BLOCK_BYTES);
	struct dice d = {.key = philox_key_of(2, "flow")};
	unsigned n_found = 0;

	for (unsigned i = 0; i < n_trials(); i++) {
		struct trial t = trial_of(&d);
		uint64_t n_done;
		int r;

		t.flip = dice_below(&d, 1u << 30);
		r = run(&d, &t, block, out, &n_done);
		assert_true(r == 1 || r < 0);
		n_found += r == -EBADMSG;
		if (r == 1)
			assert_int_equal(n_done, t.length);
	}
	assert_true(n_found > n_trials() / 2);
}

static void a_shorter_replica_is_told_with_what_was_right(void **state)
{
	AUTO_FREE uint8_t *block = block_new(), *out = mem_alloc(BLOCK_BYTES);
	struct dice d = {.key = philox_key_of(3, "flow")};

	for (unsigned i = 0; i < n_trials() / 5; i++) {
		struct trial t = trial_of(&d);
		uint64_t n_done;

		t.sent.block_bytes = t.offset + dice_below(&d, (uint32_t)t.length);
		assert_int_equal(run(&d, &t, block, out, &n_done), -ENODATA);
		assert_true(n_done <= t.sent.block_bytes - t.offset);
	}
}

static void the_usual_stream_is_received_where_it_belongs(void **state)
{
	AUTO_FREE uint8_t *block = block_new(), *out = mem_alloc(BLOCK_BYTES);
	struct sent sent = {.kind = CRC_C, .chunk = 512, .packet = 65536, .block_bytes = BLOCK_BYTES};
	struct block_seg seg = {.buf = out, .n = 900000};
	uint64_t n_in_place = 0;
	struct block_flow f;
	AUTO_BUF struct buf b;
	size_t at = 0;
	int r = 0;

	buf_init(&b, 64u << 20);
	put_all(&b, &sent, block, 512, seg.n);
	assert_int_equal(flow_init(&f, 512, seg.n, &seg, 1), 0);
	while (r == 0) {
		size_t took = 0;

		flow_layout(&f);
		for (unsigned i = 0; i < f.n_iov; i++) {
			uint8_t *to = f.iov[i].iov_base;
			size_t part = MIN(f.iov[i].iov_len, b.n - at - took);

			memcpy(to, b.ptr + at + took, part);
			took += part;
			n_in_place += to >= out && to < out + seg.n ? part : 0;
		}
		at += took;
		r = flow_took(&f, took);
	}
	assert_int_equal(r, 1);
	/* Each byte once: nothing was foretold wrongly. */
	assert_int_equal(n_in_place, seg.n);
	assert_memory_equal(out, block + 512, seg.n);
	flow_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_packets_and_however_they_come_all_bytes_are_right),
		cmocka_unit_test(a_flipped_bit_is_an_error_or_changes_nothing),
		cmocka_unit_test(a_shorter_replica_is_told_with_what_was_right),
		cmocka_unit_test(the_usual_stream_is_received_where_it_belongs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
