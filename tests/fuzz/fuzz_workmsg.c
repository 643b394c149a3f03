/* SPDX-License-Identifier: Apache-2.0 */
/* A message that decodes has one encoding, and words that end. The input lacks the checksum, which a fuzzer cannot find. */
#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/hash.h"
#include "base/scope.h"
#include "wire/workmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t a[WORKMSG_BYTES] = {0}, b[WORKMSG_BYTES];
	struct workmsg first, second;
	uint64_t sum;

	memcpy(a, p, MIN(n, sizeof(a) - sizeof(sum)));
	sum = htole64(xxh3_of(a, sizeof(a) - sizeof(sum)));
	memcpy(a + sizeof(a) - sizeof(sum), &sum, sizeof(sum));
	if (workmsg_decode(a, sizeof(a), &first) < 0)
		return 0;
	assert(strnlen(first.words, WORKMSG_WORDS) < WORKMSG_WORDS);
	workmsg_encode(&first, a);
	assert(workmsg_decode(a, sizeof(a), &second) == 0);
	workmsg_encode(&second, b);
	assert(memcmp(a, b, sizeof(a)) == 0);
	return 0;
}
