/* SPDX-License-Identifier: Apache-2.0 */
/* finish_wide.h by AVX2 and AVX-512. doc/design/0014-host-process.md has what they gain. */
#include "worker/finish_wide.h"

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))

/* Coefficients of four elements side by side, of which the first is of channel first (of n: 1 or 3). */
static inline AVX2 __m256d four_of(const double *of_channel, unsigned first, unsigned n)
{
	return _mm256_setr_pd(of_channel[first % n], of_channel[(first + 1) % n], of_channel[(first + 2) % n],
		of_channel[(first + 3) % n]);
}

/* Multiplied and added, not fused: what finish_init() tried. */
static inline AVX2 void put_four(__m128i values, __m256d scale, __m256d offset, float *to)
{
	_mm_storeu_ps(to, _mm256_cvtpd_ps(_mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(values), scale), offset)));
}

static AVX2 size_t chw3_avx2(const struct finish_line *line, const uint8_t *from, size_t n, float *to, size_t plane)
{
	const __m128i spread = _mm_setr_epi8(0, -1, -1, -1, 3, -1, -1, -1, 6, -1, -1, -1, 9, -1, -1, -1);
	__m256d scale[3], offset[3];
	size_t i = 0;

	for (unsigned k = 0; k < 3; k++) {
		scale[k] = _mm256_set1_pd(line->scale[k]);
		offset[k] = _mm256_set1_pd(line->offset[k]);
	}
	/* 12 bytes are used of the 16 that are read. */
	for (; n - i >= 6; i += 4) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(from + 3 * i));

		put_four(_mm_shuffle_epi8(bytes, spread), scale[0], offset[0], to + i);
		put_four(_mm_shuffle_epi8(_mm_srli_si128(bytes, 1), spread), scale[1], offset[1], to + plane + i);
		put_four(_mm_shuffle_epi8(_mm_srli_si128(bytes, 2), spread), scale[2], offset[2], to + 2 * plane + i);
	}
	return i;
}

/* n elements of n_channels channels side by side, in runs of twelve. */
static inline AVX2 size_t line_avx2(const struct finish_line *line, const uint8_t *from, size_t n, float *to, unsigned n_channels)
{
	__m256d scale[3], offset[3];
	size_t i = 0;

	for (unsigned k = 0; k < 3; k++) {
		scale[k] = four_of(line->scale, 4 * k, n_channels);
		offset[k] = four_of(line->offset, 4 * k, n_channels);
	}
	for (; n - i >= 16; i += 12) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(from + i));

		put_four(_mm_cvtepu8_epi32(bytes), scale[0], offset[0], to + i);
		put_four(_mm_cvtepu8_epi32(_mm_srli_si128(bytes, 4)), scale[1], offset[1], to + i + 4);
		put_four(_mm_cvtepu8_epi32(_mm_srli_si128(bytes, 8)), scale[2], offset[2], to + i + 8);
	}
	return i;
}

static AVX2 size_t hwc3_avx2(const struct finish_line *line, const uint8_t *from, size_t n, float *to)
{
	return line_avx2(line, from, 3 * n, to, 3) / 3;
}

static AVX2 size_t one_avx2(const struct finish_line *line, const uint8_t *from, size_t n, float *to)
{
	return line_avx2(line, from, n, to, 1);
}

/* Element i of channel k stands in vector v of three at this place; -1: not in that one. */
#define AT(v, k, i) ((3 * (i) + (k)) / 16 == (v) ? (3 * (i) + (k)) % 16 : -1)
#define PLACES(v, k)                                                                                                   \
	_mm_setr_epi8(AT(v, k, 0), AT(v, k, 1), AT(v, k, 2), AT(v, k, 3), AT(v, k, 4), AT(v, k, 5), AT(v, k, 6),       \
		AT(v, k, 7), AT(v, k, 8), AT(v, k, 9), AT(v, k, 10), AT(v, k, 11), AT(v, k, 12), AT(v, k, 13),         \
		AT(v, k, 14), AT(v, k, 15))

/* One channel of sixteen pixels. */
static inline AVX2 void put_channel(const __m128i bytes[3], __m128i first, __m128i second, __m128i third, uint8_t *to)
{
	__m128i some = _mm_or_si128(_mm_shuffle_epi8(bytes[0], first), _mm_shuffle_epi8(bytes[1], second));

	_mm_storeu_si128((__m128i *)to, _mm_or_si128(some, _mm_shuffle_epi8(bytes[2], third)));
}

