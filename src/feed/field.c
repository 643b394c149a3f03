/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that are not images: numbers, text, JSON. */
#include "feed/field.h"

#include <jansson.h>

#include "base/scope.h"
#include "base/str.h"

static void store_number(const struct recipe_field *f, int64_t i, double d, void *to)
{
	float narrow = (float)d;

	switch (f->dtype) {
	case DTYPE_INT64:
		memcpy(to, &i, sizeof(i));
		break;
	case DTYPE_FLOAT32:
		memcpy(to, &narrow, sizeof(narrow));
		break;
	default:
		memcpy(to, &d, sizeof(d));
		break;
	}
}

/* What a message may show of bytes that came from outside. */
static int shown(size_t n)
{
	return (int)MIN(n, (size_t)40);
}

static int bad_number(const struct recipe_field *f, struct str s, int r, struct err *e)
{
	return err_set(e, E_BAD_SAMPLE, "field %s is not %s%s: \"%.*s\"", f->name,
		f->kind == FIELD_INT ? "a whole number" : "a number",
		r == -ERANGE ? " of the range that its type holds" : "", shown(s.n), s.p);
}

int field_number(const struct recipe_field *f, const void *p, size_t n, void *to, struct err *e)
{
	struct str s = str_trim((struct str){p, n});
	int64_t i = 0;
	double d = 0;
	int r = f->kind == FIELD_INT ? str_to_i64(s, &i) : str_to_double(s, &d);

	if (r < 0)
		return bad_number(f, s, r, e);
	store_number(f, i, f->kind == FIELD_INT ? (double)i : d, to);
	return 0;
}

void field_value(const struct recipe_field *f, int64_t value, void *to)
{
	store_number(f, value, (double)value, to);
}

/* Length of the UTF-8 sequence at p by Unicode's table 3-7 (no surrogates, nothing overlong), or 0. */
static size_t utf8_length(const uint8_t *p, size_t n)
{
	static const struct {
		uint8_t first, last, second_min, second_max, length;
	} rows[] = {
		{0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (unsigned i = 0; i < N_ELEMS(rows); i++) {
		size_t length = rows[i].length;

		if (p[0] < rows[i].first || p[0] > rows[i].last)
			continue;
		if (length > n || (length > 1 && (p[1] < rows[i].second_min || p[1] > rows[i].second_max)))
			return 0;
		for (size_t k = 2; k < length; k++)
			if ((p[k] & 0xc0) != 0x80)
				return 0;
		return length;
	}
	return 0;
}

static int check_text(const struct recipe_field *f, const uint8_t *p, size_t n, struct err *e)
{
	for (size_t i = 0, length; i < n; i += length) {
		length = utf8_length(p + i, n - i);
		if (length == 0)
			return err_set(e, E_BAD_SAMPLE, "field %s is not UTF-8: byte %zu is 0x%02x", f->name, i, p[i]);
	}
	return 0;
}

static int check_json(const struct recipe_field *f, const void *p, size_t n, struct err *e)
{
	json_error_t why;
	json_t *value = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);

	if (!value)
		return err_set(e, E_BAD_SAMPLE, "field %s is not JSON: line %d: %s", f->name, why.line, why.text);
	json_decref(value);
	return 0;
}

int field_check(const struct recipe_field *f, const void *p, size_t n, struct err *e)
{
	if (f->kind == FIELD_TEXT)
		return check_text(f, p, n, e);
	if (f->kind == FIELD_JSON)
		return check_json(f, n ? p : "", n, e);
	return 0;
}
