/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a resize. Every operation below is in the reference's order: another order gives other bits. */
#include "media/coeff.h"

#include <string.h>

#include "base/scope.h"

static double box_filter(double x)
{
	return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double bilinear_filter(double x)
{
	x = x < 0.0 ? -x : x;
	return x < 1.0 ? 1.0 - x : 0.0;
}

/* Cubic convolution (Keys 1981) with a = -0.5. */
static double bicubic_filter(double x)
{
	const double a = -0.5;

	x = x < 0.0 ? -x : x;
	if (x < 1.0)
		return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
	if (x < 2.0)
		return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
	return 0.0;
}

static const struct filter {
	double (*at)(double x);
	double support;
} filters[] = {
	[INTERPOLATION_BOX] = {box_filter, 0.5},
	[INTERPOLATION_BILINEAR] = {bilinear_filter, 1.0},
	[INTERPOLATION_BICUBIC] = {bicubic_filter, 2.0},
};

static double axis_scale(const struct axis *a)
{
	return (double)a->in / (double)a->out;
}

/* How far the filter is stretched: over more than one input sample only when the image shrinks. */
static double axis_stretch(const struct axis *a)
{
	double scale = axis_scale(a);

	return scale < 1.0 ? 1.0 : scale;
}

static uint32_t clamp_to(double x, uint32_t max)
{
	if (x < 1.0)
		return 0;
	return x >= (double)max ? max : (uint32_t)x;
}

static double axis_center(const struct axis *a, uint32_t out)
{
	return ((double)out + 0.5) * axis_scale(a);
}

struct coeff_window coeff_window_of(const struct axis *a, uint32_t out)
{
	double support = filters[a->interpolation].support * axis_stretch(a), center = axis_center(a, out);
	uint32_t first = clamp_to(center - support + 0.5, a->in), end = clamp_to(center + support + 0.5, a->in);

	return (struct coeff_window){.first = first, .n = end - first};
}

static uint32_t axis_taps(const struct axis *a)
{
	double support = filters[a->interpolation].support * axis_stretch(a);
	uint32_t whole = (uint32_t)support;

	return 2 * (whole + ((double)whole < support)) + 1;
}

static int32_t fixed_of(double weight)
{
	double scaled = weight * (double)(1 << COEFF_BITS);

	return (int32_t)(weight < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

/* The unnormalised weight is computed twice, which costs less than keeping a table of doubles. */
static void weights_of(const struct axis *a, uint32_t out, struct coeff_window window, int32_t *to)
{
	const struct filter *filter = &filters[a->interpolation];
	double center = axis_center(a, out), step = 1.0 / axis_stretch(a), sum = 0.0;

	for (uint32_t i = 0; i < window.n; i++)
		sum += filter->at(((double)(i + window.first) - center + 0.5) * step);
	for (uint32_t i = 0; i < window.n; i++) {
		double weight = filter->at(((double)(i + window.first) - center + 0.5) * step);

		to[i] = fixed_of(sum != 0.0 ? weight / sum : weight);
	}
}

int coeff_make(struct coeff *ret, enum scratch_slot slot, const struct axis *a, uint32_t first, uint32_t n,
	uint32_t origin, bool mirror)
{
	uint32_t n_taps = axis_taps(a);
	size_t window_bytes = (size_t)n * sizeof(*ret->windows);
	size_t weight_bytes = (size_t)n * n_taps * sizeof(*ret->weights);
	uint8_t *p;
	int r;

	r = scratch_get(slot, window_bytes + weight_bytes, &p);
	if (r < 0)
		return r;
	*ret = (struct coeff){.n_out = n, .n_taps = n_taps, .windows = (void *)p, .weights = (void *)(p + window_bytes)};
	memset(ret->weights, 0, weight_bytes);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t out = mirror ? first + n - 1 - i : first + i;
		struct coeff_window window = coeff_window_of(a, out);

		weights_of(a, out, window, ret->weights + (size_t)i * n_taps);
		window.first -= origin;
		ret->windows[i] = window;
	}
	return 0;
}

/* Groups that would reach over the end of the row begin earlier, where the row has that many samples. */
static void place_groups(struct coeff *x, uint32_t n_in)
{
	uint32_t n_taps = 4 * x->n_groups, last = n_in > n_taps ? n_in - n_taps : 0;

	for (uint32_t i = 0; i < x->n_out; i++)
		x->starts[i] = MIN(x->windows[i].first, last);
	for (uint32_t i = x->n_out; i % 4; i++)
		x->starts[i] = 0;
}

int coeff_room(struct coeff *x, size_t n_bytes)
{
	uint32_t n_fours = (x->n_out + 3) / 4, longest = 0, n_in = 0;
	size_t start_bytes = (size_t)(n_fours + 3) / 4 * 4 * 4 * sizeof(*x->starts);
	uint8_t *p;
	int r;

	for (uint32_t i = 0; i < x->n_out; i++) {
		longest = MAX(longest, x->windows[i].n);
		n_in = MAX(n_in, x->windows[i].first + x->windows[i].n);
	}
	x->n_groups = (longest + 3) / 4;
	r = scratch_get(SCRATCH_COEFF_GROUPS, start_bytes + (size_t)n_fours * x->n_groups * n_bytes, &p);
	if (r < 0)
		return r;
	x->starts = (void *)p;
	x->packed = p + start_bytes;
	place_groups(x, n_in);
	return 0;
}

void coeff_taps(const struct coeff *x, uint32_t out, uint32_t group, int32_t ret[4])
{
	memset(ret, 0, 4 * sizeof(*ret));
	for (uint32_t k = 0; out < x->n_out && k < 4; k++) {
		const struct coeff_window *w = &x->windows[out];
		uint32_t sample = x->starts[out] + 4 * group + k;

		if (sample >= w->first && sample - w->first < w->n)
			ret[k] = x->weights[(size_t)out * x->n_taps + sample - w->first];
	}
}
