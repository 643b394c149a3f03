/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns in URLs against the names of a store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"
#include "store/glob.h"

static struct store *store;

static int make_store(void **state)
{
	static const char *const files[] = {"a/1.tar", "a/2.tar", "a/10.tar", "a/.hidden.tar", "b/1.tar", "b/c/1.txt", "lit[1]",
		"lit1", "x y"};
	AUTO_FREE char *path = NULL;
	int r = store_open("ram:globs", &store, &path, NULL);

	for (unsigned i = 0; i < N_ELEMS(files) && r == 0; i++)
		r = store_write_all(store, files[i], "0", 1, NULL);
	return r;
}

static int drop_store(void **state)
{
	store_unref(store);
	return 0;
}

static int add(void *ctx, const struct glob_hit *hit, struct err *e)
{
	struct store_stat stat;

	assert_int_equal(store_stat(hit->store, hit->path, &stat, NULL), 0);
	assert_int_equal(stat.kind, hit->stat.kind);
	return buf_printf(ctx, "%s ", hit->shown);
}

static void assert_hits(const char *url, const char *want)
{
	struct buf AUTO_BUF got;
	struct err e = {0};

	buf_init(&got, 1u << 20);
	if (glob_url(url, add, &got, &e) < 0)
		fail_msg("%s: %s", url, e.words);
	assert_string_equal((const char *)got.ptr, want);
}

static void patterns_find_names(void **state)
{
	assert_hits("ram:globs/a/*.tar", "ram:globs/a/1.tar ram:globs/a/10.tar ram:globs/a/2.tar ");
	assert_hits("ram:globs/?/1.*", "ram:globs/a/1.tar ram:globs/b/1.tar ");
	assert_hits("ram:globs/[ab]/*/1.txt", "ram:globs/b/c/1.txt ");
	assert_hits("ram:globs/{b,a}/{1..2}.tar", "ram:globs/b/1.tar ram:globs/a/1.tar ram:globs/a/2.tar ");
	assert_hits("ram:globs/*", "ram:globs/a ram:globs/b ram:globs/lit1 ram:globs/lit[1] ram:globs/x y ");
	assert_hits("ram:globs/a/.h*", "ram:globs/a/.hidden.tar ");
	assert_hits("ram:globs//b//*.tar", "ram:globs//b//1.tar ");
}

static void what_is_there_literally_is_itself(void **state)
{
	assert_hits("ram:globs/lit[1]", "ram:globs/lit[1] ");
	assert_hits("ram:globs/lit[12]", "ram:globs/lit1 ");
	assert_hits("ram:globs/x%20y", "ram:globs/x%20y ");
	assert_hits("ram:globs", "ram:globs ");
	assert_hits("ram:globs/a/%2A0.tar", "a/10.tar ");
}

static void refused(const char *url, int code, const char *words)
{
	struct buf AUTO_BUF got;
	struct err e = {0};

	buf_init(&got, 1u << 20);
	assert_int_equal(glob_url(url, add, &got, &e), code);
	if (!strstr(e.words, words))
		fail_msg("\"%s\" has no \"%s\"", e.words, words);
}

static void what_matches_nothing_is_told(void **state)
{
	refused("ram:globs/none", -ENOENT, "cannot look at");
	refused("ram:globs/*.none", -ENOENT, "nothing matches");
	refused("ram:globs/lit1/*", -ENOENT, "nothing matches");
	refused("ram:globs/{1..2}", -ENOENT, "nothing matches");
	refused("ram:globs/**/x", -EINVAL, "** is not known");
	refused("ram:globs/{a", E_SPEC, "without its }");
	refused("gopher:*", -EPROTONOSUPPORT, "ram-norename:");
}

static int stop(void *ctx, const struct glob_hit *hit, struct err *e)
{
	return ++*(int *)ctx == 2 ? -EINTR : 0;
}

static void a_failing_callback_ends_it(void **state)
{
	int n = 0;

	assert_int_equal(glob_url("ram:globs/*", stop, &n, NULL), -EINTR);
	assert_int_equal(n, 2);
}

static int add_name(void *ctx, const struct glob_hit *hit, struct err *e)
{
	return buf_printf(ctx, "%s ", hit->shown);
}

static void any_allocation_may_fail(void **state)
{
	bool failed = true;
	uint64_t nth;

	for (nth = 1; failed; nth++) {
		struct buf AUTO_BUF got;
		int r;

		buf_init(&got, 1u << 20);
		mem_fail_nth(nth);
		r = glob_url("ram:globs/{a,b}/*", add_name, &got, NULL);
		failed = mem_failed();
		mem_fail_nth(0);
		assert_true(r == -ENOMEM || !failed);
		assert_true(r == 0 || failed);
	}
	assert_true(nth > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_find_names),
		cmocka_unit_test(what_is_there_literally_is_itself),
		cmocka_unit_test(what_matches_nothing_is_told),
		cmocka_unit_test(a_failing_callback_ends_it),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, make_store, drop_store);
}
