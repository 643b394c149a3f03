/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rd.h"

#include <string.h>

const uint8_t *rd_bytes(struct rd *r, size_t n)
{
	const uint8_t *p = r->at;

	if (r->bad || n > rd_left(r)) {
		r->bad = true;
		r->at = r->end;
		return NULL;
	}
	if (n)
		r->at += n;
	return p;
}

void rd_copy(struct rd *r, void *to, size_t n)
{
	const uint8_t *p = rd_bytes(r, n);

	if (p)
		memcpy(to, p, n);
	else
		memset(to, 0, n);
}

void rd_skip(struct rd *r, size_t n)
{
	(void)rd_bytes(r, n);
}

static uint64_t rd_le(struct rd *r, unsigned n)
{
	const uint8_t *p = rd_bytes(r, n);
	uint64_t v = 0;

	for (unsigned i = 0; p && i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static uint64_t rd_be(struct rd *r, unsigned n)
{
	const uint8_t *p = rd_bytes(r, n);
	uint64_t v = 0;

	for (unsigned i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

uint8_t rd_u8(struct rd *r)
{
	return (uint8_t)rd_le(r, 1);
}

uint16_t rd_u16(struct rd *r)
{
	return (uint16_t)rd_le(r, 2);
}

uint32_t rd_u32(struct rd *r)
{
	return (uint32_t)rd_le(r, 4);
}

uint64_t rd_u64(struct rd *r)
{
	return rd_le(r, 8);
}

uint16_t rd_be16(struct rd *r)
{
	return (uint16_t)rd_be(r, 2);
}

uint32_t rd_be32(struct rd *r)
{
	return (uint32_t)rd_be(r, 4);
}

uint64_t rd_be64(struct rd *r)
{
	return rd_be(r, 8);
}
