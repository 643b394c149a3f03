/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for AVX-512: two pixels where AVX2 has one. doc/design/0013-pixel-kernels.md. */
#ifdef __x86_64__
#include "media/kernel.h"

#include <immintrin.h>
#include <string.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi2")))

/* Four pixels of each of two places, as kernel_avx2's load_taps() has those of one. */
static inline AVX512 __m512i load_taps(const uint8_t *p, const uint8_t *q)
{
	const __m512i order = _mm512_broadcast_i32x8(_mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,
		6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
	__m256i first = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
	__m256i second = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)q));

	return _mm512_shuffle_epi8(_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1), order);
}

/*
 * Two pixels: bytes 0..3 and 4..7, of which the last are nothing. np and nq: groups of four taps. Where one has fewer, its
 * last ones are looked at again, with weights of 0: its window may end where the image does.
 */
static inline AVX512 uint64_t sum_pixels(const struct coeff_pairs *pairs, const uint8_t *p, uint32_t np, const uint8_t *q,
	uint32_t nq)
{
	__m512i low = _mm512_setzero_si512(), high = low, sum;
	__m256i sums;
	__m128i words;

	for (uint32_t g = 0; g < np || g < nq; g++) {
		__m512i taps = load_taps(p, q);

		low = _mm512_add_epi32(low, _mm512_madd_epi16(taps, _mm512_loadu_si512(pairs[g].low)));
		high = _mm512_add_epi32(high, _mm512_madd_epi16(taps, _mm512_loadu_si512(pairs[g].high)));
		p += g + 1 < np ? 12 : 0;
		q += g + 1 < nq ? 12 : 0;
	}
	sum = _mm512_add_epi32(low, _mm512_slli_epi32(high, COEFF_LOW_BITS));
	/* Taps 0, 1 and taps 2, 3 of a pixel lie in neighbouring quarters. */
	sum = _mm512_add_epi32(sum, _mm512_shuffle_i64x2(sum, sum, _MM_SHUFFLE(2, 3, 0, 1)));
	sums = _mm512_castsi512_si256(_mm512_shuffle_i64x2(sum, sum, _MM_SHUFFLE(2, 0, 2, 0)));
	sums = _mm256_srai_epi32(_mm256_add_epi32(sums, _mm256_set1_epi32(1 << (COEFF_BITS - 1))), COEFF_BITS);
	words = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
	return (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(words, words));
}

static inline uint32_t groups_of(const struct coeff_window *w)
{
	return (w->n + 3) / 4;
}

static AVX512 void horizontal_rgb(const struct coeff *x, const uint8_t *from, uint8_t *to)
{
	const struct coeff_pairs *pairs = x->pairs;

	for (uint32_t i = 0; i < x->n_out; i += 2, to += 6, pairs += x->n_groups) {
		const struct coeff_window *a = &x->windows[i], *b = i + 1 < x->n_out ? a + 1 : a;
		uint64_t two = sum_pixels(pairs, from + (size_t)3 * a->first, groups_of(a),
			from + (size_t)3 * b->first, groups_of(b));

		two = _pext_u64(two, 0x00ffffff00ffffff);
		memcpy(to, &two, i + 1 < x->n_out ? 6 : 3);
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

static inline AVX512 __m128i clamped(__m512i sum)
{
	return _mm512_cvtusepi32_epi8(_mm512_max_epi32(_mm512_srai_epi32(sum, COEFF_BITS), _mm512_setzero_si512()));
}

/* The last run of a row is a part of one: masked lanes are neither read nor written. */
static inline AVX512 void sum_run(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to,
	const __mmask16 *masks)
{
	__m512i sums[4];

	for (unsigned i = 0; i < 4; i++)
		sums[i] = _mm512_set1_epi32(1 << (COEFF_BITS - 1));
	for (uint32_t k = 0; k < n_rows; k++, from += stride) {
		__m512i weight = _mm512_set1_epi32(weights[k]);

		for (unsigned i = 0; i < 4; i++)
			sums[i] = _mm512_add_epi32(sums[i], weighted(_mm_maskz_loadu_epi8(masks[i], from + 16 * i), weight));
	}
	for (unsigned i = 0; i < 4; i++)
		_mm_mask_storeu_epi8(to + 16 * i, masks[i], clamped(sums[i]));
}

static AVX512 void vertical(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to,
	size_t n)
{
	for (size_t at = 0; at < n; at += RUN) {
		size_t left = n - at;
		uint64_t mask = left >= RUN ? UINT64_MAX : (1ull << left) - 1;
		const __mmask16 masks[] = {(__mmask16)mask, (__mmask16)(mask >> 16), (__mmask16)(mask >> 32),
			(__mmask16)(mask >> 48)};

		sum_run(weights, n_rows, from + at, stride, to + at, masks);
	}
}

const struct kernel kernel_avx512 = {
	.name = "avx512",
	.splits_weights = true,
	.horizontal = horizontal,
	.vertical = vertical,
};
#endif
