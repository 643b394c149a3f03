/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/picture_head.h"

#include <stdbool.h>
#include <string.h>

#include "base/rd.h"

static bool takes(struct rd *r, const char *bytes, size_t n)
{
	const uint8_t *p = rd_bytes(r, n);

	return p && memcmp(p, bytes, n) == 0;
}

/* JPEG. */

enum { JPEG_SOF0 = 0xc0, JPEG_SOF2 = 0xc2, JPEG_DHT = 0xc4, JPEG_JPG = 0xc8, JPEG_DAC = 0xcc, JPEG_SOF15 = 0xcf,
	JPEG_RST0 = 0xd0, JPEG_SOI = 0xd8, JPEG_EOI = 0xd9, JPEG_SOS = 0xda, JPEG_TEM = 0x01 };

static bool is_frame(uint8_t marker)
{
	return marker >= JPEG_SOF0 && marker <= JPEG_SOF15 && marker != JPEG_DHT && marker != JPEG_JPG && marker != JPEG_DAC;
}

static bool has_no_length(uint8_t marker)
{
	return marker == JPEG_TEM || (marker >= JPEG_RST0 && marker <= JPEG_SOI);
}

/* The next marker, as decoders look for it: what is none is stepped over. 0: there is none. */
static uint8_t next_marker(struct rd *r)
{
	while (rd_left(r) >= 2) {
		const uint8_t *ff = memchr(r->at, 0xff, rd_left(r));

		if (!ff)
			return 0;
		rd_skip(r, (size_t)(ff - r->at));
		while (rd_left(r) && *r->at == 0xff)
			rd_skip(r, 1);
		if (rd_left(r) && *r->at != 0)
			return rd_u8(r);
	}
	return 0;
}

static struct picture_head jpeg_frame(struct rd *r, uint8_t marker)
{
	/* Of the sixteen processes 2, 6, 10 and 14 are progressive. */
	struct picture_head head = {(marker & 3) == 2 ? PICTURE_JPEG_PROGRESSIVE : PICTURE_JPEG, 0, 0};

	rd_skip(r, 3);
	head.h = rd_be16(r);
	head.w = rd_be16(r);
	return head;
}

static struct picture_head jpeg_head(struct rd *r)
{
	for (unsigned n = 0; n < PICTURE_HEAD_MAX_STEPS; n++) {
		uint8_t marker = next_marker(r);
		uint16_t length;

		if (marker == 0 || marker == JPEG_SOS || marker == JPEG_EOI)
			break;
		if (is_frame(marker))
			return jpeg_frame(r, marker);
		if (has_no_length(marker))
			continue;
		length = rd_be16(r);
		rd_skip(r, length >= 2 ? length - 2u : 0);
	}
	return (struct picture_head){0};
}

/* PNG. */

static struct picture_head png_head(struct rd *r)
{
	struct picture_head head = {PICTURE_PNG, 0, 0};

	rd_skip(r, 4);
	if (!takes(r, "IHDR", 4))
		return (struct picture_head){0};
	head.w = rd_be32(r);
	head.h = rd_be32(r);
	rd_skip(r, 4);
	if (rd_u8(r) != 0)
		head.coding = PICTURE_PNG_INTERLACED;
	return head;
}

/* WebP. */

static uint32_t rd_u24(struct rd *r)
{
	uint32_t low = rd_u16(r);

	return low | (uint32_t)rd_u8(r) << 16;
}

static struct picture_head webp_lossy(struct rd *r)
{
	struct picture_head head = {PICTURE_WEBP, 0, 0};

	rd_skip(r, 3);
	if (!takes(r, "\x9d\x01\x2a", 3))
		return (struct picture_head){0};
	head.w = rd_u16(r) & 0x3fff;
	head.h = rd_u16(r) & 0x3fff;
	return head;
}

static struct picture_head webp_lossless(struct rd *r)
{
	struct picture_head head = {PICTURE_WEBP_LOSSLESS, 0, 0};
	uint32_t bits;

	if (!takes(r, "\x2f", 1))
		return (struct picture_head){0};
	bits = rd_u32(r);
	head.w = (bits & 0x3fff) + 1;
	head.h = (bits >> 14 & 0x3fff) + 1;
	return head;
}

/* The first picture of an extended file: its canvas, and how that picture is coded. */
static struct picture_head webp_extended(struct rd *r)
{
	struct picture_head head = {PICTURE_WEBP, 0, 0};

	rd_skip(r, 4);
	head.w = rd_u24(r) + 1;
	head.h = rd_u24(r) + 1;
	if (r->bad)
		return (struct picture_head){0};
	for (unsigned n = 0; n < PICTURE_HEAD_MAX_STEPS && rd_left(r) >= 8; n++) {
		const uint8_t *name = rd_bytes(r, 4);
		uint32_t length = rd_u32(r);

		if (memcmp(name, "VP8L", 4) == 0)
			head.coding = PICTURE_WEBP_LOSSLESS;
		if (memcmp(name, "VP8", 3) == 0)
			break;
		/* A frame of an animation has its picture's chunks inside, behind 16 bytes of its own. */
		rd_skip(r, memcmp(name, "ANMF", 4) == 0 ? 16 : length + (size_t)(length & 1));
	}
	r->bad = false;
	return head;
}

static struct picture_head webp_head(struct rd *r)
{
	const uint8_t *name;

	rd_skip(r, 4);
	if (!takes(r, "WEBP", 4))
		return (struct picture_head){0};
	name = rd_bytes(r, 4);
	rd_skip(r, 4);
	if (name && memcmp(name, "VP8 ", 4) == 0)
		return webp_lossy(r);
	if (name && memcmp(name, "VP8L", 4) == 0)
		return webp_lossless(r);
	if (name && memcmp(name, "VP8X", 4) == 0)
		return webp_extended(r);
	return (struct picture_head){0};
}

struct picture_head picture_head_read(const void *p, size_t n)
{
	static const struct {
		const char *magic;
		size_t n;
		struct picture_head (*read)(struct rd *r);
	} formats[] = {
		{"\xff\xd8\xff", 2, jpeg_head},	/* the third byte begins the next marker */
		{"\x89PNG\r\n\x1a\n", 8, png_head},
		{"RIFF", 4, webp_head},
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct rd r = rd_of(p, n);
		struct picture_head head;

		if (!takes(&r, formats[i].magic, formats[i].n))
			continue;
		head = formats[i].read(&r);
		return r.bad || head.w == 0 || head.h == 0 ? (struct picture_head){0} : head;
	}
	return (struct picture_head){0};
}
