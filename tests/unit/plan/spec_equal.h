/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two specs are the same in all that is written, for tests and fuzz targets. */
#ifndef OLDDOG_TEST_SPEC_EQUAL_H
#define OLDDOG_TEST_SPEC_EQUAL_H

#include <string.h>

#include "plan/spec.h"

static inline bool texts_equal(char *const *a, unsigned n_a, char *const *b, unsigned n_b)
{
	for (unsigned i = 0; n_a == n_b && i < n_a; i++) {
		if (strcmp(a[i], b[i]) != 0)
			return false;
	}
	return n_a == n_b;
}

static inline bool source_equal(const struct spec_source *a, const struct spec_source *b)
{
	return texts_equal(a->data, a->n_data, b->data, b->n_data) && a->format == b->format &&
		a->weight == b->weight && a->weighted == b->weighted && a->on_end == b->on_end;
}

static inline bool recipe_equal(const struct recipe *a, const struct recipe *b)
{
	struct buf AUTO_BUF x, AUTO_BUF y;

	buf_init(&x, 1u << 20);
	buf_init(&y, 1u << 20);
	return recipe_encode(a, &x) == 0 && recipe_encode(b, &y) == 0 && x.n == y.n && memcmp(x.ptr, y.ptr, x.n) == 0;
}

static inline bool spec_equal(const struct spec *a, const struct spec *b)
{
	if (a->n_sources != b->n_sources || a->n_skip != b->n_skip || !recipe_equal(&a->recipe, &b->recipe))
		return false;
	for (unsigned i = 0; i < a->n_sources; i++) {
		if (!source_equal(&a->sources[i], &b->sources[i]))
			return false;
	}
	for (unsigned i = 0; i < a->recipe.n_fields; i++) {
		const struct spec_field *x = &a->fields[i], *y = &b->fields[i];

		if (!texts_equal(x->from, x->n_from, y->from, y->n_from) || x->on_missing != y->on_missing ||
			memcmp(x->ratio, y->ratio, sizeof(x->ratio)) != 0)
			return false;
	}
	return a->seed == b->seed && a->order == b->order && a->window == b->window && a->group == b->group &&
		a->batch == b->batch && a->batch_is_global == b->batch_is_global && a->tail == b->tail &&
		a->on_bad == b->on_bad && a->stop_above_ppm == b->stop_above_ppm &&
		(a->n_skip == 0 || memcmp(a->skip, b->skip, a->n_skip * sizeof(*a->skip)) == 0);
}

#endif
