/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine under random schedules: slow, short and failing reads, workers that die, hang or garble, consumers that
 * hold on to batches, leave and come again; all in one thread on virtual time. Whatever happens, each rank gets each
 * of its positions once, in order, with the bytes that a run without faults gives.
 *
 * OLDDOG_SCHEDULES says how many (default 100); OLDDOG_SEED runs the one schedule of that seed.
 */
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
#include "base/str.h"
#include "feed/digest.h"
#include "feed/engine.h"
#include "store/engine.h"
#include "tiny.h"
#include "worker/serve.h"

#define N_EPOCHS 2
#define N_POSITIONS (TINY_EPOCH_LEN * N_EPOCHS)
#define MAX_RANKS 4
#define MAX_HELD 6

/* Made once: the data, its plan, and what a run without faults gives. */
static struct store *data;
static struct plan *plan;
static uint8_t expected[N_POSITIONS][SHA256_BYTES];

static uint64_t roll(uint64_t *state, uint64_t from, uint64_t to)
{
	return from + (tiny_dice(state) >> 11) % (to - from + 1);
}

/* A store whose requests fail now and then for reasons that pass; the fault filter's fate of a range lasts. */
struct flaky {
	struct store store;
	struct store *next;
	uint64_t dice;
	unsigned fail_ppm;
};

/* The first bytes, or none, or all. */
static void short_read(struct flaky *f, const char *path, struct store_range *range, int r)
{
	range->done = roll(&f->dice, 0, range->length);
	range->r = range->done < range->length ? r : 0;
	if (range->done)
		assert_int_equal(store_pread(data, path, NULL, range->buf, range->done, range->offset, NULL), 0);
}

static void flaky_submit(struct store *s, struct store_req *req)
{
	static const int reasons[] = {-EIO, -EAGAIN, -ETIMEDOUT, -ECONNRESET};
	struct flaky *f = container_of(s, struct flaky, store);

	int r = reasons[roll(&f->dice, 0, N_ELEMS(reasons) - 1)];

	if (roll(&f->dice, 0, 999999) >= f->fail_ppm) {
		req->store = f->next; /* who cancels it asks there */
		f->next->ops->submit(f->next, req);
		return;
	}
	for (unsigned i = 0; i < req->n_ranges; i++)
		short_read(f, req->path, &req->ranges[i], r);
	store_req_finish(req, 0);
}

static void flaky_free(struct store *s)
{
	struct flaky *f = container_of(s, struct flaky, store);

	store_unref(f->next);
	mem_free(f);
}

static const struct store_ops flaky_ops = {.name = "flaky", .submit = flaky_submit, .free = flaky_free};

/* Takes next. */
static struct store *flaky_open(struct store *next, uint64_t seed, unsigned fail_ppm)
{
	struct flaky *f = mem_zalloc(sizeof(*f));

	assert_non_null(f);
	store_init(&f->store, &flaky_ops);
	f->next = next;
	f->dice = seed;
	f->fail_ppm = fail_ppm;
	return &f->store;
}

/* What the schedules of this program brought about, all together. */
static struct {
	uint64_t n_retries, n_bad, n_died, n_late, n_left, n_refused;
} met;

/* One run. */

struct run;

/* A consumer: takes batches, holds some for a while, sometimes leaves and comes again. */
struct rank {
	struct run *run;
	struct stream *stream;
	struct timer timer;
	struct stream_batch *held[MAX_HELD];
	unsigned n_held, max_held;
	uint32_t dp_rank;
	uint64_t pause_ns, consumed;
	unsigned leave_ppm;
	bool ended, paused;
};

struct run {
	uint64_t seed, dice;
	struct loop *loop;
	struct store *through;
	struct engine *engine;
	struct rank ranks[MAX_RANKS];
	uint32_t n_ranks;
	unsigned n_ended;
	bool done, closed;
	uint8_t seen[N_POSITIONS];
	uint8_t (*record)[SHA256_BYTES];	/* the first run fills in what is expected */
};

static void rank_open(struct rank *r);

static void check_sample(struct run *run, const struct stream_batch *b, uint32_t i)
{
	uint64_t position = sample_position(&b->head, b->slot->p, i);
	uint8_t sha[SHA256_BYTES];

	if (position >= N_POSITIONS || run->seen[position]++)
		fail_msg("seed %llu: position %llu twice, or never asked for", (unsigned long long)run->seed,
			(unsigned long long)position);
	assert_int_equal(digest_sample(&b->head, b->slot->p, i, sha), 0);
	if (run->record)
		memcpy(run->record[position], sha, sizeof(sha));
	else if (memcmp(expected[position], sha, sizeof(sha)) != 0)
		fail_msg("seed %llu: position %llu has other bytes", (unsigned long long)run->seed,
			(unsigned long long)position);
}

