/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of calls that were not answered, and what exceptions are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "store/hdfs/nn/nn_error.h"

static struct nn_limits limits(unsigned n_namenodes)
{
	return (struct nn_limits){
		.n_namenodes = n_namenodes,
		.max_failovers = 15,
		.max_repeats = 10,
		.connect_retries = 10,
		.base_ns = 500 * NS_PER_MS,
		.max_ns = 15 * NS_PER_S,
		.connect_timeout_ns = 20 * NS_PER_S,
	};
}

static struct nn_verdict decide(unsigned n_namenodes, enum nn_kind kind, enum nn_fault fault, struct nn_tries tries)
{
	struct nn_limits l = limits(n_namenodes);

	return nn_decide(&l, kind, fault, false, &tries, UINT32_MAX / 2);
}

static void the_other_namenode_is_asked_at_once(void **state)
{
	struct nn_verdict v = decide(2, NN_READ, NN_STANDBY, (struct nn_tries){0});

	assert_int_equal(v.action, NN_FAIL_OVER);
	assert_int_equal(v.delay_ns, 0);
	v = decide(2, NN_AT_MOST_ONCE, NN_REFUSED, (struct nn_tries){0});
	assert_int_equal(v.action, NN_FAIL_OVER);
	assert_int_equal(v.delay_ns, 0);
}

static void a_pause_follows_when_all_have_said_no(void **state)
{
	struct nn_verdict v = decide(2, NN_READ, NN_STANDBY, (struct nn_tries){.n_failovers = 1});

	assert_int_equal(v.action, NN_FAIL_OVER);
	assert_in_range(v.delay_ns, 250 * NS_PER_MS, 750 * NS_PER_MS);
	v = decide(3, NN_READ, NN_STANDBY, (struct nn_tries){.n_failovers = 1});
	assert_int_equal(v.delay_ns, 0);
}

/* Both without an active one: Java needs 162 s here. */
static void a_call_ends_within_the_limits(void **state)
{
	struct nn_limits l = limits(2);
	struct nn_tries tries = {0};
	uint64_t total_ns = 0;

	for (;;) {
		struct nn_verdict v = nn_decide(&l, NN_READ, NN_STANDBY, false, &tries, UINT32_MAX);

		if (v.action == NN_END)
			break;
		tries.n_failovers++;
		total_ns += v.delay_ns;
		assert_true(v.delay_ns <= l.max_ns);
	}
	assert_int_equal(tries.n_failovers, 15);
	assert_in_range(total_ns, 30 * NS_PER_S, 60 * NS_PER_S);
}

static void what_may_have_run_is_repeated_only_when_that_is_harmless(void **state)
{
	assert_int_equal(decide(2, NN_ONCE, NN_CUT, (struct nn_tries){0}).action, NN_END);
	assert_int_equal(decide(2, NN_ONCE, NN_SILENT, (struct nn_tries){0}).action, NN_END);
	assert_int_equal(decide(2, NN_ONCE, NN_CUT_UNSENT, (struct nn_tries){0}).action, NN_REPEAT);
	assert_int_equal(decide(2, NN_ONCE, NN_BUSY, (struct nn_tries){0}).action, NN_REPEAT);
	assert_int_equal(decide(2, NN_AT_MOST_ONCE, NN_CUT, (struct nn_tries){0}).action, NN_REPEAT);
	assert_int_equal(decide(2, NN_AT_MOST_ONCE, NN_SILENT, (struct nn_tries){0}).action, NN_FAIL_OVER);
	assert_int_equal(decide(1, NN_READ, NN_SILENT, (struct nn_tries){0}).action, NN_END);
}

static void a_namenode_that_cuts_again_and_again_is_left(void **state)
{
	struct nn_verdict v = decide(2, NN_READ, NN_CUT, (struct nn_tries){.n_repeats = 1, .n_cuts = 1});

	assert_int_equal(v.action, NN_REPEAT);
	assert_true(v.delay_ns > 0);
	v = decide(2, NN_READ, NN_CUT, (struct nn_tries){.n_repeats = 2, .n_cuts = 2});
	assert_int_equal(v.action, NN_FAIL_OVER);
	v = decide(1, NN_READ, NN_CUT, (struct nn_tries){.n_repeats = 10, .n_cuts = 10});
	assert_int_equal(v.action, NN_END);
}

static void one_that_is_busy_is_asked_later_and_not_left(void **state)
{
	struct nn_verdict v = decide(2, NN_IDEMPOTENT, NN_RETRIABLE, (struct nn_tries){.n_repeats = 3});

	assert_int_equal(v.action, NN_REPEAT);
	assert_in_range(v.delay_ns, 2 * NS_PER_S, 6 * NS_PER_S);
	v = decide(2, NN_IDEMPOTENT, NN_RETRIABLE, (struct nn_tries){.n_repeats = 10});
	assert_int_equal(v.action, NN_END);
	assert_int_equal(decide(1, NN_READ, NN_SAFE_MODE, (struct nn_tries){0}).action, NN_REPEAT);
}

