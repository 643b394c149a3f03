/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX2: the same integer sums, several at a time. doc/design/0013-pixel-kernels.md. */
#ifdef __x86_64__
#include "media/kernel.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

/* Four pixels of three bytes into pairs of 16 bits: (r0 r1) (g0 g1) (b0 b1) nothing | (r2 r3) (g2 g3) (b2 b3) nothing. */
static inline AVX2 __m256i load_taps(const uint8_t *p)
{
	const __m256i order = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,
		6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);

	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p)), order);
}

/*
 * Sums of halves may wrap on the way; modulo 2^32 their sum is the sum of the whole products, which does not.
 * One pixel, as four bytes of which the last is nothing.
 */
static inline AVX2 uint32_t sum_pixel(const struct coeff_pairs *pairs, uint32_t n_groups, unsigned nth, const uint8_t *p)
{
	__m256i low = _mm256_setzero_si256(), high = low, sum;
	__m128i sums;

	for (uint32_t g = 0; g < n_groups; g++, p += 12) {
		__m256i taps = load_taps(p);

		low = _mm256_add_epi32(low, _mm256_madd_epi16(taps, _mm256_loadu_si256((const __m256i *)pairs[g].low[nth])));
		high = _mm256_add_epi32(high, _mm256_madd_epi16(taps, _mm256_loadu_si256((const __m256i *)pairs[g].high[nth])));
	}
	sum = _mm256_add_epi32(low, _mm256_slli_epi32(high, COEFF_LOW_BITS));
	sums = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
	sums = _mm_srai_epi32(_mm_add_epi32(sums, _mm_set1_epi32(1 << (COEFF_BITS - 1))), COEFF_BITS);
	sums = _mm_packus_epi16(_mm_packs_epi32(sums, sums), sums);
	return (uint32_t)_mm_cvtsi128_si32(sums);
}

static AVX2 void horizontal_rgb(const struct coeff *x, const uint8_t *from, uint8_t *to)
{
	for (uint32_t i = 0; i < x->n_out; i++, to += 3) {
		uint32_t pixel = sum_pixel(x->pairs + (size_t)(i / 2) * x->n_groups, (x->windows[i].n + 3) / 4, i % 2,
			from + (size_t)3 * x->windows[i].first);

		/* The fourth byte is overwritten by the next pixel, but behind the last may be another's. */
		memcpy(to, &pixel, i + 1 < x->n_out ? 4 : 3);
	}
}

static void horizontal(const struct coeff *x, const uint8_t *from, uint8_t *to, unsigned c)
{
	if (c == 3)
		horizontal_rgb(x, from, to);
	else
		kernel_scalar.horizontal(x, from, to, c);
}

#define RUN 32 /* samples whose sums are held in registers */

static inline AVX2 __m256i weighted(const uint8_t *p, __m256i weight)
{
	return _mm256_mullo_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)), weight);
}

static inline AVX2 __m256i rounded(__m256i sum)
{
	return _mm256_srai_epi32(sum, COEFF_BITS);
}

static inline AVX2 void sum_run(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to)
{
	__m256i a, b, c, d, bytes;

	a = b = c = d = _mm256_set1_epi32(1 << (COEFF_BITS - 1));
	for (uint32_t k = 0; k < n_rows; k++, from += stride) {
		__m256i weight = _mm256_set1_epi32(weights[k]);

		a = _mm256_add_epi32(a, weighted(from, weight));
		b = _mm256_add_epi32(b, weighted(from + 8, weight));
		c = _mm256_add_epi32(c, weighted(from + 16, weight));
		d = _mm256_add_epi32(d, weighted(from + 24, weight));
	}
	/* Packing works within halves of a register; the last step puts the eight parts into order. */
	bytes = _mm256_packus_epi16(_mm256_packs_epi32(rounded(a), rounded(b)), _mm256_packs_epi32(rounded(c), rounded(d)));
	bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
	_mm256_storeu_si256((__m256i *)to, bytes);
}

static AVX2 void vertical(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to, size_t n)
{
	size_t at = 0;

	for (; n - at >= RUN; at += RUN)
		sum_run(weights, n_rows, from + at, stride, to + at);
	if (at < n)
		kernel_scalar.vertical(weights, n_rows, from + at, stride, to + at, n - at);
}

const struct kernel kernel_avx2 = {
	.name = "avx2",
	.splits_weights = true,
	.horizontal = horizontal,
	.vertical = vertical,
};
#endif
