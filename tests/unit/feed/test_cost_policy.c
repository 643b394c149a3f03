/* SPDX-License-Identifier: Apache-2.0 */
/* What decoding costs, and what is begun first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "feed/cost_policy.h"

static uint32_t cost(enum picture_coding coding, uint32_t w, uint32_t h, uint64_t n_bytes)
{
	return decode_cost_us(&(struct picture_head){coding, w, h}, n_bytes);
}

static void pixels_and_coding_decide(void **state)
{
	uint32_t small = cost(PICTURE_JPEG, 500, 375, 104000), large = cost(PICTURE_JPEG, 4000, 3000, 1500000);

	assert_in_range(small, 900, 1300);
	assert_true(large > 15 * small);
	/* Of as many bytes. */
	assert_true(cost(PICTURE_JPEG, 4000, 3000, 104000) > 5 * small);
	assert_true(cost(PICTURE_JPEG_PROGRESSIVE, 4000, 3000, 1500000) > 3 * large);
	for (enum picture_coding c = PICTURE_JPEG; c < N_PICTURE_CODINGS; c++)
		assert_true(cost(c, 4000, 3000, 1500000) > 4 * cost(c, 500, 375, 104000));
}

static void whatever_a_head_says_costs_are_bounded(void **state)
{
	for (enum picture_coding c = PICTURE_UNKNOWN; c < N_PICTURE_CODINGS; c++) {
		assert_in_range(cost(c, UINT32_MAX, UINT32_MAX, UINT64_MAX), 1000, COST_MAX_US);
		assert_in_range(cost(c, 1, 1, 0), 1, 1000);
	}
}

static const struct pace pace = {.last_ns = NS_PER_S, .period_ns = 60 * NS_PER_MS};

static uint64_t due(unsigned lead, uint32_t cost_ms)
{
	return decode_due(&pace, NS_PER_S, lead, cost_ms * 1000);
}

static void the_least_slack_goes_first(void **state)
{
	/* 100 ms for five batches on: not before those of the next two, but before those of the fourth. */
	assert_true(due(5, 100) > due(1, 1) && due(5, 100) > due(3, 1));
	assert_true(due(5, 100) < due(4, 1));
	assert_true(due(2, 200) < due(1, 1));
	/* Of one batch: the longest. */
	assert_true(due(3, 50) < due(3, 49));
	/* What was found earlier with the same slack is as urgent as what is found later. */
	assert_int_equal(decode_due(&pace, NS_PER_S, 2, 1000), decode_due(&pace, NS_PER_S + 60 * NS_PER_MS, 1, 1000));
}

static void what_is_wanted_next_is_never_kept_waiting(void **state)
{
	assert_true(due(0, 0) < due(1, 60000));
	assert_true(decode_due(&pace, 0, 0, 0) < decode_due(&pace, 0, 1, COST_MAX_US));
	assert_true(due(0, 100) < due(0, 1));
	/* A light one is overtaken by heavier ones for as long as they take, no longer. */
	assert_true(decode_due(&pace, NS_PER_S, 0, 1000) < decode_due(&pace, NS_PER_S + 101 * NS_PER_MS, 0, 100000));
}

static void without_a_pace_batches_come_in_their_order(void **state)
{
	const struct pace none = {0};

	assert_true(decode_due(&none, NS_PER_S, 1, 1000) < decode_due(&none, NS_PER_S, 2, 500000));
	assert_true(decode_due(&none, NS_PER_S, 2, 500000) < decode_due(&none, NS_PER_S, 2, 1000));
}

static void the_pace_follows_and_forgives_a_pause(void **state)
{
	struct pace p = {0};
	uint64_t now = NS_PER_S;

	pace_note(&p, now);
	assert_int_equal(p.period_ns, 0);
	pace_note(&p, now += 60 * NS_PER_MS);
	assert_int_equal(p.period_ns, 60 * NS_PER_MS);
	pace_note(&p, now += 100 * NS_PER_S);
	assert_true(p.period_ns < 90 * NS_PER_MS);
	for (unsigned i = 0; i < 100; i++)
		pace_note(&p, now += 200 * NS_PER_MS);
	assert_in_range(p.period_ns, 195 * NS_PER_MS, 200 * NS_PER_MS);
	/* Taken as fast as they come: never 0, which would be unknown. */
	for (unsigned i = 0; i < 1000; i++)
		pace_note(&p, now);
	assert_in_range(p.period_ns, 1, 100);
}

static void a_quarter_more_or_less_is_another_pace(void **state)
{
	assert_true(pace_differs(60, 0) && pace_differs(0, 60) && pace_differs(100, 79) && pace_differs(79, 100));
	assert_false(pace_differs(0, 0) || pace_differs(100, 100) || pace_differs(100, 80) || pace_differs(80, 100));
}

static void a_second_is_made_ahead(void **state)
{
	const struct pace unknown = {0}, slow = {.period_ns = NS_PER_S}, quick = {.period_ns = 20 * NS_PER_MS},
		none = {.period_ns = 1};

	assert_int_equal(pace_ahead(&unknown), 16);
	assert_int_equal(pace_ahead(&slow), 16);
	assert_int_equal(pace_ahead(&quick), 50);
	assert_in_range(pace_ahead(&none), 16, 1024);
}

static void memory_is_by_pixels_and_coding(void **state)
{
	const struct picture_head plain = {PICTURE_JPEG, 13000, 13000}, progressive = {PICTURE_JPEG_PROGRESSIVE, 13000, 13000},
		unknown = {PICTURE_UNKNOWN, 0, 0}, absurd = {PICTURE_PNG, UINT32_MAX, UINT32_MAX};

	assert_int_equal(decode_need_bytes(&plain, 178956970), 3ull * 13000 * 13000);
	assert_int_equal(decode_need_bytes(&progressive, 178956970), 12ull * 13000 * 13000);
	assert_int_equal(decode_need_bytes(&unknown, 1000), 12000);
	/* What is above the limit is refused before memory is taken for it. */
	assert_int_equal(decode_need_bytes(&absurd, 1000), 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pixels_and_coding_decide),
		cmocka_unit_test(whatever_a_head_says_costs_are_bounded),
		cmocka_unit_test(the_least_slack_goes_first),
		cmocka_unit_test(what_is_wanted_next_is_never_kept_waiting),
		cmocka_unit_test(without_a_pace_batches_come_in_their_order),
		cmocka_unit_test(a_quarter_more_or_less_is_another_pace),
		cmocka_unit_test(a_second_is_made_ahead),
		cmocka_unit_test(memory_is_by_pixels_and_coding),
		cmocka_unit_test(the_pace_follows_and_forgives_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
