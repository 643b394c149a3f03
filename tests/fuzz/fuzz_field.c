/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that are not images: the first byte says of which kind. */
#include "feed/field.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct recipe_field kinds[] = {
		{.name = "i", .kind = FIELD_INT, .dtype = DTYPE_INT64}, {.name = "f", .kind = FIELD_FLOAT, .dtype = DTYPE_FLOAT64},
		{.name = "t", .kind = FIELD_TEXT, .dtype = DTYPE_UINT8}, {.name = "j", .kind = FIELD_JSON, .dtype = DTYPE_UINT8},
	};
	const struct recipe_field *f;
	uint64_t number;
	struct err e;

	if (n < 1)
		return 0;
	f = &kinds[p[0] % 4];
	if (f->kind == FIELD_INT || f->kind == FIELD_FLOAT)
		field_number(f, p + 1, n - 1, &number, &e);
	else
		field_check(f, p + 1, n - 1, &e);
	return 0;
}
