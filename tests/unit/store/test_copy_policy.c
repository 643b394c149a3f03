/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy does with what is there, what it tries again, and how a file comes apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/copy.h"
#include "store/copy_policy.h"

static void nothing_there_is_copied(void **state)
{
	const struct store_stat from = {.kind = STORE_FILE, .file = {.length = 7}};

	assert_int_equal(copy_decide(false, &from, NULL), COPY_NEW);
	assert_int_equal(copy_decide(true, &from, NULL), COPY_NEW);
}

static void what_is_there_is_replaced_only_when_asked(void **state)
{
	const struct store_stat from = {.kind = STORE_FILE, .file = {.length = 7}};
	const struct store_stat shorter = {.kind = STORE_FILE, .file = {.length = 6}};
	const struct store_stat dir = {.kind = STORE_DIR}, other = {.kind = STORE_OTHER};

	assert_int_equal(copy_decide(false, &from, &from), COPY_COMPARE);
	assert_int_equal(copy_decide(true, &from, &from), COPY_COMPARE);
	assert_int_equal(copy_decide(false, &from, &shorter), COPY_REFUSE);
	assert_int_equal(copy_decide(true, &from, &shorter), COPY_REPLACE);
	assert_int_equal(copy_decide(true, &from, &dir), COPY_REFUSE);
	assert_int_equal(copy_decide(true, &from, &other), COPY_REFUSE);
	assert_int_equal(copy_decide_compared(false, true), COPY_SKIP);
	assert_int_equal(copy_decide_compared(true, true), COPY_SKIP);
	assert_int_equal(copy_decide_compared(false, false), COPY_REFUSE);
	assert_int_equal(copy_decide_compared(true, false), COPY_REPLACE);
}

static void what_may_pass_is_tried_again(void **state)
{
	assert_true(copy_again(-EIO, 1) && copy_again(-ETIMEDOUT, COPY_MAX_TRIES - 1) && copy_again(-ESTALE, 1));
	assert_false(copy_again(-EIO, COPY_MAX_TRIES));
	assert_false(copy_again(-ENOSPC, 1));
	assert_false(copy_again(-EACCES, 1));
	assert_false(copy_again(-ECANCELED, 1));
	assert_false(copy_again(-ENOTEMPTY, 1));
}

static void parts_cover_a_file(void **state)
{
	static const uint64_t lengths[] = {0, 1, 99, 199, 200, 201, 1000, 99999, 100000, 100001, 123456789, UINT64_MAX};

	for (unsigned i = 0; i < N_ELEMS(lengths); i++) {
		uint64_t bytes = 0;
		unsigned n = copy_parts(lengths[i], 100, &bytes);

		assert_true(n >= 1 && n <= COPY_MAX_PARTS);
		if (lengths[i] < 200) {
			assert_int_equal(n, 1);
			continue;
		}
		assert_true(bytes % 100 == 0 && (n - 1) < lengths[i] / bytes + 1);
		assert_true((lengths[i] - 1) / bytes + 1 == n);
	}
	assert_int_equal(copy_parts(1000, 0, &(uint64_t){0}), 1);
}

static void staging_directories_are_known(void **state)
{
	assert_true(copy_is_staging(".a.olddog-cp"));
	assert_false(copy_is_staging("a.olddog-cp"));
	assert_false(copy_is_staging(".olddog-cp"));
	assert_false(copy_is_staging(".a.olddog-cp2"));
	assert_false(copy_is_staging(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_there_is_copied),
		cmocka_unit_test(what_is_there_is_replaced_only_when_asked),
		cmocka_unit_test(what_may_pass_is_tried_again),
		cmocka_unit_test(parts_cover_a_file),
		cmocka_unit_test(staging_directories_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
