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

static void the_window_follows_the_members_distance(void **state)
{
	uint32_t w = 65536;

	/* Small members side by side, and pictures of 60 KB: all is read. */
	for (unsigned i = 0; i < 10; i++)
		w = scan_window(w, w, 0, false);
	assert_int_equal(w, SCAN_WINDOW_MAX);
	assert_int_equal(scan_window(w, 600000, 10, false), SCAN_WINDOW_MAX);
	/* Large ones: headers only. */
	for (unsigned i = 0; i < 20; i++)
		w = scan_window(w, 1000000, 10, false);
	assert_int_equal(w, SCAN_WINDOW_MIN);
	assert_int_equal(scan_window(w, 4096, 0, false), 2 * SCAN_WINDOW_MIN);
	/* Where a call is cheap, pictures are jumped over. */
	assert_int_equal(scan_window(SCAN_WINDOW_MIN, 600000, 10, true), SCAN_WINDOW_MIN);
	assert_int_equal(scan_window(SCAN_NEAR_MAX, 2 * SCAN_NEAR_MAX, 0, true), SCAN_NEAR_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_members_key_ends_at_the_first_dot_after_the_last_slash),
		cmocka_unit_test(a_files_key_ends_at_the_last_dot),
		cmocka_unit_test(meta_members_are_known),
		cmocka_unit_test(names_keep_their_numbers),
		cmocka_unit_test(the_window_follows_the_members_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
