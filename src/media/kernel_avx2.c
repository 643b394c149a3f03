/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX2: the same integer sums, several at a time. doc/design/0013-pixel-kernels.md. */
#ifdef __x86_64__
#include "media/kernel.h"

#include <immintrin.h>
#include <string.h>

#include "base/scope.h"

#define AVX2 __attribute__((target("avx2")))

/*
 * Of a group of four taps, the weights of two outputs, split into 16-bit halves (weight = high * 2^HALF_BITS + low) for
 * the instruction that multiplies and adds pairs of 16-bit numbers: of each output taps 0 and 1 (then 2 and 3) for red,
 * green, blue and nothing.
 */
#define HALF_BITS 15

struct halves {
	__m128i low01[2], low23[2], high01[2], high23[2];
};

static AVX2 void pack_output(struct halves *h, unsigned nth, const int32_t taps[4])
{
	__m128i whole = _mm_loadu_si128((const __m128i *)taps);
	__m128i high = _mm_srai_epi32(_mm_add_epi32(whole, _mm_set1_epi32(1 << (HALF_BITS - 1))), HALF_BITS);
	__m128i low = _mm_sub_epi32(whole, _mm_slli_epi32(high, HALF_BITS));

	low = _mm_packs_epi32(low, low);
	high = _mm_packs_epi32(high, high);
	_mm_storeu_si128(&h->low01[nth], _mm_shuffle_epi32(low, 0x00));
	_mm_storeu_si128(&h->low23[nth], _mm_shuffle_epi32(low, 0x55));
	_mm_storeu_si128(&h->high01[nth], _mm_shuffle_epi32(high, 0x00));
	_mm_storeu_si128(&h->high23[nth], _mm_shuffle_epi32(high, 0x55));
}

static int pack(struct coeff *x)
{
	int r = coeff_room(x, 2 * sizeof(struct halves));
	int32_t taps[4];

	for (uint32_t i = 0; r == 0 && i < (x->n_out + 3) / 4 * 4; i++) {
		for (uint32_t g = 0; g < x->n_groups; g++) {
			coeff_taps(x, i, g, taps);
			pack_output((struct halves *)x->packed + (size_t)(i / 2) * x->n_groups + g, i % 2, taps);
		}
	}
	return r;
}

static inline AVX2 __m256i load(const void *p)
{
	return _mm256_loadu_si256(p);
}

/* Four pixels of three bytes at p, and at q: their samples by twos as 16 bits, in the order of struct halves. */
static inline AVX2 void load_taps(const uint8_t *p, const uint8_t *q, __m256i *ret_01, __m256i *ret_23)
{
	const __m256i order_01 = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
	const __m256i order_23 = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
	__m256i both = _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)), _mm_loadu_si128((const __m128i *)q), 1);

	*ret_01 = _mm256_shuffle_epi8(both, order_01);
	*ret_23 = _mm256_shuffle_epi8(both, order_23);
}

/*
 * Two pixels. Sums of halves may wrap on the way; modulo 2^32 their sum is the sum of the whole products, which does not.
 */
static inline AVX2 __m256i sum_two(const struct halves *h, uint32_t n_groups, const uint8_t *p, const uint8_t *q)
{
	__m256i low = _mm256_set1_epi32(1 << (COEFF_BITS - 1)), high = _mm256_setzero_si256();

	for (uint32_t g = 0; g < n_groups; g++, h++, p += 12, q += 12) {
		__m256i taps_01, taps_23;

		load_taps(p, q, &taps_01, &taps_23);
		low = _mm256_add_epi32(low, _mm256_madd_epi16(taps_01, load(h->low01)));
		high = _mm256_add_epi32(high, _mm256_madd_epi16(taps_01, load(h->high01)));
		low = _mm256_add_epi32(low, _mm256_madd_epi16(taps_23, load(h->low23)));
		high = _mm256_add_epi32(high, _mm256_madd_epi16(taps_23, load(h->high23)));
	}
	return _mm256_srai_epi32(_mm256_add_epi32(low, _mm256_slli_epi32(high, HALF_BITS)), COEFF_BITS);
}

/* Pixels 0 and 1, 2 and 3 as sum_two() has them: twelve bytes in order. */
static inline AVX2 __m128i bytes_of(__m256i sums_01, __m256i sums_23)
{
	__m256i words = _mm256_packs_epi32(sums_01, sums_23), bytes = _mm256_packus_epi16(words, words);
	__m128i pixels = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));

	return _mm_shuffle_epi8(pixels, _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
}

static AVX2 void horizontal_rgb(const struct coeff *x, const uint8_t *from, uint8_t *to)
{
	const uint32_t *at = x->starts;
	const struct halves *h = x->packed;

	for (size_t left = (size_t)3 * x->n_out; left > 0; left -= MIN(left, 12u), to += 12, at += 4, h += 2 * x->n_groups) {
		__m128i bytes = bytes_of(
			sum_two(h, x->n_groups, from + (size_t)3 * at[0], from + (size_t)3 * at[1]),
			sum_two(h + x->n_groups, x->n_groups, from + (size_t)3 * at[2], from + (size_t)3 * at[3]));

		/* What is too much is overwritten by the next four, but behind the last may be another's. */
		if (left >= sizeof(bytes))
			_mm_storeu_si128((__m128i *)to, bytes);
		else
			memcpy(to, &bytes, MIN(left, 12u));
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
	.pack = pack,
	.horizontal = horizontal,
	.vertical = vertical,
};
#endif
