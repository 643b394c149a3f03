/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields that are not images: the owner parses them itself, strictly and within bounds. What does not parse is a bad
 * sample, with words.
 */
#ifndef OLDDOG_FEED_FIELD_H
#define OLDDOG_FEED_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/recipe.h"

/* FIELD_INT, FIELD_FLOAT: one decimal number, with white space around it or not. The value becomes one element of the
 * field's dtype (int64, float32, float64) at to. E_BAD_SAMPLE. */
int field_number(const struct recipe_field *f, const void *p, size_t n, void *to, struct err *e);
/* FIELD_INT, FIELD_FLOAT of a number that is known already (the class of a folder), or missing (0). */
void field_value(const struct recipe_field *f, int64_t value, void *to);
/* Of one JSON field: it bounds the memory (about 270 MB at most) and the time (2 s) that a stranger's takes to check. */
#define FIELD_JSON_MAX_VALUES 1000000u
/*
 * FIELD_TEXT is valid UTF-8; FIELD_JSON one JSON value (RFC 8259; numbers as C's long long and double hold them, 2,048
 * brackets deep); FIELD_BYTES anything. E_BAD_SAMPLE; E_LIMIT: JSON of more than FIELD_JSON_MAX_VALUES.
 */
int field_check(const struct recipe_field *f, const void *p, size_t n, struct err *e);

#endif
