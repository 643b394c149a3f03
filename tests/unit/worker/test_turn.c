/* SPDX-License-Identifier: Apache-2.0 */
/* Who decodes what, and when: workers that take as long as the first byte of their input says, in milliseconds. */
#include "rig.h"

#include "base/clock.h"
#include "unit/slow_worker.h"

static struct slow_workers workers;
static struct rig rig;

static uint64_t cost_ns(const uint8_t *in, size_t n)
{
	return in[0] * NS_PER_MS;
}

static void open_within(unsigned n_workers, uint64_t need_bytes)
{
	struct worker_conf conf;

	rig_init(&rig, true, "random_crop=8,8");
	workers = (struct slow_workers){.h = 8, .w = 8, .c = 3, .cost_ns = cost_ns};
	conf = rig_conf(&rig, true, "OLDDOG_WORKER");
	conf.n_workers = n_workers;
	conf.spawn = slow_worker_spawn;
	conf.kill = slow_worker_kill;
	conf.spawn_ctx = &workers;
	conf.need_bytes = need_bytes;
	rig_open(&rig, &conf);
}

static void open_with(unsigned n_workers)
{
	open_within(n_workers, 0);
}

/* The due and the expected cost are set before the loop turns, which is when a worker may be looked for. */
static struct rig_work *submit(uint64_t position, uint8_t ms, uint64_t due)
{
	struct rig_work *w = rig_submit(&rig, position, &ms, 1, 192);

	w->work.cost_us = ms * 1000u;
	worker_set_due(rig.pool, &w->work, due);
	return w;
}

static void close_all(void)
{
	for (unsigned i = 0; i < rig.n_works; i++) {
		assert_int_equal(rig.works[i].work.r, 0);
		assert_int_equal(rig.works[i].n_done, 1);
		rig_release(&rig, &rig.works[i]);
	}
	rig_close(&rig);
}

static unsigned place_of(uint64_t position)
{
	for (unsigned i = 0; i < workers.n_works; i++)
		if (workers.works[i].position == position)
			return i;
	fail_msg("position %llu was not begun", (unsigned long long)position);
	return 0;
}

static void the_smallest_due_is_begun_first(void **state)
{
	open_with(1);
	for (unsigned i = 0; i < 100; i++)
		submit(i, 1, i * 37 % 50);
	rig_run(&rig);
	assert_int_equal(workers.n_works, 100);
	for (unsigned i = 1; i < 100; i++) {
		uint64_t a = workers.works[i - 1].position, b = workers.works[i].position;

		assert_true(a * 37 % 50 < b * 37 % 50 || (a * 37 % 50 == b * 37 % 50 && a < b));
	}
	close_all();
}

static void what_becomes_urgent_is_begun_next(void **state)
{
	open_with(1);
	for (unsigned i = 0; i < 50; i++)
		submit(i, 1, 100 + i);
	worker_set_due(rig.pool, &rig.works[40].work, 1);
	rig_run(&rig);
	assert_int_equal(place_of(40), 0);
	/* No effect, and no harm, on one that has ended. */
	worker_set_due(rig.pool, &rig.works[40].work, 1);
	close_all();
}

static void nothing_light_waits_behind_a_heavy_work(void **state)
{
	uint64_t end_ns;

	open_with(2);
	submit(0, 200, 0);
	for (unsigned i = 1; i <= 100; i++)
		submit(i, 1, i);
	rig_run(&rig);
	end_ns = workers.works[place_of(0)].to_ns;
	for (unsigned i = 1; i <= 100; i++)
		assert_true(workers.works[place_of(i)].to_ns < end_ns);
	close_all();
}

static void a_heavy_work_goes_to_who_is_free_first(void **state)
{
	open_with(2);
	/* The first two are begun at once; the third must not be tied to the slower of them. */
	submit(0, 100, 0);
	submit(1, 10, 1);
	submit(2, 100, 2);
	rig_run(&rig);
	assert_int_equal(workers.works[place_of(2)].from_ns, workers.works[place_of(1)].to_ns);
	close_all();
}

/* The most that works under way at one time needed. */
static uint64_t most_needed(void)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < workers.n_works; i++) {
		uint64_t sum = 0;

		for (unsigned k = 0; k < workers.n_works; k++) {
			const struct slow_work *a = &workers.works[i], *b = &workers.works[k];

			if (b->from_ns <= a->from_ns && a->from_ns < b->to_ns)
				sum += rig.works[b->position].work.need_bytes;
		}
		most = MAX(most, sum);
	}
	return most;
}

static void works_under_way_need_no_more_than_there_is(void **state)
{
	open_within(4, 100);
	for (unsigned i = 0; i < 60; i++)
		submit(i, 10, i)->work.need_bytes = i % 5 == 0 ? 90 : i % 7;
	/* More than there is goes alone. */
	submit(60, 10, 30)->work.need_bytes = 1000;
	rig_run(&rig);
	assert_int_equal(workers.n_works, 61);
	assert_int_equal(most_needed(), 1000);
	for (unsigned i = 0; i < workers.n_works; i++)
		if (workers.works[i].position == 60)
			workers.works[i].to_ns = workers.works[i].from_ns;
	assert_in_range(most_needed(), 91, 100);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_due_is_begun_first),
		cmocka_unit_test(what_becomes_urgent_is_begun_next),
		cmocka_unit_test(nothing_light_waits_behind_a_heavy_work),
		cmocka_unit_test(a_heavy_work_goes_to_who_is_free_first),
		cmocka_unit_test(works_under_way_need_no_more_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