static void check_batch(struct rank *r, const struct stream_batch *b)
{
	uint64_t last = 0;

	assert_int_equal(b->head.begin, r->consumed);
	r->consumed = b->head.end;
	for (uint32_t i = 0; i < b->head.n; i++) {
		uint64_t position = sample_position(&b->head, b->slot->p, i);

		assert_true(i == 0 || position > last);
		last = position;
		check_sample(r->run, b, i);
	}
}

static void rank_drop_oldest(struct rank *r)
{
	stream_release(r->stream, r->held[0]);
	memmove(r->held, r->held + 1, (r->n_held - 1) * sizeof(*r->held));
	r->n_held--;
}

static void rank_pause(struct rank *r)
{
	r->paused = true;
	assert_int_equal(timer_set(&r->timer, loop_now(r->run->loop) + roll(&r->run->dice, NS_PER_MS, NS_PER_MS + r->pause_ns)), 0);
}

static void rank_end(struct rank *r)
{
	while (r->n_held)
		rank_drop_oldest(r);
	timer_clear(&r->timer);
	r->ended = true;
	r->run->done = ++r->run->n_ended == r->run->n_ranks;
}

/* What it held is released with its stream. */
static void rank_come_again(struct rank *r)
{
	met.n_left++;
	stream_close(r->stream);
	r->n_held = 0;
	rank_open(r);
}

static void rank_take(void *ctx)
{
	struct rank *r = ctx;
	struct stream_batch *b;
	struct err e = {0};
	int x = 0;

	while (!r->ended && !r->paused) {
		x = stream_next(r->stream, &b, &e);
		if (x < 0)
			break;
		check_batch(r, b);
		r->held[r->n_held++] = b;
		if (r->n_held == r->max_held)
			rank_pause(r);
		if (roll(&r->run->dice, 0, 999999) < r->leave_ppm) {
			rank_come_again(r);
			return;
		}
	}
	if (x == E_END) {
		rank_end(r);
	} else if (x == -ENOBUFS) {
		met.n_refused++;
		rank_pause(r);
	} else if (x < 0 && x != -EAGAIN)
		fail_msg("seed %llu: rank %u: %s", (unsigned long long)r->run->seed, r->dp_rank, e.words);
}

static void rank_goes_on(struct timer *t)
{
	struct rank *r = container_of(t, struct rank, timer);

	r->paused = false;
	for (unsigned n = (unsigned)roll(&r->run->dice, 1, MAX_HELD); n && r->n_held; n--)
		rank_drop_oldest(r);
	rank_take(r);
}

static void rank_open(struct rank *r)
{
	struct run *run = r->run;
	struct stream_conf conf = {.dp_rank = r->dp_rank, .dp_size = run->n_ranks, .consumed = r->consumed,
		.n_epochs = N_EPOCHS - r->consumed / TINY_EPOCH_LEN, .ready = rank_take, .ctx = r};
	struct err e = {0};

	if (r->consumed >= N_POSITIONS) {
		r->stream = NULL;
		rank_end(r);
		return;
	}
	if (stream_open(run->engine, &conf, &r->stream, &e) < 0)
		fail_msg("%s", e.words);
	/* Its first question, as the loader's ranks ask it. */
	rank_take(r);
}

static struct engine_conf random_conf(struct run *run)
{
	struct engine_conf conf = {.loop = run->loop, .plan = plan, .n_workers = 1, .spawn = worker_serve_spawn,
		.kill = worker_serve_kill, .through = run->through, .worker_time_ns = 2 * NS_PER_S};
	uint64_t *d = &run->dice;

	if (run->record)
		return conf;
	conf.n_workers = (unsigned)roll(d, 1, 4);
	conf.limits = (struct engine_limits){.slot_bytes = roll(d, 1, 200000), .max_bytes = roll(d, 1, 2000000),
		.read_bytes = roll(d, 1, 8192), .max_ahead = (unsigned)roll(d, 1, 5), .n_items = (unsigned)roll(d, 1, 12)};
	conf.faults = (struct pipe_faults){.seed = tiny_dice(d), .delay_max_ns = roll(d, 0, 1) * roll(d, 0, 20 * NS_PER_MS),
		.cut_after = roll(d, 0, 1) ? (uint32_t)roll(d, 40, 200) : 0, .stall_ppm = (uint32_t)roll(d, 0, 1) * 3000,
		.stall_ns = roll(d, 0, 5 * NS_PER_S), .flip_ppm = (uint32_t)roll(d, 0, 1) * 3000};
	return conf;
}

