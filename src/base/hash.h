/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (identities, digests) and XXH3-64 (integrity of frames and columns). */
#ifndef OLDDOG_BASE_HASH_H
#define OLDDOG_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/scope.h"

#define SHA256_BYTES 32
#define SHA256_HEX (2 * SHA256_BYTES + 1)

struct sha256;

/* NULL when memory is short. */
struct sha256 *sha256_new(void);
void sha256_free(struct sha256 *h);
DEFINE_AUTO(sha256);
void sha256_add(struct sha256 *h, const void *p, size_t n);
/* Little-endian; so that identities do not depend on how a struct is laid out. */
void sha256_add_u32(struct sha256 *h, uint32_t v);
void sha256_add_u64(struct sha256 *h, uint64_t v);
/* Length as u64, then the bytes: no two lists of strings hash alike. */
void sha256_add_str(struct sha256 *h, const char *p, size_t n);
/* Gives the digest and makes h ready for another message. */
void sha256_finish(struct sha256 *h, uint8_t ret[SHA256_BYTES]);
void sha256_of(const void *p, size_t n, uint8_t ret[SHA256_BYTES]);

/* Lower-case, NUL-terminated; out has 2 * n + 1 bytes. */
void hex_of(const uint8_t *p, size_t n, char *out);
/* Reads 2 * n_bytes digits of either case, and looks at nothing behind them. 0 or -EINVAL. */
int hex_parse(const char *hex, size_t n_bytes, uint8_t *ret);

/* XXH3 of 64 bits, with seed 0; not XXH64, which is another function. */
uint64_t xxh3_of(const void *p, size_t n);

#endif
