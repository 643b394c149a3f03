/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas out of the texts of kernels old and new. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/capacity.h"
#include "net/quota.h"

static void check_group(const char *text, const char *controller, const char *want)
{
	struct str path;

	if (quota_group(str_of(text), controller, &path) < 0)
		assert_null(want);
	else if (!want || !str_eq(path, want))
		fail_msg("%.*s, not %s", STR_ARG(path), want ? want : "none");
}

static void the_group_of_a_hierarchy_is_found(void **state)
{
	static const char old[] = "12:pids:/a\n4:cpu,cpuacct:/docker/0123\n2:cpuset:/x\n1:name=systemd:/y:z\n0::/new\n";

	check_group(old, "cpu", "/docker/0123");
	check_group(old, "cpuacct", "/docker/0123");
	check_group(old, "cpuset", "/x");
	check_group(old, "name=systemd", "/y:z");
	check_group(old, "", "/new");
	check_group(old, "memory", NULL);
	check_group("0::/", "", "/");
	check_group("0::/\n", "cpu", NULL);
	check_group("", "", NULL);
	check_group("0::relative\nnonsense\n::\n", "", NULL);
}

static void groups_end_at_the_top(void **state)
{
	static const char *const above[] = {"/a/bc", "/a", "/"};
	struct str path = str_of("/a/bc/d");

	for (unsigned i = 0; i < 3; i++) {
		assert_true(quota_group_up(&path));
		assert_true(str_eq(path, above[i]));
	}
	assert_false(quota_group_up(&path));
	path.n = 0;
	assert_false(quota_group_up(&path));
}

static void time_is_counted_in_processors(void **state)
{
	static const struct {
		const char *text;
		unsigned n;
	} cases[] = {
		{"max 100000\n", 0}, {"100000 100000\n", 1}, {"1000 100000", 1}, {"150000 100000", 2}, {"6400000 100000\n", 64},
		{"0 100000", 0}, {"100000 0", 0}, {"-1 100000", 0}, {"", 0}, {"100000", 0}, {"18446744073709551615 1", 0},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(quota_processors_of_max(str_of(cases[i].text)), cases[i].n);
	assert_int_equal(quota_processors(str_of("-1\n"), str_of("100000\n")), 0);
	assert_int_equal(quota_processors(str_of("250000\n"), str_of("100000\n")), 3);
}

static void there_is_a_processor(void **state)
{
	assert_true(processors_available() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_group_of_a_hierarchy_is_found),
		cmocka_unit_test(groups_end_at_the_top),
		cmocka_unit_test(time_is_counted_in_processors),
		cmocka_unit_test(there_is_a_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
