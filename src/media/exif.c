/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of one TIFF directory. What it cannot read is taken as absent, as viewers do. */
#include "media/exif.h"

#include <string.h>

#include "base/rd.h"

#define TAG_ORIENTATION 0x0112
#define TIFF_SHORT 3
#define TIFF_LONG 4

struct tiff {
	struct rd rd;
	bool big_endian;
};

static uint16_t tiff_u16(struct tiff *t)
{
	return t->big_endian ? rd_be16(&t->rd) : rd_u16(&t->rd);
}

static uint32_t tiff_u32(struct tiff *t)
{
	return t->big_endian ? rd_be32(&t->rd) : rd_u32(&t->rd);
}

/* An entry's value, when it is a single whole number; else 0. */
static uint32_t tiff_number(struct tiff *t, uint16_t type, uint32_t count)
{
	uint32_t v;

	if (type != TIFF_SHORT) {
		v = tiff_u32(t);
		return type == TIFF_LONG && count == 1 ? v : 0;
	}
	v = tiff_u16(t);
	(void)tiff_u16(t);
	return count == 1 ? v : 0;
}

/* The last such entry counts. */
static uint32_t directory_orientation(struct tiff *t)
{
	uint32_t found = 0;

	for (uint16_t n = tiff_u16(t); n > 0; n--) {
		uint16_t tag = tiff_u16(t), type = tiff_u16(t);
		uint32_t count = tiff_u32(t), v = tiff_number(t, type, count);

		if (t->rd.bad)
			break;
		if (tag == TAG_ORIENTATION)
			found = v;
	}
	return found;
}

uint8_t exif_orientation(const uint8_t *p, size_t n)
{
	static const uint8_t prefix[6] = "Exif\0";
	struct tiff t;
	uint32_t offset, found;

	if (n >= sizeof(prefix) && memcmp(p, prefix, sizeof(prefix)) == 0) {
		p += sizeof(prefix);
		n -= sizeof(prefix);
	}
	if (n < 8 || (memcmp(p, "II*\0", 4) != 0 && memcmp(p, "MM\0*", 4) != 0))
		return 1;
	t = (struct tiff){.rd = rd_of(p, n), .big_endian = p[0] == 'M'};
	rd_skip(&t.rd, 4);
	offset = tiff_u32(&t);
	if (offset > n)
		return 1;
	t.rd = rd_of(p + offset, n - offset);
	found = directory_orientation(&t);
	return found >= 1 && found <= 8 ? (uint8_t)found : 1;
}
