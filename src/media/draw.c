/* SPDX-License-Identifier: Apache-2.0 */
/* Random decisions. IEEE double, + - * / sqrt and comparisons in the order written. */
#include "media/draw.h"

#include <math.h>

#include "base/poly.h"
#include "base/scope.h"

#define CROP_TRIES 10

struct uniforms {
	double u[4];
};

static struct uniforms draw_block(const struct draw *d, uint32_t nth)
{
	struct uniforms ret;
	uint32_t words[4];

	philox(d->step->key, d->position, d->field, d->step->draw + nth, words);
	for (unsigned i = 0; i < 4; i++)
		ret.u[i] = uniform_of(words[i]);
	return ret;
}

static double between(const double bounds[2], double u)
{
	return bounds[0] + (bounds[1] - bounds[0]) * u;
}

/* 0 .. n - 1; u is below 1 by more than a rounding, so the product is below n. */
static uint32_t pick(double u, uint32_t n)
{
	return (uint32_t)(u * (double)n);
}

static struct box box_placed(const struct uniforms *u, uint32_t in_w, uint32_t in_h, uint32_t w, uint32_t h)
{
	return (struct box){.x = pick(u->u[3], in_w - w + 1), .y = pick(u->u[2], in_h - h + 1), .w = w, .h = h};
}

bool draw_happens(const struct draw *d)
{
	return draw_block(d, 0).u[0] < d->step->p;
}

struct box draw_crop(const struct draw *d, uint32_t in_w, uint32_t in_h, uint32_t w, uint32_t h)
{
	struct uniforms u = draw_block(d, 0);

	return box_placed(&u, in_w, in_h, w, h);
}

uint32_t round_half_even(double x)
{
	uint32_t whole = (uint32_t)x;
	double rest = x - (double)whole;

	return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 == 1));
}

/* The largest box in the middle whose shape is within the bounds. */
static struct box middle_box(const double log2_ratio[2], uint32_t in_w, uint32_t in_h)
{
	double ratio = (double)in_w / (double)in_h, low = exp2_poly(log2_ratio[0]), high = exp2_poly(log2_ratio[1]);
	struct box box = {.w = in_w, .h = in_h};

	if (ratio < low)
		box.h = MAX(1u, MIN(in_h, round_half_even((double)in_w / low)));
	else if (ratio > high)
		box.w = MAX(1u, MIN(in_w, round_half_even((double)in_h * high)));
	box.x = (in_w - box.w) / 2;
	box.y = (in_h - box.h) / 2;
	return box;
}

struct box draw_resized_crop(const struct draw *d, uint32_t in_w, uint32_t in_h)
{
	double area = (double)in_w * (double)in_h;

	for (uint32_t try = 0; try < CROP_TRIES; try++) {
		struct uniforms u = draw_block(d, try);
		double target = area * between(d->step->scale, u.u[0]);
		double ratio = exp2_poly(between(d->step->log2_ratio, u.u[1]));
		double w = sqrt(target * ratio) + 0.5, h = sqrt(target / ratio) + 0.5;

		/* Whole numbers first: w and h were rounded down when they are compared. */
		if (w >= 1.0 && w < (double)in_w + 1.0 && h >= 1.0 && h < (double)in_h + 1.0)
			return box_placed(&u, in_w, in_h, (uint32_t)w, (uint32_t)h);
	}
	return middle_box(d->step->log2_ratio, in_w, in_h);
}
