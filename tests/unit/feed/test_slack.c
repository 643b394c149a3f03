/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heavy samples among light ones, on virtual time: a user who takes a batch each 60 ms, two workers, heads of pictures that
 * are decoded by nobody but take as long as their cost says. A heavy one is begun early enough; what comes out, and in which
 * order, is as ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/scope.h"
#include "feed/cost_policy.h"
#include "feed/digest.h"
#include "feed/engine.h"
#include "store/store.h"
#include "unit/slow_worker.h"
#include "unit/tar_make.h"

#define BATCH 32
#define N_BATCHES 40
#define N_SAMPLES (BATCH * N_BATCHES)
#define STEP_NS (60 * NS_PER_MS)
/* The last of each third batch, so that whoever goes by the order of samples comes to it last. */
#define HEAVY_EACH (3 * BATCH)
/* Batches until the engine is ahead. */
#define N_FIRST 4

static const char spec_text[] =
	"sources: [{data: 'ram:slack/0.tar'}]\n"
	"fields: {image: {from: png, random_crop: 8, dtype: uint8, layout: hwc}}\n"
	"global_batch: 32\n";

static struct slow_workers workers;

struct run {
	struct loop *loop;
	struct engine *engine;
	struct stream *stream;
	struct timer step;
	uint64_t n, asked_ns, waited_ns[N_BATCHES];
	bool ended, closed;
};

static bool is_heavy(uint64_t position)
{
	return position % HEAVY_EACH == HEAVY_EACH - 1;
}

/* PNGs by their heads: of 2 ms and 160 ms, or as ImageNet's and of 12 megapixels in a JPEG, 1.1 and 24 ms. */
static struct store *make_data(bool usual)
{
	struct store *s = NULL;
	AUTO_FREE char *path = NULL;
	AUTO_BUF struct buf tar;
	char name[32];

	buf_init(&tar, 4u << 20);
	for (unsigned i = 0; i < N_SAMPLES; i++) {
		uint8_t head[33] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\xf4\0\0\x02\x58\x08\x02\0\0\0";

		if (usual)
			memcpy(head + 16, i % 50 == 17 ? "\0\0\x07\xd0\0\0\x07\xd0" : "\0\0\x01\x80\0\0\x01\x80", 8);
		else if (is_heavy(i))
			memcpy(head + 16, "\0\0\x13\x88\0\0\x14\xb4", 8);
		snprintf(name, sizeof(name), "%06u.png", i);
		tar_header(&tar, name, '0', sizeof(head));
		tar_data(&tar, head, sizeof(head));
	}
	tar_end(&tar);
	assert_int_equal(store_open("ram:slack/", &s, &path, NULL), 0);
	assert_int_equal(store_write_all(s, "0.tar", tar.ptr, tar.n, NULL), 0);
	return s;
}

static uint64_t cost_ns(const uint8_t *in, size_t n)
{
	struct picture_head head = picture_head_read(in, n);

	assert_int_equal(head.coding, PICTURE_PNG);
	return decode_cost_us(&head, n) * NS_PER_US;
}

static void check_batch(struct run *run, const struct stream_batch *b)
{
	assert_int_equal(b->head.n, BATCH);
	for (uint32_t i = 0; i < BATCH; i++) {
		uint64_t position = sample_position(&b->head, b->slot->p, i);
		const uint8_t *pixels = b->slot->p + b->head.fields[0].data_offset + i * 192u;

		assert_int_equal(position, run->n * BATCH + i);
		for (unsigned k = 0; k < 192; k++)
			assert_int_equal(pixels[k], position & 255);
	}
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
	run->ended = r == E_END;
	if (run->ended)
		return;
	assert_int_equal(r, 0);
	check_batch(run, b);
	run->waited_ns[run->n++] = loop_now(run->loop) - run->asked_ns;
	stream_release(run->stream, b);
	assert_int_equal(timer_set(&run->step, loop_now(run->loop) + STEP_NS), 0);
}

static void step_ends(struct timer *t)
{
	struct run *run = container_of(t, struct run, step);

	run->asked_ns = loop_now(run->loop);
	take(run);
}

static void on_closed(void *ctx)
{
	((struct run *)ctx)->closed = true;
}

