/* SPDX-License-Identifier: Apache-2.0 */
/* A head that is known has a size, is the same again, and more bytes behind it do not change it. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/scope.h"
#include "wire/picture_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct picture_head head = picture_head_read(p, n), again;
	AUTO_FREE uint8_t *longer = mem_zalloc(n + 64);

	assert((head.coding == PICTURE_UNKNOWN) == (head.w == 0) && (head.w == 0) == (head.h == 0));
	assert(head.coding < N_PICTURE_CODINGS);
	if (head.coding == PICTURE_UNKNOWN || !longer)
		return 0;
	if (n)
		memcpy(longer, p, n);
	again = picture_head_read(longer, n + 64);
	assert(again.w == head.w && again.h == head.h);
	return 0;
}
