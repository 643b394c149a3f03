/* SPDX-License-Identifier: Apache-2.0 */
/* Room: an arena that does not hold all pictures of a sample, a crowd of ranks, frames that are wider than their pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "feed/digest.h"
#include "feed/engine.h"
#include "tiny.h"
#include "worker/serve.h"

#define MAX_RANKS 512

struct run {
	struct loop *loop;
	struct engine *engine;
	uint64_t n;
	unsigned n_ranks, n_ended;
	int r;
	bool ended, closed;
	uint8_t digest[SHA256_BYTES];	/* of the last batch */
	uint64_t max_slot_bytes;
	bool slow;			/* a second for each batch */
};

struct rank {
	struct run *run;
	struct stream *stream;
	struct timer pause;
};

/* A rank must not take from memory what it is given: neither shrink it, nor forbid its owner to grow it. */
static void check_sealed(const struct slot *s)
{
	int seals = fcntl(s->fd, F_GET_SEALS);

	assert_int_equal(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_SEAL);
}

static void take(void *ctx)
{
	struct rank *rank = ctx;
	struct stream_batch *b;
	struct err e = {0};
	int r;

	if (!rank->stream || timer_armed(&rank->pause))
		return;
	while ((r = stream_next(rank->stream, &b, &e)) == 0) {
		rank->run->n += b->head.n;
		check_sealed(b->slot);
		assert_int_equal(digest_batch(&b->head, b->slot->p, rank->run->digest), 0);
		stream_release(rank->stream, b);
		if (rank->run->slow) {
			assert_int_equal(timer_set(&rank->pause, loop_now(rank->run->loop) + NS_PER_S), 0);
			return;
		}
	}
	if (r == -EAGAIN)
		return;
	if (r != E_END)
		print_error("%s\n", e.words);
	rank->run->r = rank->run->r == E_END || rank->run->r == 0 ? r : rank->run->r;
	stream_close(rank->stream);
	rank->stream = NULL;
	rank->run->ended = ++rank->run->n_ended == rank->run->n_ranks;
}

static void pause_ended(struct timer *t)
{
	take(container_of(t, struct rank, pause));
}

static void on_closed(void *ctx)
{
	((struct run *)ctx)->closed = true;
}

/* One epoch by so many ranks. */
static struct run run_epoch(const char *spec_text, unsigned n_ranks, struct engine_limits limits, bool slow)
{
	static struct rank ranks[MAX_RANKS];
	struct run run = {.n_ranks = n_ranks, .slow = slow};
	struct engine_counts counts;
	struct engine_conf conf = {.n_workers = 1, .spawn = worker_serve_spawn, .kill = worker_serve_kill, .limits = limits};
	struct store *data = tiny_data();
	struct plan *plan = tiny_plan_of(spec_text);

	assert_int_equal(loop_new_virtual(&run.loop), 0);
	conf.loop = run.loop;
	conf.plan = plan;
	assert_int_equal(engine_new(&conf, &run.engine, NULL), 0);
	for (unsigned i = 0; i < n_ranks; i++) {
		struct stream_conf sc = {.dp_rank = i, .dp_size = n_ranks, .n_epochs = 1, .ready = take, .ctx = &ranks[i]};

		ranks[i].run = &run;
		timer_init(&ranks[i].pause, run.loop, pause_ended);
		assert_int_equal(stream_open(run.engine, &sc, &ranks[i].stream, NULL), 0);
	}
	for (unsigned i = 0; i < n_ranks; i++)
		take(&ranks[i]);
	assert_int_equal(loop_run_until(run.loop, &run.ended), 0);
	assert_int_equal(run.r, E_END);
	engine_counts_get(run.engine, &counts);
	run.max_slot_bytes = counts.max_slot_bytes;
	engine_close(run.engine, on_closed, &run);
	assert_int_equal(loop_run_until(run.loop, &run.closed), 0);
	loop_free(run.loop);
	plan_free(plan);
	store_unref(data);
	return run;
}

/* The number of samples that came, and the digest of the last batch. */
static uint64_t run_all(const char *spec_text, unsigned n_ranks, struct engine_limits limits, uint8_t ret[SHA256_BYTES])
{
	struct run run = run_epoch(spec_text, n_ranks, limits, false);

	if (ret)
		memcpy(ret, run.digest, SHA256_BYTES);
	return run.n;
}

static void a_sample_with_more_pictures_than_the_arena_holds_comes(void **state)
{
	static const char text[] =
		"sources: [{data: 'ram:tiny/*.tar'}]\n"
		"fields:\n"
		"  a: {from: png, resize: [8, 8]}\n"
		"  b: {from: png, resize: [8, 8]}\n"
		"  c: {from: png, resize: [8, 8]}\n"
		"  d: {from: png, resize: [8, 8]}\n"
		"limits: {bytes: 8K}\n"
		"on_error: {decode: skip, stop_above: 100%}\n";

	/* Two pages for four pictures. */
	assert_int_equal(run_all(text, 1, (struct engine_limits){.read_bytes = 1}, NULL), TINY_EPOCH_LEN);
}