/* through: a store's URL that all reads pass, or NULL. */
static void run_all(struct run *run, unsigned n_workers, unsigned max_ahead, const char *through)
{
	AUTO_STORE struct store *data = make_data(through != NULL), *slow = NULL;
	AUTO_FREE char *path = NULL;
	struct engine_conf conf = {.n_workers = n_workers, .spawn = slow_worker_spawn, .kill = slow_worker_kill,
		.spawn_ctx = &workers, .limits = {.max_ahead = max_ahead}};
	struct stream_conf sc = {.dp_size = 1, .n_epochs = 1, .ready = take, .ctx = run};
	struct plan_conf pc = {.n_threads = 1};
	struct spec *spec = NULL;
	struct plan *plan = NULL;
	struct err e = {0};

	assert_non_null(data);
	assert_int_equal(through ? store_open(through, &slow, &path, &e) : 0, 0);
	conf.through = slow;
	workers = (struct slow_workers){.h = 8, .w = 8, .c = 3, .cost_ns = cost_ns};
	if (spec_parse("slack", spec_text, strlen(spec_text), &spec, &e) < 0 || plan_make(spec, NULL, &pc, &plan, &e) < 0)
		fail_msg("%s", e.words);
	assert_int_equal(loop_new_virtual(&run->loop), 0);
	conf.loop = run->loop;
	conf.plan = plan;
	timer_init(&run->step, run->loop, step_ends);
	assert_int_equal(engine_new(&conf, &run->engine, &e), 0);
	assert_int_equal(stream_open(run->engine, &sc, &run->stream, &e), 0);
	run->asked_ns = loop_now(run->loop);
	take(run);
	assert_int_equal(loop_run_until(run->loop, &run->ended), 0);
	assert_int_equal(run->n, N_BATCHES);
	engine_close(run->engine, on_closed, run);
	assert_int_equal(loop_run_until(run->loop, &run->closed), 0);
	plan_free(plan);
	loop_free(run->loop);
}

static const struct slow_work *work_of(uint64_t position)
{
	for (unsigned i = 0; i < workers.n_works; i++)
		if (workers.works[i].position == position)
			return &workers.works[i];
	fail_msg("position %llu was not decoded", (unsigned long long)position);
	return NULL;
}

/* With three batches ahead, 180 ms: 32 light ones on two workers take 34 ms, and then it would be too late for 160. */
static void a_heavy_sample_is_begun_in_time(void **state)
{
	struct run run = {0};
	unsigned n_heavy = 0;

	run_all(&run, 2, 3, NULL);
	for (unsigned i = N_FIRST; i < N_BATCHES; i++)
		assert_int_equal(run.waited_ns[i], 0);
	for (uint64_t p = HEAVY_EACH * 2 - 1; p < N_SAMPLES; p += HEAVY_EACH, n_heavy++) {
		/* Before the light ones of its own batch, which come earlier. */
		assert_true(work_of(p)->from_ns <= work_of(p - 4)->from_ns);
		assert_true(work_of(p)->to_ns - work_of(p)->from_ns > 2 * STEP_NS);
	}
	assert_true(n_heavy > 10);
}

/*
 * At the start nobody knows the user's pace, and ten batches wait already: when it is known, they are ranked by it, and those
 * that come later do not overtake them.
 */
static void what_waited_before_the_pace_was_known_is_ranked_by_it(void **state)
{
	struct run run = {0};

	run_all(&run, 2, 16, NULL);
	for (unsigned i = N_FIRST; i < N_BATCHES; i++)
		assert_int_equal(run.waited_ns[i], 0);
}

/* One worker cannot make them all in time; each sample is made once all the same, and none is lost behind another. */
static void with_too_little_time_nothing_changes_but_the_time(void **state)
{
	struct run run = {0};

	run_all(&run, 1, 16, NULL);
	assert_int_equal(workers.n_works, N_SAMPLES);
}

/* What bench/waiting measures, on a machine that has nothing else to do: 1 % of the reads take five steps. */
static void a_slow_store_and_large_pictures_are_never_waited_for(void **state)
{
	struct run run = {0};

	run_all(&run, 2, 64, "ram:slack/#fault=delay:5ms-30ms,slow:0.01:300ms,seed:7");
	for (unsigned i = N_FIRST; i < N_BATCHES; i++)
		assert_int_equal(run.waited_ns[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heavy_sample_is_begun_in_time),
		cmocka_unit_test(what_waited_before_the_pace_was_known_is_ranked_by_it),
		cmocka_unit_test(a_slow_store_and_large_pictures_are_never_waited_for),
		cmocka_unit_test(with_too_little_time_nothing_changes_but_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
