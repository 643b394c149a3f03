/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A day of batches without growth: the engine on virtual time, a step of 60 ms after each batch, one batch held meanwhile.
 * Between a point after the start and the end neither allocated bytes nor descriptors, mappings or slots may grow.
 * OLDDOG_SOAK_BATCHES says how many batches (default 20,000; 24 hours are 1,440,000); with pictures a hundredth of that.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/scope.h"
#include "feed/engine.h"
#include "tiny.h"
#include "unit/open_fds.h"
#include "worker/serve.h"

#define STEP_NS (60 * NS_PER_MS)
#define WARM_UP 1000 /* batches */

#define SPEC(fields, batch)                                                                                  \
	"sources: [{data: 'ram:tiny/*.tar'}]\n"                                                              \
	"fields: {" fields "}\n"                                                                             \
	"seed: 5\norder: shuffle\ntail: carry\nglobal_batch: " batch "\n"                                    \
	"on_error: {decode: skip, stop_above: 100%}\n"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
size_t __sanitizer_get_current_allocated_bytes(void);
#define allocated_bytes __sanitizer_get_current_allocated_bytes
#else
static size_t allocated_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}
#endif

struct use {
	size_t bytes;
	unsigned n_descriptors, n_mappings;
	uint64_t slot_bytes;
};

struct run {
	struct loop *loop;
	struct engine *engine;
	struct stream *stream;
	struct stream_batch *held;
	struct timer step;
	uint64_t n, n_batches;
	struct use after_warm_up;
	bool ended, closed;
};

static unsigned count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned n = 0;
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static struct use use_now(const struct run *run)
{
	struct engine_counts counts;

	engine_counts_get(run->engine, &counts);
	return (struct use){.bytes = allocated_bytes(), .n_descriptors = n_open_fds(), .n_mappings = count_mappings(),
		.slot_bytes = counts.slot_bytes};
}

static void take(void *ctx)
{
	struct run *run = ctx;
	struct stream_batch *b;
	struct err e = {0};
	int r;

	if (timer_armed(&run->step) || run->ended)
		return;
	r = stream_next(run->stream, &b, &e);
	if (r == -EAGAIN)
		return;
	if (r < 0)
		fail_msg("after %llu batches: %s", (unsigned long long)run->n, e.words);
	if (run->held)
		stream_release(run->stream, run->held);
	run->held = b;
	if (++run->n == WARM_UP)
		run->after_warm_up = use_now(run);
	run->ended = run->n == run->n_batches;
	assert_int_equal(timer_set(&run->step, loop_now(run->loop) + STEP_NS), 0);
}

static void on_step(struct timer *t)
{
	take(container_of(t, struct run, step));
}

static void on_closed(void *ctx)
{
	((struct run *)ctx)->closed = true;
}

static void check_growth(const struct run *run)
{
	struct use then = run->after_warm_up, now = use_now(run);

	print_message("%llu batches, %.1f hours of steps: %zu -> %zu bytes, %u -> %u descriptors, %u -> %u mappings\n",
		(unsigned long long)run->n, (double)loop_now(run->loop) / 3600e9, then.bytes, now.bytes, then.n_descriptors,
		now.n_descriptors, then.n_mappings, now.n_mappings);
	/* What is under way at one instant differs from the next by a few samples. */
	assert_true(now.bytes < then.bytes + (256u << 10));
	assert_true(now.n_descriptors <= then.n_descriptors + 8);
	assert_true(now.n_mappings <= then.n_mappings + 16);
	assert_true(now.slot_bytes <= then.slot_bytes + (1u << 20));
}

static void soak(const char *spec, uint64_t n_batches)
{
	AUTO_STORE struct store *data = tiny_data();
	struct plan *plan = tiny_plan_of(spec);
	struct run run = {.n_batches = n_batches};
	struct engine_conf conf = {.n_workers = 2, .spawn = worker_serve_spawn, .kill = worker_serve_kill, .plan = plan};
	struct stream_conf sc = {.dp_size = 1, .ready = take, .ctx = &run};
	struct err e = {0};

	assert_int_equal(loop_new_virtual(&run.loop), 0);
	conf.loop = run.loop;
	timer_init(&run.step, run.loop, on_step);
	if (engine_new(&conf, &run.engine, &e) < 0 || stream_open(run.engine, &sc, &run.stream, &e) < 0)
		fail_msg("%s", e.words);
	take(&run);
	assert_int_equal(loop_run_until(run.loop, &run.ended), 0);
	check_growth(&run);
	timer_clear(&run.step);
	stream_release(run.stream, run.held);
	engine_close(run.engine, on_closed, &run);
	assert_int_equal(loop_run_until(run.loop, &run.closed), 0);
	plan_free(plan);
	loop_free(run.loop);
}

static uint64_t n_asked(void)
{
	const char *text = getenv("OLDDOG_SOAK_BATCHES");

	return text ? strtoull(text, NULL, 10) : 20000;
}

static void texts_do_not_grow(void **state)
{
	soak(SPEC("txt: {from: txt, as: text}, cls: {from: cls, as: int}", "32"), n_asked());
}

static void pictures_do_not_grow(void **state)
{
	soak(SPEC("image: {from: [png], random_crop: 8, dtype: float32}, whole: {from: [png], collate: ragged}", "8"),
		MAX(n_asked() / 100, 2 * WARM_UP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_do_not_grow),
		cmocka_unit_test(pictures_do_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
