/* SPDX-License-Identifier: Apache-2.0 */
/* What a job keeps to resume. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/scope.h"
#include "feed/resume.h"

static void a_state_comes_back(void **state)
{
	const struct resume in = {.order_id = {1, 2}, .has_fields_id = true, .fields_id = {3}, .consumed = 1310720};
	AUTO_FREE char *text = resume_format(&in);
	struct resume out;

	assert_int_equal(resume_parse(text, strlen(text), &out, NULL), 0);
	assert_memory_equal(in.order_id, out.order_id, sizeof(in.order_id));
	assert_true(out.has_fields_id);
	assert_memory_equal(in.fields_id, out.fields_id, sizeof(in.fields_id));
	assert_int_equal(out.consumed, in.consumed);
}

static void fields_id_may_be_absent_and_other_keys_are_skipped(void **state)
{
	const struct resume in = {.order_id = {9}, .consumed = 3};
	AUTO_FREE char *text = resume_format(&in);
	AUTO_FREE char *more = mem_printf("{\"later\": [], %s", text + 1);
	struct resume out;

	assert_int_equal(resume_parse(more, strlen(more), &out, NULL), 0);
	assert_false(out.has_fields_id);
	assert_int_equal(out.consumed, 3);
}

static void what_is_no_state_is_refused_with_words(void **state)
{
	static const char *const wrong[] = {"", "[]", "{}", "{\"v\": 2}", "{\"v\": 1, \"consumed\": 1}",
		"{\"v\": 1, \"order_id\": \"zz\", \"consumed\": 1}",
		"{\"v\": 1, \"order_id\": \"00000000000000000000000000000000000000000000000000000000000000000\", \"consumed\": 1}",
		"{\"v\": 1, \"order_id\": \"0000000000000000000000000000000000000000000000000000000000000000\"}",
		"{\"v\": 1, \"order_id\": \"0000000000000000000000000000000000000000000000000000000000000000\", \"consumed\": -1}"};
	struct resume out;

	for (unsigned i = 0; i < N_ELEMS(wrong); i++) {
		struct err e = {0};

		assert_int_equal(resume_parse(wrong[i], strlen(wrong[i]), &out, &e), E_FORMAT);
		assert_int_not_equal(e.words[0], 0);
	}
}

static void another_order_is_refused_by_name(void **state)
{
	const struct resume r = {.order_id = {0xab, 0xcd}};
	const uint8_t other[SHA256_BYTES] = {0x12};
	struct err e = {0};

	assert_int_equal(resume_check(&r, r.order_id, &e), 0);
	assert_int_equal(resume_check(&r, other, &e), E_OTHER_ORDER);
	assert_non_null(strstr(e.words, "abcd000000000000"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_comes_back),
		cmocka_unit_test(fields_id_may_be_absent_and_other_keys_are_skipped),
		cmocka_unit_test(what_is_no_state_is_refused_with_words),
		cmocka_unit_test(another_order_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
