/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>

#include "base/scope.h"

int vec_reserve_(void **ptr, size_t *cap, size_t max, size_t size, size_t n)
{
	size_t want;
	void *p;

	if (n <= *cap)
		return 0;
	if (n > max)
		return -E2BIG;
	want = MIN(MAX(n, MAX(*cap * 2, 8)), max);
	p = mem_realloc(*ptr, want, size);
	if (!p)
		return -ENOMEM;
	*ptr = p;
	*cap = want;
	return 0;
}
