/* SPDX-License-Identifier: Apache-2.0 */
/* A head that decodes names nothing outside its slot, and its samples can be looked at. */
#include <assert.h>
#include <string.h>

#include "base/scope.h"
#include "feed/digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Small, so that the sanitizer sees what leaves it. */
#define ROOM (BATCHHEAD_ROOM + 4096)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO_FREE uint8_t *slot = mem_zalloc(ROOM);
	struct batch_head h;
	uint8_t sha[SHA256_BYTES];

	if (!slot || batch_head_decode(p, n, ROOM, &h) < 0)
		return 0;
	memcpy(slot + BATCHHEAD_ROOM, p, MIN(n, (size_t)4096));
	for (uint32_t i = 0; i < MIN(h.n, 8u); i++) {
		digest_sample(&h, slot, i, sha);
		sample_position(&h, slot, i);
		sample_text(&h, slot, BATCHHEAD_KEY, i);
	}
	return 0;
}
