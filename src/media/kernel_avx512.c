/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX-512: the same integer sums, by bytes. doc/design/0013-pixel-kernels.md. */
#ifdef __x86_64__
#include "media/kernel.h"

#include <immintrin.h>

#include "base/scope.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,bmi2")))

/*
 * Of a group of four taps, the weights of four outputs as digits from -128 to 127 (weight = high * 2^16 + middle * 2^8 +
 * low), for the instruction that multiplies and adds four bytes with four bytes: of each output its taps for red, green,
 * blue and nothing. A weight is below 2, so three digits hold it: kernel_scalar's sums would not hold more either.
 */
struct digits {
	__m128i low[4], middle[4], high[4];
};

static AVX512 void pack_output(struct digits *d, unsigned nth, const int32_t taps[4])
{
	const __m128i by_digit = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, -1, -1, -1, -1);
	/* A digit is a byte less 128 once 128 is added to each. */
	__m128i raised = _mm_add_epi32(_mm_loadu_si128((const __m128i *)taps), _mm_set1_epi32(0x808080));
	__m128i all = _mm_xor_si128(_mm_shuffle_epi8(raised, by_digit), _mm_set1_epi8(-128));

	_mm_storeu_si128(&d->low[nth], _mm_shuffle_epi32(all, 0x00));
	_mm_storeu_si128(&d->middle[nth], _mm_shuffle_epi32(all, 0x55));
	_mm_storeu_si128(&d->high[nth], _mm_shuffle_epi32(all, 0xaa));
}

static int pack(struct coeff *x)
{
	int r = coeff_room(x, sizeof(struct digits));
	int32_t taps[4];

	for (uint32_t i = 0; r == 0 && i < (x->n_out + 3) / 4 * 4; i++) {
		for (uint32_t g = 0; g < x->n_groups; g++) {
			coeff_taps(x, i, g, taps);
			pack_output((struct digits *)x->packed + (size_t)(i / 4) * x->n_groups + g, i % 4, taps);
		}
	}
	return r;
}

static inline AVX512 __m512i load_four(const uint8_t *p, const uint32_t at[4])
{
	const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
	__m512i four = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(p + (size_t)3 * at[0])));

	four = _mm512_inserti32x4(four, _mm_loadu_si128((const __m128i *)(p + (size_t)3 * at[1])), 1);
	four = _mm512_inserti32x4(four, _mm_loadu_si128((const __m128i *)(p + (size_t)3 * at[2])), 2);
	four = _mm512_inserti32x4(four, _mm_loadu_si128((const __m128i *)(p + (size_t)3 * at[3])), 3);
	return _mm512_shuffle_epi8(four, order);
}

static inline AVX512 __m128i clamped(__m512i sum)
{
	return _mm512_cvtusepi32_epi8(_mm512_max_epi32(_mm512_srai_epi32(sum, COEFF_BITS), _mm512_setzero_si512()));
}

/*
 * Four pixels, twelve bytes. Sums of digits may wrap on the way; modulo 2^32 their sum is the sum of the whole products,
 * which does not.
 */
static inline AVX512 __m128i sum_four(const struct digits *d, uint32_t n_groups, const uint8_t *p, const uint32_t at[4])
{
	__m512i low = _mm512_set1_epi32(1 << (COEFF_BITS - 1)), middle = _mm512_setzero_si512(), high = middle;

	for (uint32_t g = 0; g < n_groups; g++, d++, p += 12) {
		__m512i taps = load_four(p, at);

		low = _mm512_dpbusd_epi32(low, taps, _mm512_loadu_si512(d->low));
		middle = _mm512_dpbusd_epi32(middle, taps, _mm512_loadu_si512(d->middle));
		high = _mm512_dpbusd_epi32(high, taps, _mm512_loadu_si512(d->high));
	}
	low = _mm512_add_epi32(low, _mm512_add_epi32(_mm512_slli_epi32(middle, 8), _mm512_slli_epi32(high, 16)));
	return _mm_shuffle_epi8(clamped(low), _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
}

static AVX512 void horizontal_rgb(const struct coeff *x, const uint8_t *from, uint8_t *to)
{
	const uint32_t *at = x->starts;
	const struct digits *d = x->packed;

	for (size_t left = (size_t)3 * x->n_out; left > 0; left -= MIN(left, 12u), to += 12, at += 4, d += x->n_groups) {
		__m128i bytes = sum_four(d, x->n_groups, from, at);

		/* What is too much is overwritten by the next four, but behind the last may be another's. */
		if (left >= sizeof(bytes))
			_mm_storeu_si128((__m128i *)to, bytes);
		else
			_mm_mask_storeu_epi8(to, (__mmask16)((1u << MIN(left, 12u)) - 1), bytes);
	}
}

static void horizontal(const struct coeff *x, const uint8_t *from, uint8_t *to, unsigned c)
{
	if (c == 3)
		horizontal_rgb(x, from, to);
	else
		kernel_scalar.horizontal(x, from, to, c);
}

#define RUN 64 /* samples whose sums are held in registers */

static inline AVX512 __m512i weighted(__m128i bytes, __m512i weight)
{
	return _mm512_mullo_epi32(_mm512_cvtepu8_epi32(bytes), weight);
}

static inline AVX512 __m512i next(const uint8_t *p, __m512i weight, __m512i sum)
{
	return _mm512_add_epi32(sum, weighted(_mm_loadu_si128((const __m128i *)p), weight));
}

static inline AVX512 void sum_run(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to)
{
	__m512i a, b, c, d;

	a = b = c = d = _mm512_set1_epi32(1 << (COEFF_BITS - 1));
	for (uint32_t k = 0; k < n_rows; k++, from += stride) {
		__m512i weight = _mm512_set1_epi32(weights[k]);

		a = next(from, weight, a);
		b = next(from + 16, weight, b);
		c = next(from + 32, weight, c);
		d = next(from + 48, weight, d);
	}
	_mm_storeu_si128((__m128i *)to, clamped(a));
	_mm_storeu_si128((__m128i *)(to + 16), clamped(b));
	_mm_storeu_si128((__m128i *)(to + 32), clamped(c));
	_mm_storeu_si128((__m128i *)(to + 48), clamped(d));
}

static AVX512 void vertical(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to,
	size_t n)
{
	size_t at = 0;

	for (; n - at >= RUN; at += RUN)
		sum_run(weights, n_rows, from + at, stride, to + at);
	if (at < n)
		kernel_avx2.vertical(weights, n_rows, from + at, stride, to + at, n - at);
}

const struct kernel kernel_avx512 = {
	.name = "avx512",
	.pack = pack,
	.horizontal = horizontal,
	.vertical = vertical,
};
#endif