static void hundreds_of_ranks_share_an_epoch(void **state)
{
	static const char text[] =
		"sources: [{data: 'ram:tiny/*.tar'}]\n"
		"fields: {cls: {from: cls, as: int}}\n"
		"global_batch: 96\n";

	assert_int_equal(run_all(text, MAX_RANKS, (struct engine_limits){.max_ahead = 0}, NULL), TINY_EPOCH_LEN);
}

/* A sample is what it is, whatever stands around it. */
static void a_picture_in_a_frame_is_the_picture(void **state)
{
	static const char *const layouts[] = {"hwc", "chw"}, *const collates[] = {"pad", "ragged"};
	uint8_t digests[2][SHA256_BYTES];
	char text[256];

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < 2; i++) {
			snprintf(text, sizeof(text), "sources: [{data: 'ram:tiny/*.tar'}]\n"
				"fields: {a: {from: png, dtype: float32, layout: %s, collate: %s}}\n"
				"global_batch: 48\non_error: {decode: skip, stop_above: 100%%}\n", layouts[k], collates[i]);
			assert_int_equal(run_all(text, 1, (struct engine_limits){.max_ahead = 0}, digests[i]), TINY_EPOCH_LEN);
		}
		assert_memory_equal(digests[0], digests[1], SHA256_BYTES);
	}
}

/* Nobody knows before they are decoded that pictures of some hundred bytes make batches of 5 to 8 MB. */
static void what_turns_out_large_waits_for_room(void **state)
{
	static const char text[] =
		"sources: [{data: 'ram:tiny/*.tar'}]\n"
		"fields: {t: {from: txt}, a: {from: png, resize: 300, dtype: float32, collate: ragged}, "
		"b: {from: png, resize: [9, 9]}}\n"
		"global_batch: 4\non_error: {decode: skip, stop_above: 100%}\n";
	struct engine_limits free = {.slot_bytes = 1u << 30, .max_bytes = 1u << 30}, tight = free, none = free;
	struct run wide = run_epoch(text, 1, free, true), narrow;

	assert_true(wide.max_slot_bytes > 40u << 20);
	tight.max_bytes = 12u << 20;
	narrow = run_epoch(text, 1, tight, true);
	/* The limit, the batch that is wanted next, and its slot while it is laid out. */
	assert_true(narrow.max_slot_bytes < 28u << 20);
	assert_int_equal(narrow.n, TINY_EPOCH_LEN);
	assert_memory_equal(narrow.digest, wide.digest, SHA256_BYTES);
	none.max_bytes = 1;
	narrow = run_epoch(text, 1, none, true);
	assert_true(narrow.max_slot_bytes < 16u << 20);
	assert_memory_equal(narrow.digest, wide.digest, SHA256_BYTES);
	assert_int_equal(run_all(text, 3, none, NULL), TINY_EPOCH_LEN);
}

/* Its rank goes while others are made in its place: what waits goes with it. */
static void what_waits_for_room_ends_with_its_rank(void **state)
{
	static const char text[] =
		"sources: [{data: 'ram:tiny/*.tar'}]\n"
		"fields: {a: {from: png, resize: 200, collate: ragged}}\n"
		"global_batch: 4\non_error: {decode: skip, stop_above: 100%}\n";
	struct run run = {.n_ranks = 1};
	struct rank rank = {.run = &run};
	struct stream_conf sc = {.dp_size = 1, .n_samples = 4, .n_epochs = 1, .ready = take, .ctx = &rank};
	struct stream_conf idle = {.dp_size = 1};
	struct engine_conf conf = {.n_workers = 1, .spawn = worker_serve_spawn, .kill = worker_serve_kill,
		.limits = {.slot_bytes = 1u << 30, .max_bytes = 1}};
	struct store *data = tiny_data();
	struct plan *plan = tiny_plan_of(text);
	struct stream *other;

	assert_int_equal(loop_new_virtual(&run.loop), 0);
	conf.loop = run.loop;
	conf.plan = plan;
	assert_int_equal(engine_new(&conf, &run.engine, NULL), 0);
	assert_int_equal(stream_open(run.engine, &idle, &other, NULL), 0);
	assert_int_equal(stream_open(run.engine, &sc, &rank.stream, NULL), 0);
	timer_init(&rank.pause, run.loop, pause_ended);
	take(&rank);
	assert_int_equal(loop_run_until(run.loop, &run.ended), 0);
	assert_int_equal(run.n, 4);
	stream_close(other);
	engine_close(run.engine, on_closed, &run);
	assert_int_equal(loop_run_until(run.loop, &run.closed), 0);
	loop_free(run.loop);
	plan_free(plan);
	store_unref(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_with_more_pictures_than_the_arena_holds_comes),
		cmocka_unit_test(hundreds_of_ranks_share_an_epoch),
		cmocka_unit_test(a_picture_in_a_frame_is_the_picture),
		cmocka_unit_test(what_turns_out_large_waits_for_room),
		cmocka_unit_test(what_waits_for_room_ends_with_its_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
