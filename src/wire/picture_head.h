/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a picture's first bytes say of its size and coding: enough to guess what decoding it will cost. It is what a
 * stranger wrote: nobody may size memory by it, and whether the picture is a good one is the worker's to say.
 *
 * Formats: ITU-T T.81 B.2 (markers and frame headers); PNG (ISO/IEC 15948) 11.2.2 IHDR; RFC 9649 (WebP container, VP8L),
 * RFC 6386 9.1 (VP8 key frames).
 */
#ifndef OLDDOG_WIRE_PICTURE_HEAD_H
#define OLDDOG_WIRE_PICTURE_HEAD_H

#include <stddef.h>
#include <stdint.h>

enum picture_coding {
	PICTURE_UNKNOWN,	/* no picture, or its head lies beyond the limits below; w and h are 0 */
	PICTURE_JPEG,
	PICTURE_JPEG_PROGRESSIVE,
	PICTURE_PNG,
	PICTURE_PNG_INTERLACED,
	PICTURE_WEBP,
	PICTURE_WEBP_LOSSLESS,
};
#define N_PICTURE_CODINGS (PICTURE_WEBP_LOSSLESS + 1)

/* Segments of a JPEG or chunks of a WebP that are stepped over before the head is given up. */
#define PICTURE_HEAD_MAX_STEPS 1024

struct picture_head {
	enum picture_coding coding;
	uint32_t w, h;		/* 1 or more when the coding is known */
};

/* The n bytes may be all or the first ones; looks at a few of them. */
struct picture_head picture_head_read(const void *p, size_t n);

#endif
