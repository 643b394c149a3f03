/* SPDX-License-Identifier: Apache-2.0 */
/* Names and numbers of names; keys of members and files; the window of header reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "plan/group.h"
#include "plan/names.h"
#include "plan/scan.h"

static void assert_key(const char *name, const char *key, const char *ext)
{
	struct str k = {0}, x = {0};

	assert_int_equal(key_of_member(str_of(name), &k, &x), key != NULL);
	if (!key)
		return;
	assert_true(str_eq(k, key));
	assert_true(str_eq(x, ext));
}

/* Each as webdataset 1.0's base_plus_ext() gives it. */
static void a_members_key_ends_at_the_first_dot_after_the_last_slash(void **state)
{
	assert_key("a.jpg", "a", "jpg");
	assert_key("dir.x/a.seg.png", "dir.x/a", "seg.png");
	assert_key("22.05.png", "22", "05.png");
	assert_key("./a.jpg", "./a", "jpg");
	assert_key("a..jpg", "a", ".jpg");
	assert_key("a.", "a", "");
	assert_key("none", NULL, NULL);
	assert_key(".hidden.jpg", NULL, NULL);
	assert_key("dir/.hidden", NULL, NULL);
	assert_key("dir.x/none", NULL, NULL);
}

static void assert_file_key(const char *name, const char *key, const char *ext)
{
	struct str k, x;

	key_of_file(str_of(name), &k, &x);
	assert_true(str_eq(k, key));
	assert_true(str_eq(x, ext));
}

static void a_files_key_ends_at_the_last_dot(void **state)
{
	assert_file_key("a.b.JPG", "a.b", ".JPG");
	assert_file_key("d.e/none", "d.e/none", "");
	assert_file_key("d/.hidden", "d/.hidden", "");
	assert_file_key("a.", "a", ".");
}

static void meta_members_are_known(void **state)
{
	assert_true(member_is_meta(str_of("__meta__")));
	assert_true(member_is_meta(str_of("__x__/a.jpg")));
	assert_false(member_is_meta(str_of("a/__x__")));
	assert_false(member_is_meta(str_of("___")));
	assert_false(member_is_meta(str_of("__x.jpg")));
}

static void names_keep_their_numbers(void **state)
{
	AUTO_NAMES struct names s;
	uint32_t number;
	char text[16];

	names_init(&s, 1000);
	assert_false(names_find(&s, str_of("1"), &number));
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "%u", 999 - i);
			assert_int_equal(names_add(&s, str_of(text), &number), 0);
			assert_int_equal(number, i);
		}
	}
	assert_int_equal(names_add(&s, str_of("one more"), &number), -E2BIG);
	assert_int_equal(names_sort(&s), 0);
	assert_true(str_eq(names_at(&s, 0), "0") && str_eq(names_at(&s, 2), "10") && str_eq(names_at(&s, 999), "999"));
	assert_true(names_find(&s, str_of("999"), &number));
	assert_int_equal(number, 999);
}

/* Headers that lie so far apart, and how much is read for the last of n. */
static uint32_t read_for_members(struct scan_pace *p, uint64_t *at, uint64_t apart, unsigned n, bool near)
{
	uint64_t read_end = p->window_at + p->window;
	uint32_t window = 0;

	for (unsigned i = 0; i < n; i++, *at += apart) {
		scan_pace_want(p, *at, 512);
		if (*at + 512 <= read_end)
			continue;
		window = scan_pace_read(p, *at, near);
		read_end = *at + window;
	}
	return window;
}

static void far_members_are_jumped_over_where_they_are_farther_apart_than_a_call_is_worth(void **state)
{
	struct scan_pace p;
	uint64_t at = 0;

	scan_pace_init(&p);
	assert_int_equal(read_for_members(&p, &at, 2048, 10000, false), SCAN_WINDOW_MAX);
	assert_int_equal(read_for_members(&p, &at, 60000, 100, false), SCAN_WINDOW_MAX);
	assert_int_equal(read_for_members(&p, &at, 100000, 100, false), SCAN_WINDOW_MIN);
	assert_int_equal(read_for_members(&p, &at, 1024, 3, false), 2 * SCAN_WINDOW_MIN);
}

static void of_near_members_as_much_is_read_as_a_stretch_had_lately(void **state)
{
	struct scan_pace p;
	uint64_t at = 0;

	scan_pace_init(&p);
	assert_int_equal(read_for_members(&p, &at, 2048, 1000, true), SCAN_NEAR_MAX);
	/* Pictures alone: their headers, once what came before is forgotten. */
	assert_int_equal(read_for_members(&p, &at, 100352, 100, true), 512);
	/* Each with a label behind it: label, and the header of the next. */
	for (unsigned i = 0; i < 100; i++) {
		read_for_members(&p, &at, 1024, 1, true);
		read_for_members(&p, &at, 100352, 1, true);
	}
	assert_int_equal(p.window, 1536);
	/* A stretch that was taken for a short one is read on. */
	assert_int_equal(read_for_members(&p, &at, 1024, 4, true), 3072);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_members_key_ends_at_the_first_dot_after_the_last_slash),
		cmocka_unit_test(a_files_key_ends_at_the_last_dot),
		cmocka_unit_test(meta_members_are_known),
		cmocka_unit_test(names_keep_their_numbers),
		cmocka_unit_test(far_members_are_jumped_over_where_they_are_farther_apart_than_a_call_is_worth),
		cmocka_unit_test(of_near_members_as_much_is_read_as_a_stretch_had_lately),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
