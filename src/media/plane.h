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
	uint32_t slack; /* pixels on each side of a row that may be written as well, and mean nothing */
};

static inline uint8_t *plane_row(const struct plane *plane, uint32_t y)
{
	return plane->p + (size_t)y * plane->stride;
}

/* Rows row .. row + n - 1 of it, in place. */
static inline struct plane plane_part(const struct plane *plane, uint32_t row, uint32_t n)
{
	struct plane part = *plane;

	part.p = plane_row(plane, row);
	part.h = n;
	return part;
}

static inline size_t plane_row_bytes(const struct plane *plane)
{
	return (size_t)plane->w * plane->c;
}

#endif
