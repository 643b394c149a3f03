/* SPDX-License-Identifier: Apache-2.0 */
/* Names of owners that many entries share: kept once, as long as the engine, and not without bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "store/hdfs/names/names_int.h"

static const char *nth(struct interned *in, unsigned i)
{
	char name[16];

	snprintf(name, sizeof(name), "u%u", i);
	return intern(in, str_of(name));
}

static void a_name_is_kept_once(void **state)
{
	struct interned in = {0};
	const char *first = nth(&in, 1), *second = nth(&in, 2);

	assert_string_equal(first, "u1");
	assert_string_equal(second, "u2");
	assert_ptr_equal(nth(&in, 1), first);
	assert_ptr_equal(nth(&in, 2), second);
	assert_null(intern(&in, (struct str){"a\0b", 3}));
	interned_release(&in);
}

/* When no more are taken, those that are there are found all the same. */
static void those_that_are_there_are_found_when_it_is_full(void **state)
{
	struct interned in = {0};
	const char *first = nth(&in, 0);
	unsigned n = 1;

	while (nth(&in, n))
		n++;
	assert_in_range(n, 1u << 16, 1u << 17);
	assert_ptr_equal(nth(&in, 0), first);
	assert_null(nth(&in, n));
	assert_string_equal(nth(&in, n - 1), nth(&in, n - 1));
	interned_release(&in);
}

static void any_allocation_may_fail(void **state)
{
	bool failed = true;

	for (uint64_t at = 1; failed; at++) {
		struct interned in = {0};
		unsigned n_missing = 0;

		mem_fail_nth(at);
		for (unsigned i = 0; i < 100; i++)
			n_missing += nth(&in, i) == NULL;
		failed = mem_failed();
		mem_fail_nth(0);
		assert_int_equal(n_missing, failed);
		for (unsigned i = 0; i < 100; i++)
			assert_non_null(nth(&in, i));
		interned_release(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_kept_once),
		cmocka_unit_test(those_that_are_there_are_found_when_it_is_full),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
