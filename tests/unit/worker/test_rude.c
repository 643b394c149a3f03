/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's side against workers that break every rule (rude_worker.c). */
#include "rig.h"

#include <signal.h>

#include "base/clock.h"
#include "base/hash.h"

static struct rig rig;
static struct worker_conf conf;

static void open_rude(unsigned n_workers, unsigned max_attempts)
{
	rig_init(&rig, false, "mode=rgb");
	conf = rig_conf(&rig, false, "OLDDOG_RUDE_WORKER");
	conf.n_workers = n_workers;
	conf.max_attempts = max_attempts;
	rig_open(&rig, &conf);
}

static struct rig_work *tell(const char *deed)
{
	return rig_submit(&rig, 0, deed, strlen(deed), 4096);
}

static void check_ok(const struct rig_work *w)
{
	assert_int_equal(w->n_done, 1);
	if (w->work.r < 0)
		fail_msg("%d: %s", w->work.r, w->work.words);
	assert_int_equal(w->work.pixels[0], 'k');
}

/* The deed between good works, in a pool of one: it fails as told, the others do not notice. */
static void check_deed(const char *deed, int r, const char *words)
{
	struct worker_counts counts;
	struct rig_work *w;
	unsigned fds;

	open_rude(1, 2);
	fds = n_open_fds();
	tell("ok");
	tell("ok");
	w = tell(deed);
	tell("ok");
	tell("ok");
	rig_run(&rig);
	for (unsigned i = 0; i < rig.n_works; i++) {
		if (&rig.works[i] != w)
			check_ok(&rig.works[i]);
	}
	assert_int_equal(w->n_done, 1);
	if (w->work.r != r || !strstr(w->work.words, words))
		fail_msg("%s: %d: %s", deed, w->work.r, w->work.words);
	assert_int_equal(w->work.attempts, 2);
	assert_null(w->work.pixels);
	worker_pool_counts(rig.pool, &counts);
	assert_true(counts.n_spawned >= 2 && counts.n_spawned <= 3);
	assert_int_equal(counts.n_done, 4);
	assert_true(n_open_fds() <= fds + 1);
	rig_close(&rig);
}

static void a_worker_that_ends_is_replaced(void **state)
{
	check_deed("die", E_WORKER_DIED, "ended with status 7; attempt 2 of 2");
	check_deed("abort", E_WORKER_DIED, "ended by SIGABRT");
	check_deed("leave", E_WORKER_DIED, "ended by SIGKILL");
}

static void a_broken_protocol_ends_the_worker(void **state)
{
	static const char *const all[] = {"seq", "size", "zero", "status", "positive", "short", "long", "decode", "ready"};

	for (unsigned i = 0; i < N_ELEMS(all); i++)
		check_deed(all[i], E_WORKER_DIED, "broke the protocol");
}

static void a_memory_limit_ends_the_worker(void **state)
{
	check_deed("memory", -ENOMEM, "memory limit");
}

/* What comes after a good answer costs the worker, not the work; then the next work finds a fresh one. */
static void answers_to_nothing_end_the_worker(void **state)
{
	static const char *const all[] = {"twice", "flood"};

	for (unsigned i = 0; i < N_ELEMS(all); i++) {
		open_rude(1, 3);
		check_ok((tell(all[i]), rig_run(&rig), &rig.works[0]));
		check_ok((tell("ok"), rig_run(&rig), &rig.works[1]));
		rig_close(&rig);
	}
}

static void words_are_made_printable(void **state)
{
	struct rig_work *w;

	open_rude(1, 2);
	w = tell("bad");
	rig_run(&rig);
	assert_int_equal(w->work.r, E_BAD_SAMPLE);
	assert_string_equal(w->work.words, "?[2Jwords");
	rig_close(&rig);
}

static void descriptors_sent_along_are_closed(void **state)
{
	unsigned fds;

	open_rude(1, 2);
	check_ok((tell("ok"), rig_run(&rig), &rig.works[0]));
	fds = n_open_fds();
	for (unsigned i = 1; i < 10; i++)
		check_ok((tell("fds"), rig_run(&rig), &rig.works[i]));
	assert_int_equal(n_open_fds(), fds);
	rig_close(&rig);
}

static void seals_hold_without_any_confinement(void **state)
{
	static const char *const all[] = {"shrink", "grow", "shrink_in", "write_in", "map_in", "protect_in", "punch_in",
		"write_recipe"};

	open_rude(1, 2);
	for (unsigned i = 0; i < N_ELEMS(all); i++) {
		struct rig_work *w = tell(all[i]);

		rig_run(&rig);
		assert_int_equal(w->work.r, 0);
		if (w->work.pixels[0] != EPERM && w->work.pixels[0] != EACCES)
			fail_msg("%s: errno %d", all[i], w->work.pixels[0]);
	}
	rig_close(&rig);
}

static void a_worker_has_its_own_descriptors_only(void **state)
{
	struct rig_work *w;
	int leaky = dup(STDERR_FILENO); /* as others open them: without O_CLOEXEC */

	assert_true(leaky >= 0);
	open_rude(1, 2);
	w = tell("inherited");
	rig_run(&rig);
	assert_int_equal(w->work.r, 0);
	assert_int_equal(w->work.pixels[0], 0);
	rig_close(&rig);
	close(leaky);
}

