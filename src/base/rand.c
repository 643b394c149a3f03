/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"

#include <string.h>

#include "base/hash.h"
#include "base/rd.h"

struct philox_key philox_key_of(uint64_t seed, const char *purpose)
{
	uint8_t text[8 + 64], digest[SHA256_BYTES];
	size_t n = MIN(strlen(purpose), sizeof(text) - 8);
	struct rd r = rd_of(digest, sizeof(digest));
	struct philox_key key;

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
	uint32_t c[4] = {(uint32_t)position, (uint32_t)(position >> 32), field, draw};

	for (unsigned round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
		uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key.k[0], (uint32_t)b,
			(uint32_t)(a >> 32) ^ c[3] ^ key.k[1], (uint32_t)a};

		memcpy(c, next, sizeof(c));
		key.k[0] += 0x9E3779B9u;
		key.k[1] += 0xBB67AE85u;
	}
	memcpy(ret, c, sizeof(c));
}

double uniform_of(uint32_t u)
{
	return ((double)u + 0.5) / 4294967296.0;
}