/* Serves both sets: it waits for memory with 16 at a time, too. */
static AVX2 size_t split3_avx2(const uint8_t *from, size_t n, uint8_t *to, size_t plane)
{
	size_t i = 0;

	for (; n - i >= 16; i += 16) {
		const __m128i *at = (const __m128i *)(from + 3 * i);
		__m128i bytes[3] = {_mm_loadu_si128(at), _mm_loadu_si128(at + 1), _mm_loadu_si128(at + 2)};

		put_channel(bytes, PLACES(0, 0), PLACES(1, 0), PLACES(2, 0), to + i);
		put_channel(bytes, PLACES(0, 1), PLACES(1, 1), PLACES(2, 1), to + plane + i);
		put_channel(bytes, PLACES(0, 2), PLACES(1, 2), PLACES(2, 2), to + 2 * plane + i);
	}
	return i;
}

static inline AVX512 void put_eight(__m256i values, __m512d scale, __m512d offset, float *to)
{
	_mm256_storeu_ps(to, _mm512_cvtpd_ps(_mm512_add_pd(_mm512_mul_pd(_mm512_cvtepi32_pd(values), scale), offset)));
}

/* Byte 3i + k of 24 to the low byte of element i. */
static inline AVX512 __m256i spread_channel(__m256i bytes, unsigned k)
{
	const __m256i order = _mm256_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21);

	return _mm256_maskz_permutexvar_epi8(0x11111111, _mm256_add_epi32(order, _mm256_set1_epi32((int)k)), bytes);
}

static AVX512 size_t chw3_avx512(const struct finish_line *line, const uint8_t *from, size_t n, float *to, size_t plane)
{
	__m512d scale[3], offset[3];
	size_t i = 0;

	for (unsigned k = 0; k < 3; k++) {
		scale[k] = _mm512_set1_pd(line->scale[k]);
		offset[k] = _mm512_set1_pd(line->offset[k]);
	}
	for (; n - i >= 8; i += 8) {
		__m256i bytes = _mm256_maskz_loadu_epi8(0x00ffffff, from + 3 * i);

		for (unsigned k = 0; k < 3; k++)
			put_eight(spread_channel(bytes, k), scale[k], offset[k], to + k * plane + i);
	}
	return i;
}

static inline AVX512 __m512d eight_of(const double *of_channel, unsigned first, unsigned n)
{
	return _mm512_setr_pd(of_channel[first % n], of_channel[(first + 1) % n], of_channel[(first + 2) % n],
		of_channel[(first + 3) % n], of_channel[(first + 4) % n], of_channel[(first + 5) % n],
		of_channel[(first + 6) % n], of_channel[(first + 7) % n]);
}

static inline AVX512 size_t line_avx512(const struct finish_line *line, const uint8_t *from, size_t n, float *to,
	unsigned n_channels)
{
	__m512d scale[3], offset[3];
	size_t i = 0;

	for (unsigned k = 0; k < 3; k++) {
		scale[k] = eight_of(line->scale, 8 * k, n_channels);
		offset[k] = eight_of(line->offset, 8 * k, n_channels);
	}
	for (; n - i >= 24; i += 24) {
		for (unsigned k = 0; k < 3; k++) {
			__m128i bytes = _mm_loadl_epi64((const __m128i *)(from + i + 8 * k));

			put_eight(_mm256_cvtepu8_epi32(bytes), scale[k], offset[k], to + i + 8 * k);
		}
	}
	return i;
}

static AVX512 size_t hwc3_avx512(const struct finish_line *line, const uint8_t *from, size_t n, float *to)
{
	return line_avx512(line, from, 3 * n, to, 3) / 3;
}

static AVX512 size_t one_avx512(const struct finish_line *line, const uint8_t *from, size_t n, float *to)
{
	return line_avx512(line, from, n, to, 1);
}

static const struct finish_wide wide_avx2 = {.chw3 = chw3_avx2, .hwc3 = hwc3_avx2, .one = one_avx2, .split3 = split3_avx2};
static const struct finish_wide wide_avx512 = {.chw3 = chw3_avx512, .hwc3 = hwc3_avx512, .one = one_avx512,
	.split3 = split3_avx2};

const struct finish_wide *finish_wide_of(enum cpu_set set)
{
	return set == CPU_AVX512 ? &wide_avx512 : set == CPU_AVX2 ? &wide_avx2 : NULL;
}
#else
const struct finish_wide *finish_wide_of(enum cpu_set set)
{
	return NULL;
}
#endif
