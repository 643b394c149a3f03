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

static int bad_number(const struct recipe_field *f, struct str s, int r, struct err *e)
{
	char shown[44];

	return err_set(e, E_BAD_SAMPLE, "field %s is not %s%s: \"%s\"", f->name,
		f->kind == FIELD_INT ? "a whole number" : "a number",
		r == -ERANGE ? " of the range that its type holds" : "", str_printable(s, shown, sizeof(shown)));
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

static int check_text(const struct recipe_field *f, const uint8_t *p, size_t n, struct err *e)
{
	for (size_t i = 0, length; i < n; i += length) {
		length = str_utf8_length((struct str){(const char *)p + i, n - i});
		if (length == 0)
			return err_set(e, E_BAD_SAMPLE, "field %s is not UTF-8: byte %zu is 0x%02x", f->name, i, p[i]);
	}
	return 0;
}

/*
 * At least as many values as jansson would make of it: the first, and those behind brackets and commas outside of strings.
 * Its tree takes up to 260 bytes for 4 of text, so it is not begun before this is known.
 */
static size_t count_values(const char *p, size_t n)
{
	size_t n_values = 1;
	bool in_string = false;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"')
			in_string = !in_string;
		else if (in_string)
			i += p[i] == '\\';
		else
			n_values += p[i] == ',' || p[i] == '[' || p[i] == '{';
	}
	return n_values;
}

static int check_json(const struct recipe_field *f, const void *p, size_t n, struct err *e)
{
	char shown[JSON_ERROR_TEXT_LENGTH];
	json_error_t why;
	json_t *value;

	if (count_values(p, n) > FIELD_JSON_MAX_VALUES)
		return err_set(e, E_LIMIT, "field %s is JSON of more than %u values; `as: text` takes it unparsed", f->name,
			FIELD_JSON_MAX_VALUES);
	value = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	if (!value)
		return err_set(e, E_BAD_SAMPLE, "field %s is not JSON: line %d: %s", f->name, why.line,
			str_printable(str_of(why.text), shown, sizeof(shown)));
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
