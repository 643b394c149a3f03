/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers that are pure functions of (seed, purpose, position, field, draw): Philox4x32-10 of Salmon,
 * Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). CONTRACTS C2 fixes key and counter.
 */
#ifndef OLDDOG_BASE_RAND_H
#define OLDDOG_BASE_RAND_H

#include <stdint.h>

struct philox_key {
	uint32_t k[2];
};

/* First 8 bytes, little-endian, of SHA-256(seed as u64 little-endian, purpose in ASCII, at most 64 characters). */
struct philox_key philox_key_of(uint64_t seed, const char *purpose);
/* The block of four numbers at this counter: (position low, position high, field, draw). */
void philox(struct philox_key key, uint64_t position, uint32_t field, uint32_t draw, uint32_t ret[4]);
/* (u + 0.5) / 2^32: in (0, 1), exact in double. */
double uniform_of(uint32_t u);

#endif
