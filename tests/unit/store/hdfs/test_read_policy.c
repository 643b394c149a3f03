/* SPDX-License-Identifier: Apache-2.0 */
/* Which replica, when a second, when anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/scope.h"
#include "store/hdfs/read/read_policy.h"

static void the_near_goes_before_the_far_and_the_living_before_the_dead(void **state)
{
	struct read_choice c[3] = {{.distance = 2}, {.distance = 0}, {.distance = 1}};

	assert_int_equal(read_policy_choose(c, 3), 1);
	c[1].dead = true;
	assert_int_equal(read_policy_choose(c, 3), 2);
	c[2].failed = true;
	assert_int_equal(read_policy_choose(c, 3), 0);
	c[0].failed = true;
	/* A dead one is better than none: it may live again. */
	assert_int_equal(read_policy_choose(c, 3), 1);
	c[1].failed = true;
	assert_int_equal(read_policy_choose(c, 3), READ_NOBODY);
	assert_int_equal(read_policy_choose(c, 0), READ_NOBODY);
}

static void of_equals_the_one_that_should_be_soonest_is_taken(void **state)
{
	struct read_choice c[3] = {{.latency_ns = 5 * NS_PER_MS}, {.latency_ns = 2 * NS_PER_MS}, {.latency_ns = 2 * NS_PER_MS}};

	assert_int_equal(read_policy_choose(c, 3), 1);
	c[1].n_reads = 1;
	assert_int_equal(read_policy_choose(c, 3), 2);
	c[2].n_reads = 4;
	assert_int_equal(read_policy_choose(c, 3), 1);
	/* As equal as they can be: the NameNode's order, which has chance in it. */
	c[0] = c[1] = c[2] = (struct read_choice){0};
	assert_int_equal(read_policy_choose(c, 3), 0);
}

static void a_full_node_is_waited_for_rather_than_a_dead_one_tried(void **state)
{
	struct read_choice c[2] = {{.full = true}, {.dead = true}};

	assert_int_equal(read_policy_choose(c, 2), READ_LATER);
	c[0].failed = true;
	assert_int_equal(read_policy_choose(c, 2), 1);
	c[1].full = true;
	assert_int_equal(read_policy_choose(c, 2), READ_LATER);
}

static void a_node_far_away_gets_more_at_once_within_bounds(void **state)
{
	assert_int_equal(read_policy_at_once(0), 8);
	assert_int_equal(read_policy_at_once(100 * NS_PER_US), 8);
	assert_int_equal(read_policy_at_once(5 * NS_PER_MS), 18);
	assert_int_equal(read_policy_at_once(100 * NS_PER_MS), 32);
	assert_int_equal(read_policy_at_once(UINT64_MAX), 32);
}

static void the_mode_says_who_may_read_or_leaves_it_open(void **state)
{
	assert_true(read_policy_open(true, 0600, false) && read_policy_open(true, 0400, true));
	assert_false(read_policy_open(true, 0244, false));
	assert_true(read_policy_open(false, 0644, false));
	/* In a class that may not, or by an entry of the list. */
	assert_false(read_policy_open(false, 0640, false) || read_policy_open(false, 0604, false));
	assert_false(read_policy_open(false, 0244, false) || read_policy_open(false, 0644, true));
}

static void a_hedge_follows_what_was_seen_within_bounds_unless_the_site_says(void **state)
{
	assert_int_equal(read_policy_hedge_ns(0, 0), 200 * NS_PER_MS);
	assert_int_equal(read_policy_hedge_ns(50 * NS_PER_MS, 0), 1000 * NS_PER_MS);
	assert_int_equal(read_policy_hedge_ns(10 * NS_PER_S, 0), 3 * NS_PER_S);
	assert_int_equal(read_policy_hedge_ns(50 * NS_PER_MS, 70), 70 * NS_PER_MS);
}

static void locations_are_asked_for_anew_in_windows_that_grow_and_end(void **state)
{
	static const struct {
		unsigned n;
		double chance;
		uint64_t ms;
	} rows[] = {{0, 0, 0}, {0, 0.5, 1500}, {1, 0, 3000}, {1, 0.5, 6000}, {2, 0.5, 10500}};
	uint64_t ns;

	for (unsigned i = 0; i < N_ELEMS(rows); i++) {
		assert_true(read_policy_refetch(rows[i].n, 3, 3000, rows[i].chance, &ns));
		assert_int_equal(ns, rows[i].ms * NS_PER_MS);
	}
	assert_false(read_policy_refetch(3, 3, 3000, 0, &ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_near_goes_before_the_far_and_the_living_before_the_dead),
		cmocka_unit_test(of_equals_the_one_that_should_be_soonest_is_taken),
		cmocka_unit_test(a_full_node_is_waited_for_rather_than_a_dead_one_tried),
		cmocka_unit_test(a_node_far_away_gets_more_at_once_within_bounds),
		cmocka_unit_test(the_mode_says_who_may_read_or_leaves_it_open),
		cmocka_unit_test(a_hedge_follows_what_was_seen_within_bounds_unless_the_site_says),
		cmocka_unit_test(locations_are_asked_for_anew_in_windows_that_grow_and_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
