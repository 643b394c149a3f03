/* SPDX-License-Identifier: Apache-2.0 */
/* The engine when memory is short: each allocation of a run fails once, and the run ends, with words or with its batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "feed/engine.h"
#include "tiny.h"
#include "worker/serve.h"

#define N_SAMPLES 10

struct run {
	struct loop *loop;
	struct engine *engine;
	struct stream *stream;
	uint64_t n;
	int r;
	struct err err;
	bool ended, closed;
};

static void take(void *ctx)
{
	struct run *run = ctx;
	struct stream_batch *b;
	struct err e = {0};

	while (!run->ended) {
		int r = stream_next(run->stream, &b, &e);

		if (r == -EAGAIN)
			return;
		if (r < 0) {
			assert_true(e.words[0]);
			run->err = e;
			run->r = r;
			run->ended = true;
			return;
		}
		run->n += b->head.n;
		stream_release(run->stream, b);
	}
}

static void on_closed(void *ctx)
{
	((struct run *)ctx)->closed = true;
}

/* What the engine's parts give up for good, or the end. */
static int run_within(struct plan *plan, uint64_t batch_bytes, struct err *ret_words)
{
	struct run run = {.r = -ENOMEM};
	struct engine_conf conf = {.plan = plan, .n_workers = 1, .spawn = worker_serve_spawn, .kill = worker_serve_kill,
		.limits = {.batch_bytes = batch_bytes}};
	struct stream_conf sc = {.dp_size = 1, .n_epochs = 1, .n_samples = N_SAMPLES, .ready = take, .ctx = &run};
	struct err e = {0};

	if (loop_new_virtual(&run.loop) < 0)
		return -ENOMEM;
	conf.loop = run.loop;
	if (engine_new(&conf, &run.engine, &e) == 0) {
		if (stream_open(run.engine, &sc, &run.stream, &e) == 0)
			assert_int_equal(loop_run_until(run.loop, &run.ended), 0);
		engine_close(run.engine, on_closed, &run);
		assert_int_equal(loop_run_until(run.loop, &run.closed), 0);
	}
	loop_free(run.loop);
	if (run.r == E_END)
		assert_int_equal(run.n, N_SAMPLES);
	*ret_words = run.err;
	return run.r;
}

static int run_once(struct plan *plan)
{
	struct err words;
	int r = run_within(plan, 0, &words);

	assert_true(r == -ENOMEM || r == E_WORKER_DIED || r == E_END);
	return r;
}

/* Wherever it is noticed: at the batch's opening, at a sample, or when all are put together. */
static void a_batch_past_its_limit_is_an_error_that_says_so(void **state)
{
	struct store *data = tiny_data();
	struct plan *plan = tiny_plan();
	struct err words;
	unsigned n_refused = 0;
	uint64_t limit = 1;

	for (; run_within(plan, limit, &words) != E_END; limit += 1 + limit / 16, n_refused++) {
		assert_int_equal(words.code, -E2BIG);
		assert_non_null(strstr(words.words, "half of the memory that may be used"));
		assert_true(limit < 1 << 30);
	}
	assert_true(n_refused > 10);
	plan_free(plan);
	store_unref(data);
}

static void a_run_survives_the_failure_of_any_allocation(void **state)
{
	struct store *data = tiny_data();
	struct plan *plan = tiny_plan();
	uint64_t n = 0;
	int r;

	do {
		mem_fail_nth(++n);
		r = run_once(plan);
	} while (mem_failed());
	mem_fail_nth(0);
	assert_int_equal(r, E_END);
	assert_true(n > 100);
	plan_free(plan);
	store_unref(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_survives_the_failure_of_any_allocation),
		cmocka_unit_test(a_batch_past_its_limit_is_an_error_that_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
