/* SPDX-License-Identifier: Apache-2.0 */
/* A message that decodes has one encoding, and words that end. */
#include <assert.h>
#include <string.h>

#include "wire/workmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t a[WORKMSG_BYTES], b[WORKMSG_BYTES];
	struct workmsg first, second;

	if (workmsg_decode(p, n, &first) < 0)
		return 0;
	assert(strnlen(first.words, WORKMSG_WORDS) < WORKMSG_WORDS);
	workmsg_encode(&first, a);
	assert(workmsg_decode(a, sizeof(a), &second) == 0);
	workmsg_encode(&second, b);
	assert(memcmp(a, b, sizeof(a)) == 0);
	return 0;
}
