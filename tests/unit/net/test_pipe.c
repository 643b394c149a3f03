/* SPDX-License-Identifier: Apache-2.0 */
/* The memory pipe: as a socket when nothing is wrong, and one seed is one schedule when something is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "net/conn.h"

#define N_RECORDS 200
#define RECORD_BYTES 64

/* A counts up in records; B echoes each; what B and A saw, and when, goes into one hash. */
struct talk {
	struct loop *loop;
	struct conn *a, *b;
	struct sha256 *seen;
	unsigned n_sent, n_echoed, n_back, n_wrong;
	bool ended;
};

static void talk_see(struct talk *t, ssize_t r, const uint8_t *p)
{
	sha256_add_u64(t->seen, loop_now(t->loop));
	sha256_add_u64(t->seen, (uint64_t)r);
	if (r > 0)
		sha256_add(t->seen, p, (size_t)r);
}

static void a_ready(struct conn *c, unsigned can, void *ctx)
{
	struct talk *t = ctx;
	uint8_t bytes[RECORD_BYTES];
	ssize_t r;

	if (can & CONN_READ) {
		r = conn_recv(c, bytes, sizeof(bytes), NULL, NULL);
		talk_see(t, r, bytes);
		if (r == RECORD_BYTES && bytes[0] != (uint8_t)t->n_back)
			t->n_wrong++;
		t->n_back += r > 0;
		t->ended = r <= 0 || t->n_back == N_RECORDS;
	} else {
		memset(bytes, (int)t->n_sent, sizeof(bytes));
		t->n_sent += conn_send(c, bytes, sizeof(bytes), NULL, 0) > 0;
	}
	if (t->ended)
		conn_want(c, 0, NULL, NULL);
	else
		conn_want(c, CONN_READ | (t->n_sent < N_RECORDS ? CONN_WRITE : 0u), a_ready, t);
}

static void b_ready(struct conn *c, unsigned can, void *ctx)
{
	struct talk *t = ctx;
	uint8_t bytes[RECORD_BYTES];
	ssize_t r = conn_recv(c, bytes, sizeof(bytes), NULL, NULL);

	talk_see(t, r, bytes);
	if (r <= 0) {
		conn_want(c, 0, NULL, NULL);
		return;
	}
	t->n_echoed++;
	/* What does not go back is lost; the pipe is wide enough in these tests, unless it was cut. */
	if (conn_send(c, bytes, (size_t)r, NULL, 0) != r)
		conn_want(c, 0, NULL, NULL);
}

static struct talk talk_run(bool is_virtual, const struct pipe_faults *faults, uint8_t ret_digest[SHA256_BYTES])
{
	struct talk t = {.seen = sha256_new()};

	assert_int_equal((is_virtual ? loop_new_virtual : loop_new)(&t.loop), 0);
	assert_int_equal(conn_pipe(t.loop, true, N_RECORDS * RECORD_BYTES, faults, &t.a, &t.b), 0);
	assert_int_equal(conn_want(t.a, CONN_READ | CONN_WRITE, a_ready, &t), 0);
	assert_int_equal(conn_want(t.b, CONN_READ, b_ready, &t), 0);
	assert_int_equal(loop_run_until(t.loop, &t.ended), 0);
	conn_close(t.a);
	conn_close(t.b);
	sha256_finish(t.seen, ret_digest);
	sha256_free(t.seen);
	loop_free(t.loop);
	return t;
}

static void without_faults_all_passes_on_both_kinds_of_loop(void **state)
{
	uint8_t digest[SHA256_BYTES];

	for (unsigned is_virtual = 0; is_virtual < 2; is_virtual++) {
		struct talk t = talk_run(is_virtual, NULL, digest);

		assert_int_equal(t.n_back, N_RECORDS);
		assert_int_equal(t.n_wrong, 0);
	}
}

