/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hadoop/crc.h"

#include <string.h>

#include <endian.h>
#include <isa-l/crc.h>

#include "base/scope.h"

/* Reflected: bit 31 is the coefficient of x^0. */
#define POLY_ZLIB 0xedb88320u
#define POLY_C 0x82f63b78u
#define X_TO_0 0x80000000u
#define X_TO_8 0x00800000u
#define ISCSI_MAX (1u << 30)	/* its length is an int */

/* libisal's iSCSI function is without the inversions before and after; the other one has them. */
static uint32_t crc_c(uint32_t before, const void *p, size_t n)
{
	const uint8_t *at = p;
	uint32_t crc = ~before;

	while (n > 0) {
		size_t piece = MIN(n, ISCSI_MAX);

		crc = crc32_iscsi((unsigned char *)at, (int)piece, crc);
		at += piece;
		n -= piece;
	}
	return ~crc;
}

uint32_t crc_of(enum crc_kind kind, uint32_t before, const void *p, size_t n)
{
	switch (kind) {
	case CRC_ZLIB:
		return n ? crc32_gzip_refl(before, p, n) : before;
	case CRC_C:
		return crc_c(before, p, n);
	case CRC_NONE:
		break;
	}
	return 0;
}

/* a * b modulo the polynomial, over GF(2): b is multiplied by x for each lower power in a. */
static uint32_t multiply(uint32_t a, uint32_t b, uint32_t poly)
{
	uint32_t product = 0;

	for (uint32_t power = X_TO_0; power; power >>= 1) {
		if (a & power)
			product ^= b;
		b = b & 1 ? b >> 1 ^ poly : b >> 1;
	}
	return product;
}

/*
 * A CRC is a remainder, so that of a then b is a's times x^(8 n_b), plus b's; what is inverted before and behind
 * cancels out. The power comes by squaring: 8 n_b has 67 bits at most. Source: zlib's crc32_combine() is documented to do
 * the same; the mathematics are in D. Sarwate, Computation of cyclic redundancy checks via table look-up, CACM 1988.
 */
uint32_t crc_join(enum crc_kind kind, uint32_t a, uint32_t b, uint64_t n_b)
{
	uint32_t poly = kind == CRC_ZLIB ? POLY_ZLIB : POLY_C, power = X_TO_8;

	if (kind == CRC_NONE)
		return 0;
	for (; n_b; n_b >>= 1) {
		if (n_b & 1)
			a = multiply(power, a, poly);
		power = multiply(power, power, poly);
	}
	return a ^ b;
}

int64_t crc_check(enum crc_kind kind, uint32_t bytes_per_sum, const void *p, size_t n, const void *sums)
{
	const uint8_t *at = p, *sum = sums;
	uint32_t said;

	if (kind == CRC_NONE)
		return -1;
	for (int64_t i = 0; n > 0; i++) {
		size_t chunk = MIN(n, bytes_per_sum);

		memcpy(&said, sum, sizeof(said));
		/* No bytes a sum: nothing can be right. */
		if (chunk == 0 || crc_of(kind, 0, at, chunk) != be32toh(said))
			return i;
		at += chunk;
		sum += sizeof(said);
		n -= chunk;
	}
	return -1;
}

void crc_fill(enum crc_kind kind, uint32_t bytes_per_sum, const void *p, size_t n, void *sums)
{
	const uint8_t *at = p;
	uint8_t *sum = sums;
	uint32_t crc;

	if (kind == CRC_NONE || bytes_per_sum == 0)
		return;
	while (n > 0) {
		size_t chunk = MIN(n, bytes_per_sum);

		crc = htobe32(crc_of(kind, 0, at, chunk));
		memcpy(sum, &crc, sizeof(crc));
		at += chunk;
		sum += sizeof(crc);
		n -= chunk;
	}
}
