/* SPDX-License-Identifier: Apache-2.0 */
/* Room: an arena that does not hold all pictures of a sample, a crowd of ranks, frames that are wider than their pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <string.h>

#include <cmocka.h>

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
};

struct rank {
	struct run *run;
	struct stream *stream;
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

	if (!rank->stream)
		return;
	while ((r = stream_next(rank->stream, &b, &e)) == 0) {
		rank->run->n += b->head.n;
		check_sealed(b->slot);
		assert_int_equal(digest_batch(&b->head, b->slot->p, rank->run->digest), 0);
		stream_release(rank->stream, b);
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

static void on_closed(void *ctx)
{
	((struct run *)ctx)->closed = true;
}

/* One epoch by so many ranks; the number of samples that came, and the digest of the last batch. */
static uint64_t run_all(const char *spec_text, unsigned n_ranks, struct engine_limits limits, uint8_t ret[SHA256_BYTES])
{
	static struct rank ranks[MAX_RANKS];
	struct run run = {.n_ranks = n_ranks};
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
		assert_int_equal(stream_open(run.engine, &sc, &ranks[i].stream, NULL), 0);
	}
	for (unsigned i = 0; i < n_ranks; i++)
		take(&ranks[i]);
	assert_int_equal(loop_run_until(run.loop, &run.ended), 0);
	assert_int_equal(run.r, E_END);
	engine_close(run.engine, on_closed, &run);
	assert_int_equal(loop_run_until(run.loop, &run.closed), 0);
	loop_free(run.loop);
	plan_free(plan);
	store_unref(data);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_with_more_pictures_than_the_arena_holds_comes),
		cmocka_unit_test(hundreds_of_ranks_share_an_epoch),
		cmocka_unit_test(a_picture_in_a_frame_is_the_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