static void one_seed_is_one_schedule(void **state)
{
	struct pipe_faults faults = {.delay_min_ns = NS_PER_MS, .delay_max_ns = 50 * NS_PER_MS, .stall_ppm = 20000,
		.stall_ns = NS_PER_S, .flip_ppm = 50000};
	uint8_t first[SHA256_BYTES], again[SHA256_BYTES], other[SHA256_BYTES];
	unsigned n_flipped = 0;

	for (faults.seed = 0; faults.seed < 20; faults.seed++) {
		struct talk t = talk_run(true, &faults, first);

		/* Flips change bytes, never the number or the order of records. */
		assert_int_equal(t.n_back, N_RECORDS);
		n_flipped += t.n_wrong;
		talk_run(true, &faults, again);
		assert_memory_equal(first, again, sizeof(first));
		faults.seed += 1000;
		talk_run(true, &faults, other);
		faults.seed -= 1000;
		assert_memory_not_equal(first, other, sizeof(first));
	}
	assert_true(n_flipped > 0);
}

static void a_cut_ends_both_ways_after_so_many_records(void **state)
{
	struct pipe_faults faults = {.seed = 3, .delay_max_ns = NS_PER_MS, .cut_after = 57};
	uint8_t digest[SHA256_BYTES];
	struct talk t = talk_run(true, &faults, digest);

	assert_int_equal(t.n_back + t.n_echoed, 57);
}

struct arrivals {
	char bytes[3];
	uint64_t at_ns[3];
	unsigned n;
	bool ended;
};

static void note_arrival(struct conn *c, unsigned can, void *ctx)
{
	struct arrivals *to = ctx;

	assert_int_equal(can, CONN_READ);
	assert_int_equal(conn_recv(c, &to->bytes[to->n], 1, NULL, NULL), 1);
	to->at_ns[to->n++] = loop_now(c->loop);
	to->ended = to->n == 3;
}

static void delays_take_virtual_time_and_keep_order(void **state)
{
	struct arrivals to = {.n = 0};
	struct pipe_faults faults = {.seed = 5, .delay_min_ns = NS_PER_S, .delay_max_ns = 2 * NS_PER_S};
	AUTO(loop) struct loop *loop = NULL;
	AUTO_CONN struct conn *a = NULL, *b = NULL;
	char got[4];

	assert_int_equal(loop_new_virtual(&loop), 0);
	assert_int_equal(conn_pipe(loop, true, 100, &faults, &a, &b), 0);
	assert_int_equal(conn_send(a, "1", 1, NULL, 0), 1);
	assert_int_equal(conn_send(a, "2", 1, NULL, 0), 1);
	assert_int_equal(conn_send(a, "3", 1, NULL, 0), 1);
	assert_int_equal(conn_recv(b, got, sizeof(got), NULL, NULL), -EAGAIN);
	assert_int_equal(conn_want(b, CONN_READ, note_arrival, &to), 0);
	assert_int_equal(loop_run_until(loop, &to.ended), 0);
	assert_memory_equal(to.bytes, "123", 3);
	assert_true(to.at_ns[0] >= 2 * NS_PER_S && to.at_ns[2] <= 3 * NS_PER_S);
	assert_true(to.at_ns[0] <= to.at_ns[1] && to.at_ns[1] <= to.at_ns[2]);
	/* The end comes after what was under way, not before. */
	assert_int_equal(conn_send(a, "4", 1, NULL, 0), 1);
	conn_close(TAKE(a));
	assert_int_equal(conn_recv(b, got, sizeof(got), NULL, NULL), -EAGAIN);
}

static void capacity_bounds_what_is_under_way(void **state)
{
	AUTO(loop) struct loop *loop = NULL;
	AUTO_CONN struct conn *a = NULL, *b = NULL, *c = NULL, *d = NULL;
	char got[16];

	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(conn_pipe(loop, true, 10, NULL, &a, &b), 0);
	assert_int_equal(conn_send(a, "12345678901", 11, NULL, 0), -EMSGSIZE);
	assert_int_equal(conn_send(a, "1234567", 7, NULL, 0), 7);
	assert_int_equal(conn_send(a, "1234", 4, NULL, 0), -EAGAIN);
	assert_int_equal(conn_recv(b, got, 3, NULL, NULL), -EMSGSIZE);
	assert_int_equal(conn_send(a, "1234567890", 10, NULL, 0), 10);
	assert_int_equal(conn_recv(b, got, 16, NULL, NULL), 10);
	/* A stream takes what fits, and gives a part of a send when less is asked for. */
	assert_int_equal(conn_pipe(loop, false, 10, NULL, &c, &d), 0);
	assert_int_equal(conn_send(c, "123456789012", 12, NULL, 0), 10);
	assert_int_equal(conn_send(c, "x", 1, NULL, 0), -EAGAIN);
	assert_int_equal(conn_recv(d, got, 4, NULL, NULL), 4);
	assert_int_equal(conn_send(c, "abcdef", 6, NULL, 0), 4);
	conn_close(TAKE(c));
	assert_int_equal(conn_recv(d, got, 16, NULL, NULL), 6);
	assert_int_equal(conn_recv(d, got, 16, NULL, NULL), 4);
	assert_memory_equal(got, "abcd", 4);
	assert_int_equal(conn_recv(d, got, 16, NULL, NULL), 0);
	assert_int_equal(conn_send(d, "x", 1, NULL, 0), -EPIPE);
}

