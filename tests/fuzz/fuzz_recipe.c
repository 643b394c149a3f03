/* SPDX-License-Identifier: Apache-2.0 */
/* A recipe that decodes encodes again to the very same bytes, and its fixed shape stays within bounds. */
#include <assert.h>
#include <string.h>

#include "base/scope.h"
#include "wire/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct recipe recipe;
	struct buf AUTO_BUF again = {.max = 1u << 20};
	struct err e;

	if (recipe_decode(p, n, &recipe, &e) < 0)
		return 0;
	assert(recipe_encode(&recipe, &again) == 0);
	assert(again.n == n && memcmp(again.ptr, p, n) == 0);
	for (unsigned i = 0; i < recipe.n_fields; i++) {
		uint32_t h, w, c;

		if (recipe_fixed_shape(&recipe.fields[i], &h, &w, &c))
			assert(h >= 1 && h <= RECIPE_MAX_SIDE && w >= 1 && w <= RECIPE_MAX_SIDE && c >= 1 && c <= 3);
	}
	return 0;
}
