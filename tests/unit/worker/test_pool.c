/* SPDX-License-Identifier: Apache-2.0 */
/* The pool with the real decoders, each test on processes and on virtual time. */
#include "rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/rand.h"
#include "media/golden.h"
#include "media/media.h"

#define CHAIN "random_resized_crop=32,32,bilinear,0.3,1,0.75,1.3333;hflip=0.5"
#define OUT_BYTES (32 * 32 * 3)
#define MAX_OUT (64 * 64 * 3 * 4)

static struct rig rig;
static bool on_virtual;

static void open_with(unsigned n_workers, const char *chain)
{
	struct worker_conf conf;

	rig_init(&rig, on_virtual, chain);
	conf = rig_conf(&rig, on_virtual, "OLDDOG_WORKER");
	conf.n_workers = n_workers;
	rig_open(&rig, &conf);
}

static const struct golden *image_of(uint64_t position)
{
	return &golden_images[position % n_golden_images];
}

static struct rig_work *submit(uint64_t position)
{
	return rig_submit(&rig, position, image_of(position)->p, image_of(position)->n, OUT_BYTES);
}

/* What media gives in this process. */
static void check_pixels(const struct work *w)
{
	static uint8_t want[MAX_OUT];
	struct media_result m;
	int r = media_run(&rig.recipe, 0, w->position, image_of(w->position)->p, image_of(w->position)->n, want, sizeof(want),
		&m);

	if (w->r != r)
		fail_msg("position %llu: %d (%s), not %d", (unsigned long long)w->position, w->r, w->words, r);
	if (r < 0)
		return;
	assert_true(w->h == m.h && w->w == m.w && w->c == m.c);
	assert_memory_equal(w->pixels, want, (size_t)m.h * m.w * m.c);
	assert_int_equal(w->checksum, xxh3_of(want, (size_t)m.h * m.w * m.c));
	assert_true(worker_check(w, want));
	want[0] ^= 1;
	assert_false(worker_check(w, want));
}

static void pixels_are_those_of_media(void **state)
{
	struct worker_counts counts;
	uint8_t fingerprint[32], want[32];

	open_with(3, CHAIN);
	for (unsigned i = 0; i < 5 * n_golden_images; i++)
		submit(i);
	rig_run(&rig);
	for (unsigned i = 0; i < rig.n_works; i++) {
		assert_int_equal(rig.works[i].n_done, 1);
		check_pixels(&rig.works[i].work);
		rig_release(&rig, &rig.works[i]);
	}
	worker_pool_counts(rig.pool, &counts);
	assert_int_equal(counts.n_done + counts.n_bad, rig.n_works);
	assert_int_equal(counts.n_spawned, 3);
	assert_int_equal(counts.n_died + counts.n_killed_time, 0);
	assert_true(on_virtual || counts.cpu_ns > 0);
	worker_pool_fingerprint(rig.pool, fingerprint);
	assert_int_equal(media_fingerprint(want), 0);
	assert_memory_equal(fingerprint, want, sizeof(want));
	rig_close(&rig);
}

static void a_bad_sample_comes_back_with_words(void **state)
{
	struct rig_work *bad, *good;
	struct worker_counts counts;

	open_with(1, CHAIN);
	bad = rig_submit(&rig, 0, "not an image", 12, OUT_BYTES);
	good = submit(0);
	rig_run(&rig);
	assert_true(bad->work.r == E_BAD_SAMPLE || bad->work.r == E_REFUSED_SAMPLE);
	assert_true(strlen(bad->work.words) > 5);
	assert_null(bad->work.pixels);
	check_pixels(&good->work);
	worker_pool_counts(rig.pool, &counts);
	assert_int_equal(counts.n_bad, 1);
	assert_int_equal(counts.n_spawned, 1);
	rig_close(&rig);
}

static void limits_of_the_recipe_are_told(void **state)
{
	struct rig_work *w;

	open_with(1, "resize=8,8,bilinear;max_bytes=100");
	w = submit(0);
	rig_run(&rig);
	assert_int_equal(w->work.r, E_LIMIT);
	assert_non_null(strstr(w->work.words, "limit is 100"));
	rig_close(&rig);
}

