/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine does next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "feed/engine_policy.h"

static const struct engine_limits limits = {.slot_bytes = 1000, .max_bytes = 2000, .read_bytes = 100, .max_ahead = 4,
	.n_items = 8};

static struct policy_action next(struct policy_state s, const struct policy_stream *streams, unsigned n)
{
	s.limits = limits;
	s.streams = streams;
	s.n_streams = n;
	return policy_next(&s);
}

static void nothing_to_do_is_wait(void **state)
{
	const struct policy_stream ended = {.open = false};

	assert_int_equal(next((struct policy_state){0}, NULL, 0).verb, POLICY_WAIT);
	assert_int_equal(next((struct policy_state){0}, &ended, 1).verb, POLICY_WAIT);
}

static void samples_come_before_further_batches(void **state)
{
	const struct policy_stream s = {.open = true, .n_ahead = 1, .next_bytes = 10, .has_item = true, .item_bytes = 5};
	const struct policy_stream full = {.open = true, .n_ahead = 1, .next_bytes = 10};

	assert_int_equal(next((struct policy_state){.slot_bytes = 10}, &s, 1).verb, POLICY_START);
	assert_int_equal(next((struct policy_state){.slot_bytes = 10}, &full, 1).verb, POLICY_OPEN);
}

static void the_stream_with_the_least_ahead_goes_first(void **state)
{
	const struct policy_stream s[] = {
		{.open = true, .n_ahead = 3, .has_item = true, .item_lead = 2, .item_bytes = 1},
		{.open = true, .n_ahead = 1, .next_bytes = 1},
		{.open = true, .n_ahead = 3, .has_item = true, .item_lead = 1, .item_bytes = 1},
	};
	struct policy_action a = next((struct policy_state){0}, s, 3);

	/* A tie: the one that comes first from `first` on. */
	assert_int_equal(a.stream, 1);
	assert_int_equal(a.verb, POLICY_OPEN);
	a = next((struct policy_state){.first = 2}, s, 3);
	assert_int_equal(a.stream, 2);
	assert_int_equal(a.verb, POLICY_START);
}

static void samples_of_later_batches_wait_while_memory_is_over_its_limit(void **state)
{
	struct policy_stream s = {.has_item = true, .item_lead = 1, .item_bytes = 5, .n_ahead = 2};
	const struct policy_state over = {.slot_bytes = 2001, .n_items = 1}, at = {.slot_bytes = 2000, .n_items = 1};

	assert_int_equal(next(over, &s, 1).verb, POLICY_WAIT);
	assert_int_equal(next(at, &s, 1).verb, POLICY_START);
	s.item_lead = 0;
	assert_int_equal(next(over, &s, 1).verb, POLICY_START);
}

static void encoded_bytes_are_bounded_but_never_the_last(void **state)
{
	const struct policy_stream s = {.has_item = true, .item_bytes = 60}, huge = {.has_item = true, .item_bytes = 1 << 20};

	assert_int_equal(next((struct policy_state){.read_bytes = 40, .n_items = 1}, &s, 1).verb, POLICY_START);
	assert_int_equal(next((struct policy_state){.read_bytes = 41, .n_items = 1}, &s, 1).verb, POLICY_WAIT);
	assert_int_equal(next((struct policy_state){.n_items = 1}, &huge, 1).verb, POLICY_WAIT);
	assert_int_equal(next((struct policy_state){.n_items = 0}, &huge, 1).verb, POLICY_START);
	assert_int_equal(next((struct policy_state){.n_items = 8}, &s, 1).verb, POLICY_WAIT);
}

static void a_large_sample_is_not_starved_by_small_ones_of_others(void **state)
{
	struct policy_stream s[] = {
		{.has_item = true, .item_lead = 1, .item_bytes = 50, .n_ahead = 2},
		{.has_item = true, .item_lead = 1, .item_bytes = 5, .n_ahead = 2},
	};
	const struct policy_state used = {.read_bytes = 60, .n_items = 6};
	struct policy_action a;

	assert_int_equal(next(used, s, 2).verb, POLICY_WAIT);
	assert_int_equal(next((struct policy_state){.read_bytes = 50, .n_items = 5}, s, 1).verb, POLICY_START);
	/* What is wanted sooner goes first all the same, and batches are opened. */
	s[1].item_lead = 0;
	a = next(used, s, 2);
	assert_int_equal(a.verb, POLICY_START);
	assert_int_equal(a.stream, 1);
	s[1] = (struct policy_stream){.open = true, .n_ahead = 1, .next_bytes = 1};
	assert_int_equal(next(used, s, 2).verb, POLICY_OPEN);
	/* Nor by those that are larger than all that there may be: those wait until nothing else is under way. */
	s[0].item_bytes = 1000;
	s[1] = (struct policy_stream){.has_item = true, .item_lead = 1, .item_bytes = 5, .n_ahead = 2};
	assert_int_equal(next((struct policy_state){.read_bytes = 5, .n_items = 1}, s, 2).verb, POLICY_WAIT);
	a = next((struct policy_state){0}, s, 2);
	assert_int_equal(a.verb, POLICY_START);
	assert_int_equal(a.stream, 0);
}

