/* SPDX-License-Identifier: Apache-2.0 */
/* The pool on virtual time, over channels that delay, stall, flip bits and end, and with workers that say little. */
#include "rig.h"

#include "base/clock.h"
#include "base/rand.h"
#include "media/golden.h"
#include "media/media.h"
#include "worker/serve.h"

#define CHAIN "random_resized_crop=16,16,bilinear,0.3,1,0.75,1.3333;hflip=0.5"
#define OUT_BYTES (16 * 16 * 3)
#define N_SCHEDULES 200
#define N_WORKS 30
#define LIMIT_NS (100 * NS_PER_MS)

static struct rig rig;

static void check_works(unsigned n)
{
	uint8_t want[OUT_BYTES];

	for (unsigned i = 0; i < n; i++) {
		const struct work *w = &rig.works[i].work;
		const struct golden *g = &golden_images[i % n_golden_images];
		struct media_result m;
		int r = media_run(&rig.recipe, 0, w->position, g->p, g->n, want, sizeof(want), &m);

		assert_int_equal(rig.works[i].n_done, 1);
		if (w->r != r)
			fail_msg("work %u: %d: %s", i, w->r, w->words);
		if (r == 0)
			assert_memory_equal(w->pixels, want, sizeof(want));
	}
}

static struct worker_conf faulty_conf(uint64_t seed)
{
	struct worker_conf conf = rig_conf(&rig, true, "OLDDOG_WORKER");
	struct philox_key key = philox_key_of(seed, "schedule");
	uint32_t u[4];

	philox(key, 0, 0, 0, u);
	conf.n_workers = 1 + u[0] % 4;
	conf.queue_depth = 1 + u[1] % 3;
	conf.time_limit_ns = LIMIT_NS;
	conf.max_attempts = 10000;
	conf.faults = (struct pipe_faults){.seed = seed, .delay_max_ns = u[2] % (20 * NS_PER_MS)};
	philox(key, 1, 0, 0, u);
	if (u[0] % 2)
		conf.faults.cut_after = 3 + u[1] % 30;
	if (u[2] % 2)
		conf.faults.flip_ppm = u[3] % 100000;
	philox(key, 2, 0, 0, u);
	if (u[0] % 2) {
		conf.faults.stall_ppm = u[1] % 100000;
		conf.faults.stall_ns = u[2] % (3 * LIMIT_NS);
	}
	return conf;
}

static void every_schedule_ends_with_the_right_pixels(void **state)
{
	struct worker_counts counts;
	uint64_t n_spawned = 0, n_time = 0;

	for (uint64_t seed = 0; seed < N_SCHEDULES; seed++) {
		struct worker_conf conf;

		rig_init(&rig, true, CHAIN);
		conf = faulty_conf(seed);
		rig_open(&rig, &conf);
		for (unsigned i = 0; i < N_WORKS; i++)
			rig_submit(&rig, i, golden_images[i % n_golden_images].p, golden_images[i % n_golden_images].n,
				OUT_BYTES);
		rig_run(&rig);
		check_works(N_WORKS);
		worker_pool_counts(rig.pool, &counts);
		n_spawned += counts.n_spawned;
		n_time += counts.n_killed_time;
		rig_close(&rig);
	}
	/* The faults did happen. */
	assert_true(n_spawned > 5 * N_SCHEDULES && n_time > N_SCHEDULES / 10);
}

static void a_schedule_repeats_exactly(void **state)
{
	struct worker_counts counts[2];
	uint64_t end_ns[2];

	for (unsigned i = 0; i < 2; i++) {
		struct worker_conf conf;

		rig_init(&rig, true, CHAIN);
		conf = faulty_conf(6);
		rig_open(&rig, &conf);
		for (unsigned k = 0; k < N_WORKS; k++)
			rig_submit(&rig, k, golden_images[0].p, golden_images[0].n, OUT_BYTES);
		rig_run(&rig);
		worker_pool_counts(rig.pool, &counts[i]);
		end_ns[i] = loop_now(rig.loop);
		rig_close(&rig);
	}
	assert_memory_equal(&counts[0], &counts[1], sizeof(counts[0]));
	assert_int_equal(end_ns[0], end_ns[1]);
}