static void a_hung_or_stopped_worker_is_replaced(void **state)
{
	static const char *const all[] = {"hang", "stop"};

	for (unsigned i = 0; i < N_ELEMS(all); i++) {
		struct worker_counts counts;

		rig_init(&rig, false, "mode=rgb");
		conf = rig_conf(&rig, false, "OLDDOG_RUDE_WORKER");
		conf.n_workers = 1;
		conf.max_attempts = 1;
		conf.time_limit_ns = NS_PER_S / 2;
		rig_open(&rig, &conf);
		tell(all[i]);
		tell("ok");
		rig_run(&rig);
		assert_int_equal(rig.works[0].work.r, E_WORKER_TIMEOUT);
		assert_non_null(strstr(rig.works[0].work.words, "time limit"));
		check_ok(&rig.works[1]);
		assert_int_equal(rig.works[1].work.attempts, 0);
		worker_pool_counts(rig.pool, &counts);
		assert_int_equal(counts.n_killed_time, 1);
		rig_close(&rig);
	}
}

/* With a time limit that would never come: each is known by what it does, which is nothing. */
static void a_stopped_or_idle_worker_is_replaced_without_its_limit(void **state)
{
	static const char *const deeds[] = {"stop", "hang"}, *const words[] = {"was stopped", "did nothing"};

	for (unsigned i = 0; i < N_ELEMS(deeds); i++) {
		rig_init(&rig, false, "mode=rgb");
		conf = rig_conf(&rig, false, "OLDDOG_RUDE_WORKER");
		conf.n_workers = conf.max_attempts = 1;
		conf.time_limit_ns = 86400 * NS_PER_S;
		rig_open(&rig, &conf);
		tell(deeds[i]);
		tell("ok");
		rig_run(&rig);
		assert_int_equal(rig.works[0].work.r, E_WORKER_TIMEOUT);
		assert_non_null(strstr(rig.works[0].work.words, words[i]));
		check_ok(&rig.works[1]);
		rig_close(&rig);
	}
}

/* Others go on while one is busy for ever. */
static void workers_do_not_wait_for_each_other(void **state)
{
	open_rude(2, 1);
	tell("hang");
	for (unsigned i = 0; i < 50; i++)
		tell("ok");
	/* The one behind the hung work waits with it; all others must come. */
	rig.n_works = 49;
	rig_run(&rig);
	rig.n_works = 51;
	rig_close(&rig);
}

/* An owner that is stopped comes back late; its worker has long answered. */
static void stop_for_longer_than_the_limit(struct timer *t)
{
	uint64_t until_ns = clock_monotonic_ns() + 2 * conf.time_limit_ns;

	while (clock_monotonic_ns() < until_ns)
		continue;
}

static void time_that_the_owner_was_stopped_does_not_count(void **state)
{
	struct timer t;

	rig_init(&rig, false, "mode=rgb");
	conf = rig_conf(&rig, false, "OLDDOG_RUDE_WORKER");
	conf.n_workers = conf.max_attempts = 1;
	conf.time_limit_ns = 100 * NS_PER_MS;
	rig_open(&rig, &conf);
	check_ok((tell("ok"), rig_run(&rig), &rig.works[0]));
	tell("ok");
	timer_init(&t, rig.loop, stop_for_longer_than_the_limit);
	/* After the turn in which the work is sent. */
	assert_int_equal(timer_set(&t, loop_now(rig.loop)), 0);
	check_ok((rig_run(&rig), &rig.works[1]));
	rig_close(&rig);
}

static void programs_that_are_no_workers_fail_with_words(void **state)
{
	rig_init(&rig, false, "mode=rgb");
	conf = rig_conf(&rig, false, "OLDDOG_RUDE_WORKER");
	conf.program = "/bin/true";
	rig_open(&rig, &conf);
	tell("ok");
	tell("ok");
	rig_run(&rig);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rig.works[i].work.r, E_WORKER_DIED);
		assert_non_null(strstr(rig.works[i].work.words, "could be started"));
		assert_non_null(strstr(rig.works[i].work.words, "status 0"));
	}
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_that_ends_is_replaced),
		cmocka_unit_test(a_broken_protocol_ends_the_worker),
		cmocka_unit_test(a_memory_limit_ends_the_worker),
		cmocka_unit_test(answers_to_nothing_end_the_worker),
		cmocka_unit_test(words_are_made_printable),
		cmocka_unit_test(descriptors_sent_along_are_closed),
		cmocka_unit_test(seals_hold_without_any_confinement),
		cmocka_unit_test(a_worker_has_its_own_descriptors_only),
		cmocka_unit_test(a_hung_or_stopped_worker_is_replaced),
		cmocka_unit_test(a_stopped_or_idle_worker_is_replaced_without_its_limit),
		cmocka_unit_test(workers_do_not_wait_for_each_other),
		cmocka_unit_test(time_that_the_owner_was_stopped_does_not_count),
		cmocka_unit_test(programs_that_are_no_workers_fail_with_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
