/* SPDX-License-Identifier: Apache-2.0 */
/* Rectangles of pixels: uint8, 1 channel (grey) or 3 (red, green, blue), interleaved. */
#ifndef OLDDOG_MEDIA_PLANE_H
#define OLDDOG_MEDIA_PLANE_H

#include <stddef.h>
#include <stdint.h>

struct box {
	uint32_t x, y, w, h;
};

struct plane {
	uint8_t *p;
	size_t stride; /* bytes from one row to the next */
	uint32_t w, h, c;
};

static inline uint8_t *plane_row(const struct plane *plane, uint32_t y)
{
	return plane->p + (size_t)y * plane->stride;
}

static inline size_t plane_row_bytes(const struct plane *plane)
{
	return (size_t)plane->w * plane->c;
}

#endif
