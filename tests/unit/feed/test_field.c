/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that are not images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/scope.h"
#include "feed/field.h"

static const struct recipe_field whole = {.name = "label", .kind = FIELD_INT, .dtype = DTYPE_INT64};
static const struct recipe_field real = {.name = "score", .kind = FIELD_FLOAT, .dtype = DTYPE_FLOAT64};
static const struct recipe_field narrow = {.name = "score", .kind = FIELD_FLOAT, .dtype = DTYPE_FLOAT32};
static const struct recipe_field text = {.name = "txt", .kind = FIELD_TEXT, .dtype = DTYPE_UINT8};
static const struct recipe_field json = {.name = "json", .kind = FIELD_JSON, .dtype = DTYPE_UINT8};
static const struct recipe_field bytes = {.name = "bin", .kind = FIELD_BYTES, .dtype = DTYPE_UINT8};

static int number(const struct recipe_field *f, const char *s, void *to)
{
	return field_number(f, s, strlen(s), to, NULL);
}

static void numbers_are_whole_texts(void **state)
{
	int64_t i;
	double d;
	float narrower;

	assert_int_equal(number(&whole, " -42\n", &i), 0);
	assert_int_equal(i, -42);
	assert_int_equal(number(&real, "0.125", &d), 0);
	assert_true(d == 0.125);
	assert_int_equal(number(&narrow, "0.1", &narrower), 0);
	assert_true(narrower == 0.1f);
}

static void what_is_no_number_is_a_bad_sample(void **state)
{
	static const char *const wrong[] = {"", " ", "4 2", "0x10", "1.5", "seven", "9223372036854775808", "--1"};
	struct err e = {0};
	int64_t i = 7;

	for (unsigned k = 0; k < N_ELEMS(wrong); k++)
		assert_int_equal(number(&whole, wrong[k], &i), E_BAD_SAMPLE);
	assert_int_equal(number(&real, "nan", &i), E_BAD_SAMPLE);
	/* Words are for a terminal, whatever stands there. */
	assert_int_equal(field_number(&whole, "\x1b[2J", 4, &i, &e), E_BAD_SAMPLE);
	assert_non_null(strstr(e.words, "\"?[2J\""));
	assert_int_equal(i, 7);
}

static void text_is_utf8(void **state)
{
	static const char *const right[] = {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x95", "\xef\xbf\xbf"};
	static const char *const wrong[] = {"\x80", "\xc0\x80", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
		"\xf5\x80\x80\x80", "a\xff", "\xe0\x9f\xbf", "\xf0\x8f\x80\x80", "\xe2\x82\x41"};

	for (unsigned k = 0; k < N_ELEMS(right); k++)
		assert_int_equal(field_check(&text, right[k], strlen(right[k]), NULL), 0);
	for (unsigned k = 0; k < N_ELEMS(wrong); k++) {
		assert_int_equal(field_check(&text, wrong[k], strlen(wrong[k]), NULL), E_BAD_SAMPLE);
		assert_int_equal(field_check(&bytes, wrong[k], strlen(wrong[k]), NULL), 0);
	}
}

/* `[0,0,..]` of n zeros, with what else stands at its end; the caller's. */
static char *zeros(size_t n, const char *more)
{
	char *p = mem_alloc(2 * n + 1 + strlen(more));

	assert_non_null(p);
	for (size_t i = 0; i < n; i++)
		memcpy(p + 2 * i, i ? ",0" : "[0", 2);
	memcpy(p + 2 * n, more, strlen(more) + 1);
	return p;
}

static void json_of_too_many_values_is_not_parsed(void **state)
{
	/* The array is a value, too. */
	AUTO_FREE char *fits = zeros(FIELD_JSON_MAX_VALUES - 1, "]"), *over = zeros(FIELD_JSON_MAX_VALUES, "]");
	AUTO_FREE char *strings = zeros(FIELD_JSON_MAX_VALUES - 2, ",\"[{,,\\\",[[\"]");
	struct err e = {0};

	assert_int_equal(field_check(&json, fits, strlen(fits), &e), 0);
	assert_int_equal(field_check(&json, strings, strlen(strings), &e), 0);
	assert_int_equal(field_check(&json, over, strlen(over), &e), E_LIMIT);
	assert_non_null(strstr(e.words, "field json is JSON of more than 1000000 values; `as: text`"));
	assert_int_equal(field_check(&text, over, strlen(over), &e), 0);
}

static void words_about_json_are_for_a_terminal(void **state)
{
	struct err e = {0};

	assert_int_equal(field_check(&json, "tru\x1b[2J", 7, &e), E_BAD_SAMPLE);
	assert_null(strchr(e.words, 0x1b));
}

static void json_is_one_value(void **state)
{
	struct err e = {0};

	assert_int_equal(field_check(&json, "{\"a\": [1, 2]}", 13, &e), 0);
	assert_int_equal(field_check(&json, " 17 ", 4, &e), 0);
	assert_int_equal(field_check(&json, "", 0, &e), E_BAD_SAMPLE);
	assert_int_equal(field_check(&json, "{\"a\": ", 6, &e), E_BAD_SAMPLE);
	assert_non_null(strstr(e.words, "field json is not JSON"));
	assert_int_equal(field_check(&json, "1 2", 3, &e), E_BAD_SAMPLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_whole_texts),
		cmocka_unit_test(what_is_no_number_is_a_bad_sample),
		cmocka_unit_test(text_is_utf8),
		cmocka_unit_test(json_is_one_value),
		cmocka_unit_test(json_of_too_many_values_is_not_parsed),
		cmocka_unit_test(words_about_json_are_for_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
