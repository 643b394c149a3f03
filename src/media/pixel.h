/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move or convert single pixels: turns, grey, padding, and rows of what decoders give. */
#ifndef OLDDOG_MEDIA_PIXEL_H
#define OLDDOG_MEDIA_PIXEL_H

#include "media/plane.h"

/* The eight ways to lay an image: first transpose, then mirror left and right, then top and bottom. */
enum turn {
	TURN_TRANSPOSE = 1,
	TURN_MIRROR_X = 2,
	TURN_MIRROR_Y = 4,
};

/* What brings an image with this EXIF orientation (1..8) upright; 0 for 1 and for what is not one. */
unsigned turn_of_orientation(unsigned orientation);
/* Where a box of the turned image of w x h lies in the image before the turn. */
struct box turn_back(unsigned turn, uint32_t w, uint32_t h, struct box box);

/* Each writes all of to; sizes fit as the operation says. */
void pixel_turn(unsigned turn, const struct plane *from, const struct plane *to);
void pixel_gray(const struct plane *from, const struct plane *to);	/* 3 channels to 1 */
void pixel_expand(const struct plane *from, const struct plane *to);	/* 1 channel to 3 equal ones */
void pixel_cut(const struct plane *from, uint32_t x, uint32_t y, const struct plane *to);
void pixel_pad(const struct plane *from, uint32_t x, uint32_t y, const struct plane *to);

/* A row of n pixels, from what a decoder made to what is kept. */
typedef void row_fn(uint8_t *to, const uint8_t *from, uint32_t n);

/* As Pillow's convert('L'): (19595 R + 38470 G + 7471 B + 32768) >> 16, the weights of ITU-R 601 in 16 bits. */
row_fn row_rgb_to_gray;
row_fn row_rgb_to_red;		/* of pixels that are grey anyhow */
row_fn row_rgb, row_gray;	/* copies */
/* Of inverted ink, as Adobe writes CMYK (CONTRACTS C3): as Pillow's decoder and then convert('RGB'). */
row_fn row_cmyk_to_rgb;
row_fn row_cmyk_to_gray;

#endif
