/* SPDX-License-Identifier: Apache-2.0 */
/* A record that decodes encodes to one that decodes to the same. */
#include <assert.h>
#include <string.h>

#include "wire/rankmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct rankmsg first, second;
	AUTO_BUF struct buf a;
	AUTO_BUF struct buf b;

	buf_init(&a, 2 * RANKMSG_MAX_BYTES);
	buf_init(&b, 2 * RANKMSG_MAX_BYTES);
	if (rankmsg_decode(p, n, &first) < 0 || rankmsg_encode(&first, &a) < 0)
		return 0;
	assert(rankmsg_decode(a.ptr, a.n, &second) == 0);
	assert(rankmsg_encode(&second, &b) == 0);
	assert(a.n == b.n && memcmp(a.ptr, b.ptr, a.n) == 0);
	return 0;
}