static void nothing_overtakes_a_sample_that_waits_for_room(void **state)
{
	const struct policy_stream s = {.has_item = true, .item_bytes = 1};

	assert_int_equal(next((struct policy_state){.stalled = true, .n_items = 1}, &s, 1).verb, POLICY_WAIT);
}

static void what_was_full_is_filled_up_in_one_go(void **state)
{
	const struct policy_stream later = {.has_item = true, .item_lead = 1, .item_bytes = 1, .n_ahead = 2},
		next_one = {.has_item = true, .item_bytes = 1};
	struct policy_state s = {.limits = {.n_items = 80}};
	bool full = false;

	for (s.n_items = 0; s.n_items < 80; s.n_items++)
		assert_false(policy_is_full(&s, full));
	assert_true(full = policy_is_full(&s, full));
	for (; s.n_items > 70; s.n_items--)
		assert_true(full = policy_is_full(&s, full));
	assert_false(policy_is_full(&s, full));
	assert_int_equal(next((struct policy_state){.n_items = 7, .full = true}, &later, 1).verb, POLICY_WAIT);
	assert_int_equal(next((struct policy_state){.n_items = 7, .full = true}, &next_one, 1).verb, POLICY_START);
	/* A limit too small for an eighth. */
	s = (struct policy_state){.limits = {.n_items = 1}, .n_items = 1};
	assert_true(policy_is_full(&s, false));
	s.n_items = 0;
	assert_false(policy_is_full(&s, true));
}

static void a_stream_has_no_more_ahead_than_its_pace_asks_for(void **state)
{
	const struct policy_stream s = {.open = true, .n_ahead = 2, .max_ahead = 2, .next_bytes = 1};
	const struct policy_stream more = {.open = true, .n_ahead = 2, .max_ahead = 3, .next_bytes = 1};
	const struct policy_stream most = {.open = true, .n_ahead = 4, .max_ahead = 9, .next_bytes = 1};

	assert_int_equal(next((struct policy_state){0}, &s, 1).verb, POLICY_WAIT);
	assert_int_equal(next((struct policy_state){0}, &more, 1).verb, POLICY_OPEN);
	assert_int_equal(next((struct policy_state){0}, &most, 1).verb, POLICY_WAIT);
}

static void prefetch_ends_at_the_slots_limit(void **state)
{
	const struct policy_stream s = {.open = true, .n_ahead = 1, .next_bytes = 400};
	const struct policy_stream deep = {.open = true, .n_ahead = 4, .next_bytes = 1};

	assert_int_equal(next((struct policy_state){.slot_bytes = 600}, &s, 1).verb, POLICY_OPEN);
	assert_int_equal(next((struct policy_state){.slot_bytes = 601}, &s, 1).verb, POLICY_WAIT);
	assert_int_equal(next((struct policy_state){.slot_bytes = 4}, &deep, 1).verb, POLICY_WAIT);
}

static void a_stream_with_nothing_ahead_gets_a_batch_until_the_hard_limit(void **state)
{
	const struct policy_stream s = {.open = true, .next_bytes = 400, .wanted = true, .n_held = 1};
	const struct policy_stream unasked = {.open = true, .next_bytes = 400, .n_held = 1};

	assert_int_equal(next((struct policy_state){.slot_bytes = 1600}, &s, 1).verb, POLICY_OPEN);
	assert_int_equal(next((struct policy_state){.slot_bytes = 1601}, &s, 1).verb, POLICY_REFUSE);
	assert_int_equal(next((struct policy_state){.slot_bytes = 1601}, &unasked, 1).verb, POLICY_WAIT);
}

static void a_stream_that_has_nothing_gets_a_batch_whatever_others_hold(void **state)
{
	const struct policy_stream s = {.open = true, .next_bytes = 1 << 20, .wanted = true};

	assert_int_equal(next((struct policy_state){.slot_bytes = 0}, &s, 1).verb, POLICY_OPEN);
	assert_int_equal(next((struct policy_state){.slot_bytes = 5000}, &s, 1).verb, POLICY_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_do_is_wait),
		cmocka_unit_test(samples_come_before_further_batches),
		cmocka_unit_test(the_stream_with_the_least_ahead_goes_first),
		cmocka_unit_test(samples_of_later_batches_wait_while_memory_is_over_its_limit),
		cmocka_unit_test(encoded_bytes_are_bounded_but_never_the_last),
		cmocka_unit_test(a_large_sample_is_not_starved_by_small_ones_of_others),
		cmocka_unit_test(nothing_overtakes_a_sample_that_waits_for_room),
		cmocka_unit_test(what_was_full_is_filled_up_in_one_go),
		cmocka_unit_test(a_stream_has_no_more_ahead_than_its_pace_asks_for),
		cmocka_unit_test(prefetch_ends_at_the_slots_limit),
		cmocka_unit_test(a_stream_with_nothing_ahead_gets_a_batch_until_the_hard_limit),
		cmocka_unit_test(a_stream_that_has_nothing_gets_a_batch_whatever_others_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
