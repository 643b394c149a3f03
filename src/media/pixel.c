/* SPDX-License-Identifier: Apache-2.0 */
/* Turns, grey, padding, rows. */
#include "media/pixel.h"

#include <stdbool.h>
#include <string.h>

#include "base/scope.h"

unsigned turn_of_orientation(unsigned orientation)
{
	static const uint8_t turns[] = {
		[2] = TURN_MIRROR_X,
		[3] = TURN_MIRROR_X | TURN_MIRROR_Y,
		[4] = TURN_MIRROR_Y,
		[5] = TURN_TRANSPOSE,
		[6] = TURN_TRANSPOSE | TURN_MIRROR_X,
		[7] = TURN_TRANSPOSE | TURN_MIRROR_X | TURN_MIRROR_Y,
		[8] = TURN_TRANSPOSE | TURN_MIRROR_Y,
	};

	return orientation < N_ELEMS(turns) ? turns[orientation] : 0;
}

struct box turn_back(unsigned turn, uint32_t w, uint32_t h, struct box box)
{
	if (turn & TURN_MIRROR_X)
		box.x = w - box.x - box.w;
	if (turn & TURN_MIRROR_Y)
		box.y = h - box.y - box.h;
	if (turn & TURN_TRANSPOSE)
		return (struct box){.x = box.y, .y = box.x, .w = box.h, .h = box.w};
	return box;
}

/* Walks the source by two signed steps, so that all eight turns are one loop. */
static void turn_row(const uint8_t *from, ptrdiff_t step, uint8_t *to, uint32_t n, unsigned c)
{
	for (uint32_t x = 0; x < n; x++, from += step, to += c) {
		to[0] = from[0];
		if (c == 3) {
			to[1] = from[1];
			to[2] = from[2];
		}
	}
}

void pixel_turn(unsigned turn, const struct plane *from, const struct plane *to)
{
	bool transpose = turn & TURN_TRANSPOSE;
	ptrdiff_t step_x = transpose ? (ptrdiff_t)from->stride : (ptrdiff_t)from->c;
	ptrdiff_t step_y = transpose ? (ptrdiff_t)from->c : (ptrdiff_t)from->stride;
	const uint8_t *p = from->p;

	if (turn & TURN_MIRROR_X) {
		p += step_x * (ptrdiff_t)(to->w - 1);
		step_x = -step_x;
	}
	if (turn & TURN_MIRROR_Y) {
		p += step_y * (ptrdiff_t)(to->h - 1);
		step_y = -step_y;
	}
	for (uint32_t y = 0; y < to->h; y++)
		turn_row(p + step_y * (ptrdiff_t)y, step_x, plane_row(to, y), to->w, to->c);
}

void pixel_gray(const struct plane *from, const struct plane *to)
{
	for (uint32_t y = 0; y < to->h; y++)
		row_rgb_to_gray(plane_row(to, y), plane_row(from, y), to->w);
}

void pixel_expand(const struct plane *from, const struct plane *to)
{
	for (uint32_t y = 0; y < to->h; y++) {
		const uint8_t *p = plane_row(from, y);
		uint8_t *q = plane_row(to, y);

		for (uint32_t x = 0; x < to->w; x++, q += 3)
			q[0] = q[1] = q[2] = p[x];
	}
}

void pixel_cut(const struct plane *from, uint32_t x, uint32_t y, const struct plane *to)
{
	for (uint32_t row = 0; row < to->h; row++)
		memcpy(plane_row(to, row), plane_row(from, y + row) + (size_t)x * from->c, plane_row_bytes(to));
}

void pixel_pad(const struct plane *from, uint32_t x, uint32_t y, const struct plane *to)
{
	for (uint32_t row = 0; row < to->h; row++)
		memset(plane_row(to, row), 0, plane_row_bytes(to));
	for (uint32_t row = 0; row < from->h; row++)
		memcpy(plane_row(to, y + row) + (size_t)x * to->c, plane_row(from, row), plane_row_bytes(from));
}

static inline uint8_t gray_of(unsigned r, unsigned g, unsigned b)
{
	return (uint8_t)((r * 19595u + g * 38470u + b * 7471u + 0x8000u) >> 16);
}

void row_rgb_to_gray(uint8_t *to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, from += 3)
		to[i] = gray_of(from[0], from[1], from[2]);
}

void row_rgb_to_red(uint8_t *to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = from[(size_t)3 * i];
}

void row_rgb(uint8_t *to, const uint8_t *from, uint32_t n)
{
	memcpy(to, from, (size_t)3 * n);
}

void row_gray(uint8_t *to, const uint8_t *from, uint32_t n)
{
	memcpy(to, from, n);
}

/* a * b / 255, rounded: exact for bytes. */
static inline unsigned muldiv255(unsigned a, unsigned b)
{
	unsigned t = a * b + 128;

	return ((t >> 8) + t) >> 8;
}

/* ink and key as stored, inverted: what is left of the light. */
static inline uint8_t light_of(uint8_t ink, uint8_t key)
{
	return (uint8_t)(key - muldiv255(255u - ink, key));
}

void row_cmyk_to_rgb(uint8_t *to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, from += 4, to += 3) {
		to[0] = light_of(from[0], from[3]);
		to[1] = light_of(from[1], from[3]);
		to[2] = light_of(from[2], from[3]);
	}
}

void row_cmyk_to_gray(uint8_t *to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, from += 4)
		to[i] = gray_of(light_of(from[0], from[3]), light_of(from[1], from[3]), light_of(from[2], from[3]));
}
