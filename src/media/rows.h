/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of pixels from top to bottom, as many at a time as the taker wants: a decoder, or a plane that is there already. So
 * an image need not be in memory as a whole, and a row is still in the cache when it is resized.
 */
#ifndef OLDDOG_MEDIA_ROWS_H
#define OLDDOG_MEDIA_ROWS_H

#include "media/plane.h"

struct rows {
	uint32_t w, h, c;
	/* The next n, which stay until the next call and are h at most in all. 0, or why there are none. */
	int (*next)(struct rows *rows, uint32_t n, struct plane *ret);
};

struct plane_rows {
	struct rows rows;
	struct plane plane;
	uint32_t y;
};

/* The rows of a plane, in place. */
struct plane_rows plane_rows_of(const struct plane *plane);

#endif
