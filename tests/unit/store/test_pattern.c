/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names: globs and braces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "store/pattern.h"

static bool match(const char *pattern, const char *name)
{
	return pattern_match(str_of(pattern), str_of(name));
}

static void globs_match_bytes(void **state)
{
	assert_true(match("*", "anything"));
	assert_true(match("*.tar", "a.tar"));
	assert_false(match("*.tar", "a.tar.gz"));
	assert_true(match("a?c", "abc"));
	assert_false(match("a?c", "ac"));
	assert_true(match("[a-c]x[!0-9]", "bxz"));
	assert_false(match("[a-c]x[!0-9]", "bx7"));
	assert_true(match("[]a]", "]"));
	assert_true(match("[a-]", "-"));
	assert_true(match("a[b", "a[b"));
	assert_false(match("a[b", "ab"));
	assert_true(match("*a*b*c", "xaybbzc"));
	assert_false(match("*a*b*c", "xaybbz"));
	assert_true(match("\xc3?", "\xc3\xa4"));
	assert_true(match("", ""));
	assert_false(match("", "a"));
}

static void stars_do_not_take_hidden_names(void **state)
{
	assert_false(match("*", ".git"));
	assert_false(match("?git", ".git"));
	assert_true(match(".g*", ".git"));
}

static void many_stars_stay_fast(void **state)
{
	char name[4097], pattern[2001];

	memset(name, 'a', 4096);
	name[4096] = '\0';
	for (unsigned i = 0; i < 1000; i++)
		memcpy(pattern + 2 * i, "*a", 2);
	memcpy(pattern + 1999, "b", 2);
	assert_false(match(pattern, name));
}

struct got {
	char text[4096];
	unsigned n;
};

static int add(void *ctx, const char *text)
{
	struct got *g = ctx;
	size_t n = strlen(g->text);

	if (n < sizeof(g->text) - 64)
		snprintf(g->text + n, sizeof(g->text) - n, "%s ", text);
	g->n++;
	return 0;
}

static void assert_expands(const char *pattern, const char *want)
{
	struct got g = {0};
	struct err e = {0};

	if (pattern_expand(pattern, add, &g, &e) < 0)
		fail_msg("%s: %s", pattern, e.words);
	assert_string_equal(g.text, want);
}

static void braces_are_ranges_and_lists(void **state)
{
	assert_expands("plain", "plain ");
	assert_expands("{08..11}.tar", "08.tar 09.tar 10.tar 11.tar ");
	assert_expands("{8..11}", "8 9 10 11 ");
	assert_expands("{098..101}", "098 099 100 101 ");
	assert_expands("{a,b}-{1..2}", "a-1 a-2 b-1 b-2 ");
	assert_expands("{a,b{1,2},}x", "ax b1x b2x x ");
	assert_expands("{0..0}", "0 ");
}

static void assert_refused(const char *pattern, const char *words)
{
	struct got g = {0};
	struct err e = {0};

	assert_int_equal(pattern_expand(pattern, add, &g, &e), E_SPEC);
	if (!strstr(e.words, words))
		fail_msg("%s: %s", pattern, e.words);
}

static void what_braces_cannot_be_is_refused(void **state)
{
	assert_refused("{2..1}", "backwards");
	assert_refused("{0..1000000}", "more than 1000000 names");
	assert_refused("{0..999}{0..999}{0..999}", "more than 1000000 names");
	assert_refused("{0..18446744073709551615}", "more than");
	assert_refused("{a", "without its }");
	assert_refused("{a}", "neither a range");
	assert_refused("{}", "neither a range");
	assert_refused("{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}", "16 braces");
}

static int refuse(void *ctx, const char *text)
{
	return ++*(int *)ctx == 2 ? -EINTR : 0;
}

static void a_failing_callback_ends_it(void **state)
{
	int n = 0;

	assert_int_equal(pattern_expand("{0..9}{0..9}", refuse, &n, NULL), -EINTR);
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs_match_bytes),
		cmocka_unit_test(stars_do_not_take_hidden_names),
		cmocka_unit_test(many_stars_stay_fast),
		cmocka_unit_test(braces_are_ranges_and_lists),
		cmocka_unit_test(what_braces_cannot_be_is_refused),
		cmocka_unit_test(a_failing_callback_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
