/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a directory does not have, asked for in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/scope.h"
#include "store/absent.h"

static struct store *ram;

static int open_ram(void **state)
{
	AUTO_FREE char *path = NULL;

	return store_open("ram:absent", &ram, &path, NULL);
}

static int close_ram(void **state)
{
	store_unref(ram);
	return 0;
}

/* With names 0, step, 2 * step .. below n. */
static void make(const char *dir, unsigned n, unsigned step)
{
	char path[64];

	for (unsigned i = 0; i < n; i += step) {
		snprintf(path, sizeof(path), "%s/f%05u", dir, i);
		assert_int_equal(store_write_all(ram, path, "x", 1, NULL), 0);
	}
}

static bool asks(struct absent *a, unsigned i)
{
	char name[16];

	snprintf(name, sizeof(name), "f%05u", i);
	return absent_is(a, name);
}

static void test_names_between_others_are_absent(void **state)
{
	struct absent a;

	make("two", 5000, 2);
	absent_init(&a, ram, "two");
	for (unsigned i = 0; i < 5002; i++)
		assert_int_equal(asks(&a, i), i % 2 == 1 || i >= 5000);
	absent_release(&a);
}

static void test_a_directory_that_is_not_there_has_nothing(void **state)
{
	struct absent a;

	absent_init(&a, ram, "none");
	assert_true(asks(&a, 1));
	assert_true(asks(&a, 2));
	absent_release(&a);
}

static void test_a_file_in_place_of_the_directory_says_nothing(void **state)
{
	struct absent a;

	assert_int_equal(store_write_all(ram, "file", "x", 1, NULL), 0);
	absent_init(&a, ram, "file");
	assert_false(asks(&a, 1));
	absent_release(&a);
}

static void test_few_names_do_not_page_through_many(void **state)
{
	struct absent a;

	make("many", 9000, 1);
	absent_init(&a, ram, "many");
	assert_false(asks(&a, 8500));
	/* It is absent, but to say so would have taken the whole listing. */
	assert_false(asks(&a, 9500));
	assert_in_range(a.n_pages, 1, 3);
	absent_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_between_others_are_absent),
		cmocka_unit_test(test_a_directory_that_is_not_there_has_nothing),
		cmocka_unit_test(test_a_file_in_place_of_the_directory_says_nothing),
		cmocka_unit_test(test_few_names_do_not_page_through_many),
	};

	return cmocka_run_group_tests(tests, open_ram, close_ram);
}
