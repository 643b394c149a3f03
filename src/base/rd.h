/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader over bytes that somebody else made. Past the end every read gives zeros and sets bad, so a parser is
 * straight-line code with one check at its end.
 */
#ifndef OLDDOG_BASE_RD_H
#define OLDDOG_BASE_RD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd {
	const uint8_t *at, *end;
	bool bad;
};

/* p may be NULL when n is 0. */
static inline struct rd rd_of(const void *p, size_t n)
{
	return (struct rd){.at = p, .end = n ? (const uint8_t *)p + n : p};
}

static inline size_t rd_left(const struct rd *r)
{
	return (size_t)(r->end - r->at);
}

/* The next n bytes in place, or NULL. */
const uint8_t *rd_bytes(struct rd *r, size_t n);
/* Copies n bytes (zeros when there are fewer). */
void rd_copy(struct rd *r, void *to, size_t n);
void rd_skip(struct rd *r, size_t n);
/* Little-endian. */
uint8_t rd_u8(struct rd *r);
uint16_t rd_u16(struct rd *r);
uint32_t rd_u32(struct rd *r);
uint64_t rd_u64(struct rd *r);
/* Big-endian. */
uint16_t rd_be16(struct rd *r);
uint32_t rd_be32(struct rd *r);
uint64_t rd_be64(struct rd *r);

#endif