static void splits_keep_the_bytes_of_a_stream(void **state)
{
	struct pipe_faults faults = {.seed = 9, .split_ppm = 700000};
	AUTO(loop) struct loop *loop = NULL;
	AUTO_CONN struct conn *a = NULL, *b = NULL;
	unsigned n_sent = 0, n_got = 0, n_sends = 0, n_reads = 0;
	uint8_t bytes[64];
	ssize_t r;

	assert_int_equal(loop_new_virtual(&loop), 0);
	assert_int_equal(conn_pipe(loop, false, 256, &faults, &a, &b), 0);
	while (n_got < 4096) {
		for (unsigned i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)(n_sent + i);
		r = n_sent < 4096 ? conn_send(a, bytes, MIN(sizeof(bytes), 4096 - n_sent), NULL, 0) : 0;
		n_sends++;
		n_sent += r > 0 ? (unsigned)r : 0;
		r = conn_recv(b, bytes, sizeof(bytes), NULL, NULL);
		n_reads++;
		assert_true(r > 0);
		for (ssize_t i = 0; i < r; i++)
			assert_int_equal(bytes[i], (uint8_t)(n_got + (unsigned)i));
		n_got += (unsigned)r;
	}
	assert_true(n_sends > 4096 / 64 && n_reads > 4096 / 64);
}

static void descriptors_pass_a_memory_pipe(void **state)
{
	AUTO(loop) struct loop *loop = NULL;
	AUTO_CONN struct conn *a = NULL, *b = NULL;
	int fds[2], got_fd = -1;
	unsigned n_fds = 1;
	char got[4];

	assert_int_equal(loop_new_virtual(&loop), 0);
	assert_int_equal(conn_pipe(loop, true, 100, NULL, &a, &b), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(conn_send(a, "fd", 2, &fds[1], 1), 2);
	close(fds[1]);
	assert_int_equal(conn_recv(b, got, sizeof(got), &got_fd, &n_fds), 2);
	assert_int_equal(n_fds, 1);
	assert_int_equal(write(got_fd, "x", 1), 1);
	close(got_fd);
	/* One that nobody takes is closed with the pipe: the reading side sees the end. */
	assert_int_equal(read(fds[0], got, 4), 1);
	assert_int_equal(read(fds[0], got, 4), 0);
	close(fds[0]);
}

static void no_memory_is_told_and_nothing_is_lost(void **state)
{
	struct pipe_faults faults = {.delay_max_ns = NS_PER_MS};
	AUTO(loop) struct loop *loop = NULL;
	unsigned n = 0;
	int r;

	assert_int_equal(loop_new_virtual(&loop), 0);
	do {
		struct conn *a, *b;

		mem_fail_nth(++n);
		r = conn_pipe(loop, true, 100, &faults, &a, &b);
		if (r == 0) {
			ssize_t sent = conn_send(a, "x", 1, NULL, 0);

			assert_true(sent == 1 || sent == -ENOMEM);
			conn_close(a);
			conn_close(b);
		} else {
			assert_int_equal(r, -ENOMEM);
		}
	} while (mem_failed());
	mem_fail_nth(0);
	assert_true(n > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_faults_all_passes_on_both_kinds_of_loop),
		cmocka_unit_test(one_seed_is_one_schedule),
		cmocka_unit_test(a_cut_ends_both_ways_after_so_many_records),
		cmocka_unit_test(delays_take_virtual_time_and_keep_order),
		cmocka_unit_test(capacity_bounds_what_is_under_way),
		cmocka_unit_test(splits_keep_the_bytes_of_a_stream),
		cmocka_unit_test(descriptors_pass_a_memory_pipe),
		cmocka_unit_test(no_memory_is_told_and_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