static void random_ranks(struct run *run)
{
	uint64_t *d = &run->dice;

	run->n_ranks = run->record ? 1 : (uint32_t)roll(d, 1, MAX_RANKS);
	for (uint32_t i = 0; i < run->n_ranks; i++) {
		struct rank *r = &run->ranks[i];

		r->run = run;
		r->dp_rank = i;
		r->max_held = run->record ? 1 : (unsigned)roll(d, 1, MAX_HELD);
		r->pause_ns = run->record ? 0 : roll(d, 0, 200 * NS_PER_MS);
		r->leave_ppm = run->record ? 0 : (unsigned)roll(d, 0, 1) * 50000;
		timer_init(&r->timer, run->loop, rank_goes_on);
	}
}

static void open_through(struct run *run)
{
	AUTO_FREE char *url = NULL, *path = NULL;
	struct store *store = NULL;
	struct err e = {0};
	uint64_t *d = &run->dice;

	if (run->record)
		return;
	url = mem_printf("ram:tiny/#fault=delay:0ms-%llums,slow:0.02:%llums,seed:%llu",
		(unsigned long long)roll(d, 0, 40), (unsigned long long)roll(d, 0, 50000),
		(unsigned long long)roll(d, 0, UINT32_MAX));
	if (store_open(url, &store, &path, &e) < 0)
		fail_msg("%s: %s", url, e.words);
	run->through = flaky_open(store, tiny_dice(d), (unsigned)roll(d, 0, 1) * 50000);
}

static void on_closed(void *ctx)
{
	((struct run *)ctx)->closed = true;
}

static void count(const struct engine *g)
{
	struct engine_counts c;

	engine_counts_get(g, &c);
	met.n_retries += c.n_retries;
	met.n_bad += c.n_bad;
	met.n_died += c.workers.n_died;
	met.n_late += c.workers.n_killed_time;
}

static void run_schedule(uint64_t seed, uint8_t (*record)[SHA256_BYTES])
{
	struct run run = {.seed = seed, .dice = seed * 0x9e3779b97f4a7c15ull + 1, .record = record};
	struct engine_conf conf;
	struct err e = {0};

	assert_int_equal(loop_new_virtual(&run.loop), 0);
	open_through(&run);
	conf = random_conf(&run);
	if (engine_new(&conf, &run.engine, &e) < 0)
		fail_msg("%s", e.words);
	random_ranks(&run);
	for (uint32_t i = 0; i < run.n_ranks; i++)
		rank_open(&run.ranks[i]);
	if (loop_run_until(run.loop, &run.done) < 0)
		fail_msg("seed %llu: nothing moves any more", (unsigned long long)seed);
	for (unsigned i = 0; i < N_POSITIONS; i++)
		if (run.seen[i] != 1)
			fail_msg("seed %llu: position %u never came", (unsigned long long)seed, i);
	count(run.engine);
	engine_close(run.engine, on_closed, &run);
	assert_int_equal(loop_run_until(run.loop, &run.closed), 0);
	store_unref(run.through);
	loop_free(run.loop);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	uint64_t n;

	return text && str_to_u64(str_of(text), &n) == 0 ? n : otherwise;
}

static void every_position_comes_once_with_its_bytes(void **state)
{
	uint64_t n = number_of("OLDDOG_SCHEDULES", 100), one = number_of("OLDDOG_SEED", 0);

	for (uint64_t seed = one ? one : 1; seed <= (one ? one : n); seed++)
		run_schedule(seed, NULL);
}

/* A hundred schedules meet everything that there is to meet. */
static void all_kinds_of_trouble_were_met(void **state)
{
	if (number_of("OLDDOG_SEED", 0) || number_of("OLDDOG_SCHEDULES", 100) < 100)
		skip();
	assert_true(met.n_retries > 0 && met.n_bad > 0 && met.n_died > 0 && met.n_late > 0);
	assert_true(met.n_left > 0 && met.n_refused > 0);
}

static int set_up(void **state)
{
	data = tiny_data();
	plan = tiny_plan();
	run_schedule(1, expected);
	return 0;
}

static int tear_down(void **state)
{
	plan_free(plan);
	store_unref(data);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_position_comes_once_with_its_bytes),
		cmocka_unit_test(all_kinds_of_trouble_were_met)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
