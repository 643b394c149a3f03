/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <xxhash.h>

/* Identities are of many short pieces, and a call of OpenSSL costs more than hashing one does. */
#define HELD_BYTES 512

struct sha256 {
	EVP_MD_CTX *ctx;
	size_t n_held;
	uint8_t held[HELD_BYTES];
};

struct sha256 *sha256_new(void)
{
	struct sha256 *h = mem_zalloc(sizeof(*h));

	if (!h)
		return NULL;
	h->ctx = EVP_MD_CTX_new();
	if (!h->ctx || EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1) {
		sha256_free(h);
		return NULL;
	}
	return h;
}

void sha256_free(struct sha256 *h)
{
	if (!h)
		return;
	EVP_MD_CTX_free(h->ctx);
	mem_free(h);
}

static void update(struct sha256 *h, const void *p, size_t n)
{
	int ok = EVP_DigestUpdate(h->ctx, p, n);

	assert(ok == 1);
}

static void held_flush(struct sha256 *h)
{
	update(h, h->held, h->n_held);
	h->n_held = 0;
}

void sha256_add(struct sha256 *h, const void *p, size_t n)
{
	if (n > HELD_BYTES - h->n_held)
		held_flush(h);
	if (n >= HELD_BYTES) {
		update(h, p, n);
		return;
	}
	if (n > 0)
		memcpy(h->held + h->n_held, p, n);
	h->n_held += n;
}

void sha256_add_u64(struct sha256 *h, uint64_t v)
{
	v = htole64(v);
	sha256_add(h, &v, sizeof(v));
}

void sha256_add_u32(struct sha256 *h, uint32_t v)
{
	v = htole32(v);
	sha256_add(h, &v, sizeof(v));
}

void sha256_add_str(struct sha256 *h, const char *p, size_t n)
{
	sha256_add_u64(h, n);
	sha256_add(h, p, n);
}

void sha256_finish(struct sha256 *h, uint8_t ret[SHA256_BYTES])
{
	int ok;

	held_flush(h);
	ok = EVP_DigestFinal_ex(h->ctx, ret, NULL) == 1 && EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) == 1;

	assert(ok);
}

void sha256_of(const void *p, size_t n, uint8_t ret[SHA256_BYTES])
{
	int ok = EVP_Digest(p, n, ret, NULL, EVP_sha256(), NULL);

	assert(ok == 1);
}

void hex_of(const uint8_t *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * n] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int hex_parse(const char *hex, size_t n_bytes, uint8_t *ret)
{
	for (size_t i = 0; i < n_bytes; i++) {
		int high = hex_digit(hex[2 * i]), low = high < 0 ? -1 : hex_digit(hex[2 * i + 1]);

		if (low < 0)
			return -EINVAL;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

uint64_t xxh3_of(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}
