/* SPDX-License-Identifier: Apache-2.0 */
/* picture-dump FILE..: a line "CODING W H MICROSECONDS" of each, as the engine sees it before it is decoded. */
#include <stdio.h>

#include "base/scope.h"
#include "feed/cost_policy.h"

#define MAX_BYTES ((size_t)64 << 20)

int main(int argc, char **argv)
{
	static const char *const names[N_PICTURE_CODINGS] = {"unknown", "jpeg", "jpeg-progressive", "png", "png-interlaced",
		"webp", "webp-lossless"};
	AUTO_FREE void *p = mem_alloc(MAX_BYTES);

	for (int i = 1; p && i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t n = f ? fread(p, 1, MAX_BYTES, f) : 0;
		struct picture_head head = picture_head_read(p, n);

		if (f)
			fclose(f);
		printf("%s %u %u %u\n", names[head.coding], head.w, head.h, decode_cost_us(&head, n));
	}
	return p ? 0 : 1;
}
