/* SPDX-License-Identifier: Apache-2.0 */
/* URLs: what they name, and words for those that name nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/scope.h"
#include "store/fault.h"
#include "store/store.h"
#include "store/url.h"

static bool is_known(struct str name)
{
	return str_eq(name, "fault");
}

static void check(const char *text, const char *scheme, const char *rest, const char *filters)
{
	AUTO_URL struct url u = {NULL};

	assert_int_equal(url_parse(text, is_known, &u, NULL), 0);
	assert_string_equal(u.scheme, scheme);
	assert_string_equal(u.rest, rest);
	assert_string_equal(u.filters, filters);
}

static void urls_have_scheme_rest_and_filters(void **state)
{
	check("file:///data", "file", "///data", "");
	check("file:///data#fault=fail:1&other=2", "file", "///data", "fault=fail:1&other=2");
	check("ram:a/b%20c%23d", "ram", "a/b c#d", "");
	check("ram:caf%C3%a9%2F", "ram", "caf\xc3\xa9/", "");
	check("ram-norename:a#", "ram-norename", "a", "");
	check("/data/a:b", "", "/data/a:b", "");
	check("1:2", "", "1:2", "");
	check("File:x", "", "File:x", "");
	check("/data/100%#1", "", "/data/100%#1", "");
	check("/data#fault", "", "/data#fault", "");
	check("/data#fault=", "", "/data", "fault=");
	check("/data#1#fault=seed:1&x=y", "", "/data#1", "fault=seed:1&x=y");
}

static void lists_of_filters_come_apart(void **state)
{
	struct str list = str_of("fault=delay:5ms,fail:0.1&throttle=2M&bare"), name, value;

	assert_true(url_next_filter(&list, &name, &value));
	assert_true(str_eq(name, "fault") && str_eq(value, "delay:5ms,fail:0.1"));
	assert_true(url_next_filter(&list, &name, &value));
	assert_true(str_eq(name, "throttle") && str_eq(value, "2M"));
	assert_true(url_next_filter(&list, &name, &value));
	assert_true(str_eq(name, "bare") && value.n == 0);
	assert_false(url_next_filter(&list, &name, &value));
}

static void refused_with(const char *url, int code, const char *word)
{
	struct store *s = NULL;
	char *path = NULL;
	struct err e = {0};

	assert_int_equal(store_open(url, &s, &path, &e), code);
	assert_null(s);
	assert_null(path);
	assert_non_null(strstr(e.words, word));
}

static void what_names_nothing_is_refused_with_words(void **state)
{
	AUTO_FREE char *longest = mem_zalloc(20000);

	memset(longest, 'x', 19999);
	refused_with("", -EINVAL, "none");
	refused_with(longest, -EINVAL, "more");
	refused_with("gopher://x/y", -EPROTONOSUPPORT, "ram-norename:");
	refused_with("file:relative", -EINVAL, "file:///PATH");
	refused_with("file://host/path", -EINVAL, "file:///PATH");
	refused_with("file:///a/../b", -EINVAL, "..");
	refused_with("file:///a/%2e%2e/b", -EINVAL, "..");
	refused_with("ram:x/../y", -EINVAL, "..");
	refused_with("file:///a%00b", -EINVAL, "%25");
	refused_with("file:///a%2", -EINVAL, "%25");
	refused_with("file:///100%.jpg", -EINVAL, "%25");
	refused_with("file:///a#throtle=1", -EINVAL, "only fault");
	refused_with("/a#fault=&throtle=1", -EINVAL, "only fault");
	refused_with("ram:x#fault=delay:5", -EINVAL, "delay:5ms");
	refused_with("/no/such/place/../x", -ENOENT, "/no/such/place/..");
}

static void plans_of_faults_are_read_or_refused(void **state)
{
	static const char *const bad[] = {"delay", "delay:", "delay:-5ms", "delay:5ms-1ms", "delay:5m", "delay:1e9s",
		"slow:0.1", "slow:2:1ms", "fail:-1", "fail:nan", "fail:1.5", "seed:x", "seed:-1", "flip:0.1", ",fail:1",
		"delay:5ms-", "delay:1ms-2ms-3ms"};
	struct fault_conf c;

	assert_int_equal(fault_conf_parse(str_of(
		"delay:5ms-1.5s,slow:0.01:300us,fail:0.001,short:0.5,stale:1,seed:7"), &c, NULL), 0);
	assert_int_equal(c.delay_min_ns, 5000000);
	assert_int_equal(c.delay_max_ns, 1500000000);
	assert_int_equal(c.slow_ns, 300000);
	assert_true(c.slow_p == 0.01 && c.fail_p == 0.001 && c.short_p == 0.5 && c.stale_p == 1);
	assert_int_equal(c.seed, 7);
	assert_int_equal(fault_conf_parse(str_of("delay:20ns"), &c, NULL), 0);
	assert_true(c.delay_min_ns == 20 && c.delay_max_ns == 20 && c.seed == 0);
	for (unsigned i = 0; i < N_ELEMS(bad); i++) {
		struct err e = {0};

		assert_int_equal(fault_conf_parse(str_of(bad[i]), &c, &e), -EINVAL);
		assert_non_null(strstr(e.words, "fault: "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_have_scheme_rest_and_filters),
		cmocka_unit_test(lists_of_filters_come_apart),
		cmocka_unit_test(what_names_nothing_is_refused_with_words),
		cmocka_unit_test(plans_of_faults_are_read_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