static void a_single_namenode_is_waited_for(void **state)
{
	struct nn_verdict v = decide(1, NN_READ, NN_REFUSED, (struct nn_tries){.n_connects = 9});

	assert_int_equal(v.action, NN_REPEAT);
	assert_int_equal(v.delay_ns, NS_PER_S);
	assert_int_equal(decide(1, NN_READ, NN_REFUSED, (struct nn_tries){.n_connects = 10}).action, NN_END);
	assert_int_equal(decide(1, NN_READ, NN_SAFE_MODE, (struct nn_tries){.n_connects = 10}).action, NN_REPEAT);
	assert_int_equal(decide(1, NN_READ, NN_NO_NAME, (struct nn_tries){0}).action, NN_END);
	assert_int_equal(decide(1, NN_READ, NN_CONNECT_TIMEOUT, (struct nn_tries){.n_connects = 3}).action, NN_END);
}

static void an_observer_is_left_for_the_active_one_at_no_cost(void **state)
{
	struct nn_limits l = limits(3);
	struct nn_tries tries = {.n_failovers = 15, .n_repeats = 10};

	for (enum nn_fault fault = NN_STANDBY; fault <= NN_SILENT; fault++) {
		struct nn_verdict v = nn_decide(&l, NN_READ, fault, true, &tries, 7);

		assert_int_equal(v.action, NN_TO_ACTIVE);
		assert_int_equal(v.delay_ns, 0);
	}
	assert_int_equal(nn_decide(&l, NN_READ, NN_ANSWERED, true, &tries, 7).action, NN_END);
}

static void a_host_that_is_off_costs_little_while_there_are_others(void **state)
{
	struct nn_limits two = limits(2), one = limits(1);

	assert_int_equal(nn_connect_ns(&two, 0), 2 * NS_PER_S);
	assert_int_equal(nn_connect_ns(&two, 2), 8 * NS_PER_S);
	assert_int_equal(nn_connect_ns(&two, 1000), 20 * NS_PER_S);
	assert_int_equal(nn_connect_ns(&one, 0), 20 * NS_PER_S);
}

/* Exceptions. */

static struct nn_error error_of(const char *class, const char *words, enum rpc_status status)
{
	struct rpc_answer a = {.status = status, .exception = str_of(class), .words = str_of(words)};

	return nn_error_of(&a);
}

static void exceptions_are_codes(void **state)
{
	assert_int_equal(error_of("java.io.FileNotFoundException", "File does not exist: /x", RPC_ERROR).r, -ENOENT);
	assert_int_equal(error_of("java.io.FileNotFoundException", "Path is not a file: /x", RPC_ERROR).r, -EISDIR);
	assert_int_equal(error_of("org.apache.hadoop.security.AccessControlException", "x", RPC_ERROR).r, -EACCES);
	assert_int_equal(error_of("java.io.IOException", "rename destination directory is not empty: /x", RPC_ERROR).r, -ENOTEMPTY);
	assert_int_equal(error_of("java.io.IOException", "who knows", RPC_ERROR).r, -EIO);
	assert_int_equal(error_of("com.example.New", "", RPC_ERROR).r, -EIO);
	assert_int_equal(error_of("", "", RPC_ERROR).r, -EIO);
	/* What matters stands in the first line, not in the stack. */
	assert_int_equal(error_of("java.io.IOException", "x\n\tat is not an empty directory", RPC_ERROR).r, -EIO);
}

static void a_full_queue_is_told_apart_from_a_later(void **state)
{
	const char *class = "org.apache.hadoop.ipc.RetriableException";

	assert_int_equal(error_of(class, "", RPC_ERROR).fault, NN_RETRIABLE);
	assert_int_equal(error_of(class, "", RPC_FATAL).fault, NN_BUSY);
	assert_int_equal(error_of("org.apache.hadoop.ipc.StandbyException", "", RPC_ERROR).fault, NN_STANDBY);
	class = "org.apache.hadoop.hdfs.server.namenode.SafeModeException";
	assert_int_equal(error_of(class, "Safe mode will be turned off automatically once", RPC_ERROR).fault, NN_SAFE_MODE);
	assert_int_equal(error_of(class, "It was turned on manually. Use", RPC_ERROR).fault, NN_ANSWERED);
	assert_int_equal(error_of(class, "It was turned on manually. Use", RPC_ERROR).r, -EROFS);
}

static void words_are_the_first_line_made_printable(void **state)
{
	struct rpc_answer a = {.exception = str_of("com.example.X"), .words = str_of("no\x01 such\xff\n\tat a.b.c\n")};
	char line[16];

	assert_string_equal(nn_error_line(&a, line, sizeof(line)), "no? such?");
	a.words = str_of("a line that is much longer than the room");
	nn_error_line(&a, line, sizeof(line));
	assert_string_equal(line + strlen(line) - 3, "...");
	a.words = (struct str){"", 0};
	assert_string_equal(nn_error_line(&a, line, sizeof(line)), "com.example.X");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_other_namenode_is_asked_at_once),
		cmocka_unit_test(a_pause_follows_when_all_have_said_no),
		cmocka_unit_test(a_call_ends_within_the_limits),
		cmocka_unit_test(what_may_have_run_is_repeated_only_when_that_is_harmless),
		cmocka_unit_test(a_namenode_that_cuts_again_and_again_is_left),
		cmocka_unit_test(one_that_is_busy_is_asked_later_and_not_left),
		cmocka_unit_test(a_single_namenode_is_waited_for),
		cmocka_unit_test(an_observer_is_left_for_the_active_one_at_no_cost),
		cmocka_unit_test(a_host_that_is_off_costs_little_while_there_are_others),
		cmocka_unit_test(exceptions_are_codes),
		cmocka_unit_test(a_full_queue_is_told_apart_from_a_later),
		cmocka_unit_test(words_are_the_first_line_made_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