static void a_result_that_does_not_fit_says_what_is_needed(void **state)
{
	struct rig_work *small, *huge;

	open_with(1, CHAIN);
	small = rig_submit(&rig, 0, image_of(0)->p, image_of(0)->n, OUT_BYTES - 1);
	huge = rig_submit(&rig, 0, image_of(0)->p, image_of(0)->n, (8u << 20) + 1);
	rig_run(&rig);
	assert_int_equal(small->work.r, -ENOSPC);
	assert_true(small->work.h == 32 && small->work.w == 32 && small->work.c == 3);
	assert_string_equal(small->work.words, "32x32x3 pixels do not fit into the 3071 bytes that were given");
	assert_int_equal(huge->work.r, -E2BIG);
	assert_non_null(strstr(huge->work.words, "room for 8388608"));
	rig_close(&rig);
}

static bool had_room;

static void room_came(void *ctx)
{
	had_room = true;
}

static void a_full_arena_says_so_and_tells_of_room(void **state)
{
	struct worker_in in[2], more;

	open_with(1, CHAIN);
	worker_on_room(rig.pool, room_came, NULL);
	had_room = false;
	assert_int_equal(worker_in_alloc(rig.pool, (8u << 20) + 1, &more), -E2BIG);
	assert_int_equal(worker_in_alloc(rig.pool, 4u << 20, &in[0]), 0);
	assert_int_equal(worker_in_alloc(rig.pool, 4u << 20, &in[1]), 0);
	assert_int_equal(worker_in_alloc(rig.pool, 1, &more), -EAGAIN);
	worker_in_free(rig.pool, &in[1]);
	assert_false(had_room);
	assert_int_equal(loop_run_until(rig.loop, &had_room), 0);
	assert_int_equal(worker_in_alloc(rig.pool, 1, &more), 0);
	rig_close(&rig);
}

/* Three results fill the output: the fourth must not be there before these are looked at and released. */
static void release_three(struct rig *r, struct rig_work *w)
{
	if (r->n_ended % 3)
		return;
	for (unsigned i = r->n_ended - 3; i < r->n_ended; i++) {
		check_pixels(&r->works[i].work);
		rig_release(r, &r->works[i]);
	}
}

static void works_wait_for_room_in_the_output(void **state)
{
	open_with(1, CHAIN);
	rig.on_done = release_three;
	for (unsigned i = 0; i < 9; i++)
		rig_submit(&rig, i, image_of(i)->p, image_of(i)->n, 2560u << 10);
	rig_run(&rig);
	assert_int_equal(rig.n_ended, 9);
	rig_close(&rig);
}

static void unfinished_works_are_cancelled_with_the_pool(void **state)
{
	open_with(2, CHAIN);
	for (unsigned i = 0; i < 20; i++)
		submit(i);
	worker_pool_free(rig.pool);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(rig.works[i].n_done, 1);
		assert_int_equal(rig.works[i].work.r, -ECANCELED);
	}
	loop_free(rig.loop);
}

static void submit_again(struct rig *r, struct rig_work *w)
{
	w->rig->on_done = NULL;
	worker_release(r->pool, &w->work);
	r->all_ended = false;
	r->n_ended--;
	worker_submit(r->pool, &w->work);
}

static void a_work_may_be_submitted_again_when_it_is_done(void **state)
{
	struct rig_work *w;

	open_with(1, CHAIN);
	rig.on_done = submit_again;
	w = submit(4);
	rig_run(&rig);
	assert_int_equal(w->n_done, 2);
	check_pixels(&w->work);
	rig_close(&rig);
}

static void every_allocation_may_fail(void **state)
{
	int failed = 1;

	for (unsigned n = 1; failed; n++) {
		struct worker_conf conf;
		int r;

		rig_init(&rig, on_virtual, CHAIN);
		conf = rig_conf(&rig, on_virtual, "OLDDOG_WORKER");
		mem_fail_nth(n);
		r = worker_pool_new(&conf, &rig.pool, NULL);
		failed = mem_failed();
		assert_true(r == 0 || (failed && r == -ENOMEM));
		if (r == 0) {
			mem_fail_nth(0);
			submit(1);
			rig_run(&rig);
			check_pixels(&rig.works[0].work);
		}
		rig_close(&rig);
	}
	mem_fail_nth(0);
}

/* Processes only. */

