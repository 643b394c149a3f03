/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of a resize and their order. */
#include "media/resize.h"

#include "base/scope.h"

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

/* Few enough to stay in the first-level cache until they are used, many enough that asking for them costs nothing. */
#define ROWS_AT_ONCE 8

/* The next rows, without the columns that an axis without a pass leaves out. */
static int next_rows(const struct resize *rs, struct rows *from, uint32_t n, struct plane *ret)
{
	int r = from->next(from, n, ret);

	if (r == 0 && !axis_changes(&rs->x)) {
		ret->p += (size_t)(rs->out.x - rs->in.x) * ret->c;
		ret->w = rs->out.w;
	}
	return r;
}

static int pass_x(const struct resize *rs, const struct kernel *kernel, struct rows *from, const struct plane *to)
{
	struct plane part;
	struct coeff x;
	int r = coeff_make(&x, SCRATCH_COEFF_X, &rs->x, rs->out.x, rs->out.w, rs->in.x, rs->mirror_x);

	if (r == 0 && kernel->pack && to->c == 3)
		r = kernel->pack(&x);
	for (uint32_t row = 0; r == 0 && row < to->h; row++) {
		if (row % ROWS_AT_ONCE == 0)
			r = next_rows(rs, from, MIN(to->h - row, ROWS_AT_ONCE), &part);
		if (r == 0)
			kernel->horizontal(&x, plane_row(&part, row % ROWS_AT_ONCE), plane_row(to, row), to->c);
	}
	return r;
}

/* All rows first: windows of neighbouring results overlap. */
static int pass_y(const struct resize *rs, const struct kernel *kernel, struct rows *from, const struct plane *to)
{
	struct plane all;
	struct coeff y;
	int r = coeff_make(&y, SCRATCH_COEFF_Y, &rs->y, rs->out.y, rs->out.h, rs->in.y, rs->mirror_y);

	r = r < 0 ? r : next_rows(rs, from, rs->in.h, &all);
	for (uint32_t row = 0; r == 0 && row < to->h; row++)
		kernel->vertical(y.weights + (size_t)row * y.n_taps, y.windows[row].n,
			plane_row(&all, y.windows[row].first), all.stride, plane_row(to, row), plane_row_bytes(to));
	return r;
}

static int both_passes(const struct resize *rs, const struct kernel *kernel, struct rows *from, const struct plane *to)
{
	struct plane half = {.c = to->c, .w = rs->vertical_first ? rs->in.w : to->w,
		.h = rs->vertical_first ? to->h : rs->in.h};
	struct plane_rows rest;
	int r;

	half.stride = plane_row_bytes(&half);
	r = scratch_get(SCRATCH_HALF, half.stride * half.h, &half.p);
	if (r < 0)
		return r;
	r = (rs->vertical_first ? pass_y : pass_x)(rs, kernel, from, &half);
	rest = plane_rows_of(&half);
	return r < 0 ? r : (rs->vertical_first ? pass_x : pass_y)(rs, kernel, &rest.rows, to);
}

int resize_run(const struct resize *rs, const struct kernel *kernel, struct rows *from, const struct plane *to)
{
	struct plane left_out;
	int r = 0;

	if (axis_changes(&rs->x) && axis_changes(&rs->y))
		return both_passes(rs, kernel, from, to);
	if (axis_changes(&rs->y))
		return pass_y(rs, kernel, from, to);
	if (rs->out.y > rs->in.y)
		r = from->next(from, rs->out.y - rs->in.y, &left_out);
	return r < 0 ? r : pass_x(rs, kernel, from, to);
}
