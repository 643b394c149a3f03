/* SPDX-License-Identifier: Apache-2.0 */
/* The fault filter: one plan for all who ask, in any order, on any loop; shares near the probabilities asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "store/store.h"

#define N_RANGES 2000

struct outcome {
	uint64_t took_ns, done;
	int r;
};

struct asker {
	struct store_req req;
	struct store_range range;
	uint64_t start_ns;
	struct outcome *to;
	char got[16];
};

static void note(struct store_req *req)
{
	struct asker *a = container_of(req, struct asker, req);

	*a->to = (struct outcome){loop_now(req->loop) - a->start_ns, a->range.done, a->range.r};
}

/* Reads N_RANGES ranges of 16 bytes of "ram:faults/x", in steps through them, on virtual time; all at once. */
static void ask(const char *plan, unsigned step, struct outcome ret[N_RANGES])
{
	static struct asker askers[N_RANGES];
	AUTO_STORE struct store *plain = NULL, *s = NULL;
	AUTO_FREE char *path = NULL, *path_again = NULL, *url = NULL;
	AUTO_FREE void *bytes = mem_zalloc(16 * N_RANGES);
	AUTO(loop) struct loop *loop = NULL;

	assert_true(asprintf(&url, "ram:faults/x#fault=%s", plan) > 0);
	assert_int_equal(store_open("ram:faults/x", &plain, &path, NULL), 0);
	assert_int_equal(store_open(url, &s, &path_again, NULL), 0);
	assert_int_equal(store_write_all(plain, path, bytes, 16 * N_RANGES, NULL), 0);
	assert_int_equal(loop_new_virtual(&loop), 0);
	for (unsigned i = 0; i < N_RANGES; i++) {
		unsigned at = i * step % N_RANGES;
		struct asker *a = &askers[at];

		*a = (struct asker){.start_ns = loop_now(loop), .to = &ret[at]};
		a->range = (struct store_range){.offset = 16 * at, .length = 16, .buf = a->got};
		a->req = (struct store_req){.loop = loop, .op = STORE_READ, .path = i % 2 ? path : path_again,
			.ranges = &a->range, .n_ranges = 1, .done = note};
		store_submit(s, &a->req);
	}
	assert_int_equal(loop_run(loop), 0);
}

static void whoever_asks_meets_the_same_plan(void **state)
{
	static struct outcome first[N_RANGES], again[N_RANGES], other[N_RANGES];
	static const char plan[] = "delay:5ms-30ms,slow:0.01:300ms,fail:0.05,short:0.05,stale:0.05,seed:7";

	ask(plan, 1, first);
	ask(plan, 37, again);
	assert_memory_equal(first, again, sizeof(first));
	ask("delay:5ms-30ms,slow:0.01:300ms,fail:0.05,short:0.05,stale:0.05,seed:8", 1, other);
	assert_memory_not_equal(first, other, sizeof(first));
}

static void shares_are_as_asked(void **state)
{
	static struct outcome o[N_RANGES];
	unsigned n_slow = 0, n_fail = 0, n_stale = 0, n_short = 0;

	ask("delay:5ms-30ms,slow:0.1:300ms,fail:0.1,short:0.1,stale:0.1,seed:7", 1, o);
	for (unsigned i = 0; i < N_RANGES; i++) {
		uint64_t ms = o[i].took_ns / NS_PER_MS;

		assert_true((ms >= 5 && ms <= 30) || (ms >= 305 && ms <= 330));
		n_slow += ms >= 305;
		n_stale += o[i].r == -ESTALE;
		n_fail += o[i].r == -EIO && o[i].done == 0;
		n_short += o[i].r == -EIO && o[i].done > 0;
		assert_true(o[i].r == 0 ? o[i].done == 16 : o[i].done < 16);
	}
	/* 200 of each expected, 4.5 standard deviations to either side; one short read in 16 has no byte. */
	assert_in_range(n_slow, 140, 260);
	assert_in_range(n_fail, 140, 270);
	assert_in_range(n_stale, 120, 240);
	assert_in_range(n_short, 90, 220);
}

static void ranges_of_one_request_fail_alone(void **state)
{
	static struct outcome o[N_RANGES];
	static struct store_range ranges[N_RANGES];
	static const char plan[] = "delay:1ms-9ms,fail:0.2,short:0.2,stale:0.1,seed:3";
	AUTO_STORE struct store *plain = NULL, *s = NULL;
	AUTO_FREE char *path = NULL, *path_again = NULL, *url = NULL;
	AUTO_FREE uint8_t *bytes = mem_zalloc(16 * N_RANGES), *got = mem_zalloc(16 * N_RANGES);
	struct store_req req = {.op = STORE_READ, .ranges = ranges, .n_ranges = N_RANGES};
	AUTO(loop) struct loop *loop = NULL;
	struct outcome first, all;
	uint64_t slowest_ns = 0;
	struct asker a;

	ask(plan, 1, o);
	first = o[0];
	for (unsigned i = 0; i < N_RANGES; i++)
		slowest_ns = MAX(slowest_ns, o[i].took_ns);
	for (unsigned i = 0; i < 16 * N_RANGES; i++)
		bytes[i] = (uint8_t)(i % 251);
	assert_true(asprintf(&url, "ram:faults/x#fault=%s", plan) > 0);
	assert_int_equal(store_open("ram:faults/x", &plain, &path, NULL), 0);
	assert_int_equal(store_open(url, &s, &path_again, NULL), 0);
	assert_int_equal(store_write_all(plain, path, bytes, 16 * N_RANGES, NULL), 0);
	assert_int_equal(loop_new_virtual(&loop), 0);
	for (unsigned i = 0; i < N_RANGES; i++)
		ranges[i] = (struct store_range){.offset = 16 * i, .length = 16, .buf = got + 16 * i};
	a = (struct asker){.to = &o[0], .start_ns = loop_now(loop)};
	a.req = req;
	a.req.loop = loop;
	a.req.path = path;
	a.req.done = note;
	store_submit(s, &a.req);
	assert_int_equal(loop_run(loop), 0);
	all = o[0];
	o[0] = first;
	assert_true(a.req.r < 0);
	assert_int_equal(all.took_ns, slowest_ns);
	for (unsigned i = 0; i < N_RANGES; i++) {
		assert_int_equal(ranges[i].r, o[i].r);
		assert_int_equal(ranges[i].done, o[i].done);
		if (ranges[i].done)
			assert_memory_equal(got + 16 * i, bytes + 16 * i, ranges[i].done);
	}
}

static void writes_fail_before_they_happen(void **state)
{
	AUTO_STORE struct store *plain = NULL, *s = NULL;
	AUTO_FREE char *path = NULL, *path_again = NULL;
	struct store_stat st;
	struct err e = {0};

	assert_int_equal(store_open("ram:faults/y", &plain, &path, NULL), 0);
	assert_int_equal(store_open("ram:faults/y#fault=fail:1", &s, &path_again, NULL), 0);
	assert_int_equal(store_create_exclusive(s, path, "x", 1, &e), -EIO);
	assert_non_null(strstr(e.words, "ram:faults/y"));
	assert_int_equal(store_stat(plain, path, &st, &e), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_asks_meets_the_same_plan),
		cmocka_unit_test(shares_are_as_asked),
		cmocka_unit_test(ranges_of_one_request_fail_alone),
		cmocka_unit_test(writes_fail_before_they_happen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
