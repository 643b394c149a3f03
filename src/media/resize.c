/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of a resize and their order. */
#include "media/resize.h"

static bool axis_changes(const struct axis *a)
{
	return a->in != a->out;
}

/*
 * Pillow 13.0.0 saves work on images that shrink much more in height than in width; earlier ones never did. Since each
 * pass rounds to 8 bits, the order can be seen in the result.
 */
static bool vertical_goes_first(enum resample rule, const struct resize *rs)
{
	int64_t less_h = (int64_t)rs->y.in - rs->y.out, less_w = (int64_t)rs->x.in - rs->x.out;

	return rule == RESAMPLE_PILLOW_13 && less_h > 0 && less_h > 2 * less_w;
}

void resize_init(struct resize *rs, enum resample rule, enum interpolation interpolation, uint32_t w, uint32_t h,
	uint32_t to_w, uint32_t to_h)
{
	*rs = (struct resize){
		.x = {.in = w, .out = to_w, .interpolation = interpolation},
		.y = {.in = h, .out = to_h, .interpolation = interpolation},
		.in = {.w = w, .h = h},
		.out = {.w = to_w, .h = to_h},
	};
	rs->vertical_first = vertical_goes_first(rule, rs);
}

static void axis_need(const struct axis *a, uint32_t out, uint32_t n_out, uint32_t *ret_in, uint32_t *ret_n)
{
	struct coeff_window last = coeff_window_of(a, out + n_out - 1);

	*ret_in = axis_changes(a) ? coeff_window_of(a, out).first : out;
	*ret_n = axis_changes(a) ? last.first + last.n - *ret_in : n_out;
}

struct box resize_need(const struct resize *rs)
{
	struct box need;

	axis_need(&rs->x, rs->out.x, rs->out.w, &need.x, &need.w);
	axis_need(&rs->y, rs->out.y, rs->out.h, &need.y, &need.h);
	return need;
}

static int pass_x(const struct resize *rs, const struct kernel *kernel, const struct plane *from, const struct plane *to)
{
	struct coeff x;
	int r = coeff_make(&x, SCRATCH_COEFF_X, &rs->x, rs->out.x, rs->out.w, rs->in.x, rs->mirror_x);

	if (r == 0 && kernel->pack && to->c == 3)
		r = kernel->pack(&x);
	if (r < 0)
		return r;
	for (uint32_t row = 0; row < to->h; row++)
		kernel->horizontal(&x, plane_row(from, row), plane_row(to, row), to->c);
	return 0;
}

static int pass_y(const struct resize *rs, const struct kernel *kernel, const struct plane *from, const struct plane *to)
{
	struct coeff y;
	int r = coeff_make(&y, SCRATCH_COEFF_Y, &rs->y, rs->out.y, rs->out.h, rs->in.y, rs->mirror_y);

	if (r < 0)
		return r;
	for (uint32_t row = 0; row < to->h; row++)
		kernel->vertical(y.weights + (size_t)row * y.n_taps, y.windows[row].n,
			plane_row(from, y.windows[row].first), from->stride, plane_row(to, row), plane_row_bytes(to));
	return 0;
}

static int both_passes(const struct resize *rs, const struct kernel *kernel, const struct plane *from,
	const struct plane *to)
{
	struct plane half = {.c = to->c, .w = rs->vertical_first ? from->w : to->w,
		.h = rs->vertical_first ? to->h : from->h};
	int r;

	half.stride = plane_row_bytes(&half);
	r = scratch_get(SCRATCH_HALF, half.stride * half.h, &half.p);
	if (r < 0)
		return r;
	r = (rs->vertical_first ? pass_y : pass_x)(rs, kernel, from, &half);
	return r < 0 ? r : (rs->vertical_first ? pass_x : pass_y)(rs, kernel, &half, to);
}

/* Along an axis that no pass touches, what is not wanted is left out here. */
static struct plane wanted_part(const struct resize *rs, const struct plane *from)
{
	struct plane part = *from;

	if (!axis_changes(&rs->x)) {
		part.p += (size_t)(rs->out.x - rs->in.x) * part.c;
		part.w = rs->out.w;
	}
	if (!axis_changes(&rs->y)) {
		part.p += (size_t)(rs->out.y - rs->in.y) * part.stride;
		part.h = rs->out.h;
	}
	return part;
}

int resize_run(const struct resize *rs, const struct kernel *kernel, const struct plane *from, const struct plane *to)
{
	struct plane part = wanted_part(rs, from);

	if (axis_changes(&rs->x) && axis_changes(&rs->y))
		return both_passes(rs, kernel, &part, to);
	return (axis_changes(&rs->x) ? pass_x : pass_y)(rs, kernel, &part, to);
}
