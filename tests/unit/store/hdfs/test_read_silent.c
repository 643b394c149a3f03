/* SPDX-License-Identifier: Apache-2.0 */
/* Reading when DataNodes are silent: others are asked, and what waits for one does not stand in the way of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "read_world.h"

#define BUSY_BLOCK (20u << 20)
#define STEP (BUSY_BLOCK / (MAX_RANGES - 1) + 1)	/* too far from each other to be one read; the last is behind the block */

static void a_node_that_stops_is_outrun_by_another(void **state)
{
	struct world *w = world_new();
	uint64_t began;

	world_file(w, 3000000, 1u << 20, 2);
	fake_dn_stop(w->dn[1], true);
	began = loop_now(w->loop);
	assert_int_equal(read_all(w, true), 0);
	assert_true(w->counters.hedges > 0 && w->counters.hedge_wins > 0);
	/* Far below a socket's time. */
	assert_true(loop_now(w->loop) - began < 10 * NS_PER_S);
	world_free(w);
}

struct pause {
	struct timer timer;
	bool over;
};

static void pause_end(struct timer *t)
{
	container_of(t, struct pause, timer)->over = true;
}

static void pass(struct world *w, uint64_t ns)
{
	struct pause p = {0};

	timer_init(&p.timer, w->loop, pause_end);
	assert_int_equal(timer_set(&p.timer, loop_now(w->loop) + ns), 0);
	assert_int_equal(loop_run_until(w->loop, &p.over), 0);
}

static void what_waits_for_a_busy_node_hides_nothing_from_others(void **state)
{
	struct world *w = world_new();
	struct call c = {0};
	const struct store_range *last = &c.ranges[MAX_RANGES - 1];

	/* More pieces of the first block than are looked at; its only node is silent, the other block's is not. */
	world_file(w, 2 * BUSY_BLOCK, BUSY_BLOCK, 1);
	for (unsigned i = 0; i < MAX_RANGES; i++)
		c.ranges[i] = (struct store_range){.offset = (i + 1) * STEP, .length = 100};
	fake_dn_stop(w->dn[0], true);
	call_start(w, &c, MAX_RANGES, true);
	pass(w, NS_PER_S);
	assert_memory_equal(last->buf, w->file.bytes + last->offset, last->length);
	assert_false(w->done);
	fake_dn_stop(w->dn[0], false);
	assert_int_equal(loop_run_until(w->loop, &w->done), 0);
	assert_int_equal(w->r, 0);
	call_check(w, &c);
	world_free(w);
}

static void of_three_nodes_two_stop_and_the_third_is_found(void **state)
{
	struct world *w = world_new();
	uint64_t began;

	/* One piece: the first node is asked, the second beside it, the third in the second's place. */
	world_file(w, 100000, 1u << 20, 3);
	fake_dn_stop(w->dn[0], true);
	fake_dn_stop(w->dn[1], true);
	began = loop_now(w->loop);
	assert_int_equal(read_all(w, true), 0);
	assert_int_equal(w->counters.hedges, 2);
	assert_int_equal(w->counters.hedge_wins, 1);
	assert_int_equal(w->counters.dead_nodes, 0);
	assert_true(loop_now(w->loop) - began < 10 * NS_PER_S);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_that_stops_is_outrun_by_another),
		cmocka_unit_test(what_waits_for_a_busy_node_hides_nothing_from_others),
		cmocka_unit_test(of_three_nodes_two_stop_and_the_third_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
