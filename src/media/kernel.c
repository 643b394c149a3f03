/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels in plain C, in a form that compilers vectorise. */
#include "media/kernel.h"

#include "base/scope.h"

static const int32_t half = 1 << (COEFF_BITS - 1);

static inline uint8_t clamp_sum(int32_t sum)
{
	int32_t v = sum >> COEFF_BITS;

	v = v < 0 ? 0 : v;
	return (uint8_t)(v > 255 ? 255 : v);
}

static void horizontal_gray(const struct coeff *x, const uint8_t *from, uint8_t *to)
{
	for (uint32_t i = 0; i < x->n_out; i++) {
		const int32_t *weights = x->weights + (size_t)i * x->n_taps;
		const uint8_t *p = from + x->windows[i].first;
		int32_t sum = half;

		for (uint32_t k = 0; k < x->windows[i].n; k++)
			sum += weights[k] * p[k];
		to[i] = clamp_sum(sum);
	}
}

static void horizontal_rgb(const struct coeff *x, const uint8_t *from, uint8_t *to)
{
	for (uint32_t i = 0; i < x->n_out; i++, to += 3) {
		const int32_t *weights = x->weights + (size_t)i * x->n_taps;
		const uint8_t *p = from + (size_t)3 * x->windows[i].first;
		int32_t red = half, green = half, blue = half;

		for (uint32_t k = 0; k < x->windows[i].n; k++, p += 3) {
			red += weights[k] * p[0];
			green += weights[k] * p[1];
			blue += weights[k] * p[2];
		}
		to[0] = clamp_sum(red);
		to[1] = clamp_sum(green);
		to[2] = clamp_sum(blue);
	}
}

static void horizontal(const struct coeff *x, const uint8_t *from, uint8_t *to, unsigned c)
{
	if (c == 1)
		horizontal_gray(x, from, to);
	else
		horizontal_rgb(x, from, to);
}

/* In runs whose sums stay in the first-level cache: the rows are read once, in order. */
static void vertical(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to, size_t n)
{
	int32_t sums[1024];

	for (size_t at = 0; at < n; at += N_ELEMS(sums)) {
		size_t run = MIN(n - at, N_ELEMS(sums));

		for (size_t i = 0; i < run; i++)
			sums[i] = half;
		for (uint32_t k = 0; k < n_rows; k++) {
			const uint8_t *row = from + k * stride + at;
			int32_t weight = weights[k];

			for (size_t i = 0; i < run; i++)
				sums[i] += weight * row[i];
		}
		for (size_t i = 0; i < run; i++)
			to[at + i] = clamp_sum(sums[i]);
	}
}

const struct kernel kernel_scalar = {.name = "scalar", .horizontal = horizontal, .vertical = vertical};

const struct kernel *kernel_of(enum cpu_set set)
{
#ifdef __x86_64__
	static const struct kernel *const kernels[N_CPU_SETS] = {
		[CPU_SCALAR] = &kernel_scalar,
		[CPU_AVX2] = &kernel_avx2,
		[CPU_AVX512] = &kernel_avx512,
	};

	return kernels[set];
#else
	return &kernel_scalar;
#endif
}