/* Workers behind a pipe that say what a test wants at the start, and then nothing. */

struct quiet {
	unsigned n_messages;
	const struct workmsg *messages;
	bool leaves;
};

static int quiet_spawn(void *ctx, struct loop *loop, const struct recipe *recipe, const uint8_t *in, size_t in_bytes,
	uint8_t *out, size_t out_bytes, struct conn *end, void **ret_worker)
{
	const struct quiet *q = ctx;
	uint8_t bytes[WORKMSG_BYTES];

	for (unsigned i = 0; i < q->n_messages; i++) {
		workmsg_encode(&q->messages[i], bytes);
		assert_int_equal(conn_send(end, bytes, sizeof(bytes), NULL, 0), sizeof(bytes));
	}
	*ret_worker = end;
	if (q->leaves) {
		conn_close(end);
		*ret_worker = NULL;
	}
	return 0;
}

static void quiet_kill(void *ctx, void *worker)
{
	conn_close(worker);
}

static const struct work *run_quiet(const struct quiet *q, uint64_t *ret_took_ns)
{
	struct worker_conf conf;
	uint64_t begin_ns;

	rig_init(&rig, true, CHAIN);
	conf = rig_conf(&rig, true, "OLDDOG_WORKER");
	conf.spawn = quiet_spawn;
	conf.kill = quiet_kill;
	conf.spawn_ctx = (void *)q;
	conf.n_workers = 1;
	conf.max_attempts = 2;
	conf.time_limit_ns = LIMIT_NS;
	rig_open(&rig, &conf);
	begin_ns = loop_now(rig.loop);
	rig_submit(&rig, 0, "x", 1, 1);
	rig_run(&rig);
	*ret_took_ns = loop_now(rig.loop) - begin_ns;
	return &rig.works[0].work;
}

static const struct workmsg ready = {.type = WORKMSG_READY, .version = WORKMSG_VERSION};

static void a_silent_worker_is_given_its_time_and_no_more(void **state)
{
	const struct quiet q = {1, &ready, false};
	uint64_t took_ns;
	const struct work *w = run_quiet(&q, &took_ns);

	assert_int_equal(w->r, E_WORKER_TIMEOUT);
	assert_string_equal(w->words, "the decoding process passed its time limit; attempt 2 of 2");
	assert_true(took_ns >= 2 * LIMIT_NS && took_ns < 3 * LIMIT_NS);
	rig_close(&rig);
}

static void a_worker_that_is_never_ready_fails_with_words(void **state)
{
	const struct quiet q = {0, NULL, false};
	uint64_t took_ns;
	const struct work *w = run_quiet(&q, &took_ns);

	assert_int_equal(w->r, E_WORKER_DIED);
	assert_string_equal(w->words, "no decoding process could be started, 2 times; the last: passed its time limit");
	rig_close(&rig);
}

static void wrong_beginnings_are_refused(void **state)
{
	static const struct workmsg other = {.type = WORKMSG_READY, .version = WORKMSG_VERSION + 1};
	static const struct workmsg early = {.type = WORKMSG_DONE, .seq = 1, .status = E_BAD_SAMPLE};
	const struct quiet all[] = {{1, &other, false}, {1, &early, false}, {0, NULL, true}};
	static const char *const words[] = {"broke the protocol", "broke the protocol", "ended"};

	for (unsigned i = 0; i < N_ELEMS(all); i++) {
		uint64_t took_ns;
		const struct work *w = run_quiet(&all[i], &took_ns);

		assert_int_equal(w->r, E_WORKER_DIED);
		assert_non_null(strstr(w->words, words[i]));
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_schedule_ends_with_the_right_pixels),
		cmocka_unit_test(a_schedule_repeats_exactly),
		cmocka_unit_test(a_silent_worker_is_given_its_time_and_no_more),
		cmocka_unit_test(a_worker_that_is_never_ready_fails_with_words),
		cmocka_unit_test(wrong_beginnings_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