static void a_missing_program_is_named(void **state)
{
	struct err e = {0};
	struct worker_conf conf;

	rig_init(&rig, false, CHAIN);
	conf = rig_conf(&rig, false, "OLDDOG_WORKER");
	conf.program = "/nowhere/olddog-worker";
	assert_int_equal(worker_pool_new(&conf, &rig.pool, &e), -ENOENT);
	assert_non_null(strstr(e.words, "/nowhere/olddog-worker"));
	loop_free(rig.loop);
}

static void a_pool_of_impossible_numbers_is_refused(void **state)
{
	struct err e = {0};
	struct worker_conf conf;

	rig_init(&rig, false, CHAIN);
	conf = rig_conf(&rig, false, "OLDDOG_WORKER");
	conf.n_workers = 0;
	assert_int_equal(worker_pool_new(&conf, &rig.pool, &e), -EINVAL);
	assert_true(strlen(e.words) > 5);
	loop_free(rig.loop);
}

static struct philox_key chaos;

static void kill_somebody(struct rig *r, struct rig_work *w)
{
	pid_t pids[16];
	uint32_t u[4];
	unsigned n;

	if (w->work.r == 0) {
		check_pixels(&w->work);
		rig_release(r, w);
	}
	philox(chaos, r->n_ended, 0, 0, u);
	if (u[0] % 16)
		return;
	n = rig_children(pids, N_ELEMS(pids));
	if (n)
		kill(pids[u[1] % n], SIGKILL);
}

static void killed_workers_cost_time_only(void **state)
{
	struct worker_conf conf;
	struct worker_counts counts;
	unsigned fds, n_bad = 0;

	rig_init(&rig, false, CHAIN);
	conf = rig_conf(&rig, false, "OLDDOG_WORKER");
	conf.n_workers = 3;
	/* Death is dealt at random here, so a work may well meet it more often than a real one. */
	conf.max_attempts = 50;
	chaos = philox_key_of(5, "kill");
	rig_open(&rig, &conf);
	fds = n_open_fds();
	rig.on_done = kill_somebody;
	for (unsigned i = 0; i < 1000; i++)
		submit(i);
	rig_run(&rig);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(rig.works[i].n_done, 1);
		n_bad += rig.works[i].work.r < 0;
		if (rig.works[i].work.r < 0)
			check_pixels(&rig.works[i].work);
	}
	worker_pool_counts(rig.pool, &counts);
	assert_int_equal(counts.n_done, 1000 - n_bad);
	assert_true(counts.n_spawned > 20);
	/* One more worker has channel, pidfd and output: three descriptors. */
	assert_true(n_open_fds() <= fds + 2 * 3);
	rig_close(&rig);
}

static void a_worker_ends_with_its_owner(void **state)
{
	pid_t pids[16];

	open_with(1, CHAIN);
	submit(0);
	rig_run(&rig);
	assert_int_equal(rig_children(pids, 16), 1);
	rig_close(&rig);
	assert_int_equal(kill(pids[0], 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(rig_children(pids, 16), 0);
}

static int to_processes(void **state)
{
	on_virtual = false;
	return 0;
}

static int to_virtual_time(void **state)
{
	on_virtual = true;
	return 0;
}

#define BOTH                                                                                                 \
	cmocka_unit_test(pixels_are_those_of_media), cmocka_unit_test(a_bad_sample_comes_back_with_words),   \
		cmocka_unit_test(limits_of_the_recipe_are_told),                                             \
		cmocka_unit_test(a_result_that_does_not_fit_says_what_is_needed),                            \
		cmocka_unit_test(a_full_arena_says_so_and_tells_of_room),                                    \
		cmocka_unit_test(works_wait_for_room_in_the_output),                                         \
		cmocka_unit_test(unfinished_works_are_cancelled_with_the_pool),                              \
		cmocka_unit_test(a_work_may_be_submitted_again_when_it_is_done),                             \
		cmocka_unit_test(every_allocation_may_fail)

int main(void)
{
	const struct CMUnitTest both[] = {BOTH};
	const struct CMUnitTest processes[] = {
		cmocka_unit_test(a_missing_program_is_named),
		cmocka_unit_test(a_pool_of_impossible_numbers_is_refused),
		cmocka_unit_test(killed_workers_cost_time_only),
		cmocka_unit_test(a_worker_ends_with_its_owner),
	};

	return cmocka_run_group_tests_name("virtual", both, to_virtual_time, NULL) +
		cmocka_run_group_tests_name("processes", both, to_processes, NULL) +
		cmocka_run_group_tests_name("processes only", processes, to_processes, NULL);
}
