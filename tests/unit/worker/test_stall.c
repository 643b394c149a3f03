/* SPDX-License-Identifier: Apache-2.0 */
/* The rule by which a worker is taken for stopped or idle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/stall_policy.h"

#define MANY 10000u

static struct stall stall;
static uint64_t now_ns, cpu_ns;

static void begin(void)
{
	stall = (struct stall){0};
	now_ns = NS_PER_S;
	cpu_ns = 1;
}

static enum stall_verdict look(enum stall_state state)
{
	const struct stall_look l = {now_ns, cpu_ns, state};

	now_ns += STALL_LOOK_NS;
	return stall_look(&stall, &l);
}

/* How many looks it takes, the first one not counted. */
static unsigned n_looks_until(enum stall_verdict verdict, enum stall_state state)
{
	begin();
	for (unsigned n = 0; n < MANY; n++) {
		enum stall_verdict v = look(state);

		if (v == verdict)
			return n;
		assert_int_equal(v, STALL_NONE);
	}
	return MANY;
}

static void a_stopped_one_is_known_in_a_second_and_an_idle_one_in_ten(void **state)
{
	assert_int_equal(n_looks_until(STALL_IS_STOPPED, STALL_STOPPED), STALL_STOPPED_LOOKS);
	assert_int_equal(n_looks_until(STALL_IS_IDLE, STALL_SLEEPS), STALL_IDLE_LOOKS);
}

static void one_that_waits_for_a_processor_is_left_alone(void **state)
{
	assert_int_equal(n_looks_until(STALL_IS_IDLE, STALL_RUNS), MANY);
	assert_int_equal(n_looks_until(STALL_IS_IDLE, STALL_UNKNOWN), MANY);
}

static void one_whose_processor_time_cannot_be_told_is_not_taken_for_idle(void **state)
{
	begin();
	cpu_ns = 0;
	for (unsigned n = 0; n < MANY; n++)
		assert_int_equal(look(STALL_SLEEPS), STALL_NONE);
}

/* As a tracer sees it at every call, and as one that reads slow pages. */
static void one_that_gets_on_is_left_alone(void **state)
{
	begin();
	for (unsigned n = 0; n < MANY; n++) {
		cpu_ns += n % (STALL_STOPPED_LOOKS - 1) == 0;
		assert_int_equal(look(n % 2 ? STALL_STOPPED : STALL_SLEEPS), STALL_NONE);
	}
}

static void one_that_was_stopped_only_for_a_moment_is_left_alone(void **state)
{
	begin();
	for (unsigned n = 0; n < MANY; n++)
		assert_int_equal(look(n % STALL_STOPPED_LOOKS ? STALL_STOPPED : STALL_RUNS), STALL_NONE);
}

static void time_in_which_nobody_looked_does_not_count(void **state)
{
	static const uint64_t gaps_ns[] = {2 * NS_PER_S, 3600 * NS_PER_S, 86400ull * 365 * NS_PER_S};

	for (unsigned i = 0; i < sizeof(gaps_ns) / sizeof(gaps_ns[0]); i++) {
		begin();
		for (unsigned n = 0; n < MANY; n++) {
			/* Owner and worker were stopped together, as often as one likes. */
			if (n % STALL_STOPPED_LOOKS == 0)
				now_ns += gaps_ns[i];
			assert_int_equal(look(STALL_STOPPED), STALL_NONE);
		}
	}
}

static void looks_that_come_too_soon_do_not_count(void **state)
{
	begin();
	for (unsigned n = 0; n < MANY; n++) {
		assert_int_equal(look(STALL_STOPPED), STALL_NONE);
		now_ns -= STALL_LOOK_NS - STALL_LOOK_NS / MANY;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_one_is_known_in_a_second_and_an_idle_one_in_ten),
		cmocka_unit_test(one_that_waits_for_a_processor_is_left_alone),
		cmocka_unit_test(one_whose_processor_time_cannot_be_told_is_not_taken_for_idle),
		cmocka_unit_test(one_that_gets_on_is_left_alone),
		cmocka_unit_test(one_that_was_stopped_only_for_a_moment_is_left_alone),
		cmocka_unit_test(looks_that_come_too_soon_do_not_count),
		cmocka_unit_test(time_in_which_nobody_looked_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
