/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/rd.h"

struct philox_key philox_key_of(uint64_t seed, const char *purpose)
{
	uint8_t text[8 + 64], digest[SHA256_BYTES];
	size_t n = strlen(purpose);
	struct rd r = rd_of(digest, sizeof(digest));
	struct philox_key key;

	/* Cut short, two purposes could be one. */
	assert(n <= sizeof(text) - 8);
	for (unsigned i = 0; i < 8; i++)
		text[i] = (uint8_t)(seed >> (8 * i));
	memcpy(text + 8, purpose, n);
	sha256_of(text, 8 + n, digest);
	key.k[0] = rd_u32(&r);
	key.k[1] = rd_u32(&r);
	return key;
}

void philox(struct philox_key key, uint64_t position, uint32_t field, uint32_t draw, uint32_t ret[4])
{
	/* Six scalars: as an array, gcc moves them through a vector register, and a block costs four times as much. */
	uint32_t c0 = (uint32_t)position, c1 = (uint32_t)(position >> 32), c2 = field, c3 = draw;
	uint32_t k0 = key.k[0], k1 = key.k[1];

	for (unsigned round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;

		c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)b;
		c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)a;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	ret[0] = c0;
	ret[1] = c1;
	ret[2] = c2;
	ret[3] = c3;
}

double uniform_of(uint32_t u)
{
	return ((double)u + 0.5) / 4294967296.0;
}
