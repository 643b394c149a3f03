/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels into batch slots by a table of 256 results per channel, so that every machine gives the same bits. */
#include "worker/finish.h"

#include <string.h>

#include "base/scope.h"

/* IEEE 754 binary64, and what it is rounded to. */
#define DOUBLE_MANTISSA 52
#define DOUBLE_BIAS 1023
#define DOUBLE_SPECIAL 0x7ff

static const struct float_format {
	unsigned exponent_bits, mantissa_bits;
} float_formats[] = {
	[DTYPE_FLOAT16] = {5, 10},
	[DTYPE_BFLOAT16] = {8, 7},
	[DTYPE_FLOAT32] = {8, 23},
};

/* m / 2^shift to the nearest integer, ties to even. 1 <= shift; m < 2^53. */
static uint64_t shift_to_even(uint64_t m, unsigned shift)
{
	uint64_t whole, rest, half;

	if (shift > DOUBLE_MANTISSA + 1)
		return 0;
	whole = m >> shift;
	rest = m & ((1ull << shift) - 1);
	half = 1ull << (shift - 1);
	return whole + (rest > half || (rest == half && (whole & 1)));
}

/*
 * In integers, because a cast through float would round twice, and because half and bfloat16 have no type that all our
 * compilers know. A carry out of the mantissa runs into the exponent, which is the right result, infinity included.
 */
uint32_t finish_round(enum dtype d, double x)
{
	const struct float_format *f = &float_formats[d];
	unsigned shift = DOUBLE_MANTISSA - f->mantissa_bits;
	uint32_t sign, infinity = ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
	uint64_t bits, mantissa;
	int exponent;

	memcpy(&bits, &x, sizeof(bits));
	sign = (uint32_t)(bits >> 63) << (f->exponent_bits + f->mantissa_bits);
	exponent = (int)(bits >> DOUBLE_MANTISSA & DOUBLE_SPECIAL);
	mantissa = bits & ((1ull << DOUBLE_MANTISSA) - 1);
	if (exponent == DOUBLE_SPECIAL)
		return sign | infinity | (mantissa ? 1u << (f->mantissa_bits - 1) : 0);
	/* Subnormal doubles are far below half of the smallest number of any format here. */
	if (exponent == 0)
		return sign;
	mantissa |= 1ull << DOUBLE_MANTISSA;
	exponent += (1 << (f->exponent_bits - 1)) - 1 - DOUBLE_BIAS;
	if (exponent >= (1 << f->exponent_bits) - 1)
		return sign | infinity;
	if (exponent < 1)
		return sign | (uint32_t)shift_to_even(mantissa, shift + (unsigned)(1 - exponent));
	return sign | (((uint32_t)(exponent - 1) << f->mantissa_bits) + (uint32_t)shift_to_even(mantissa, shift));
}

static uint32_t finish_value(const struct recipe_field *field, unsigned channel, unsigned v)
{
	double x = v / 255.0;

	if (field->dtype == DTYPE_UINT8)
		return v;
	if (field->normalize && channel < N_ELEMS(field->mean))
		x = (x - field->mean[channel]) / field->std[channel];
	return finish_round(field->dtype, x);
}

static bool line_fits(const struct finish_line *line, const uint32_t table[256], unsigned c)
{
	for (unsigned v = 0; v < 256; v++) {
		float x = (float)(line->scale[c] * v + line->offset[c]);

		if (memcmp(&x, &table[v], sizeof(x)) != 0)
			return false;
	}
	return true;
}

/* Rounded to float both are nearly always the same; that they are is tried, not believed. */
static bool line_of(const struct finish *f, const struct recipe_field *field, struct finish_line *ret)
{
	bool fits = f->dtype == DTYPE_FLOAT32;

	for (unsigned c = 0; fits && c < N_ELEMS(f->table); c++) {
		bool normalize = field->normalize && c < N_ELEMS(field->mean);

		ret->scale[c] = normalize ? 1 / (255 * field->std[c]) : 1 / 255.0;
		ret->offset[c] = normalize ? -field->mean[c] / field->std[c] : 0;
		fits = line_fits(ret, f->table[c], c);
	}
	return fits;
}

void finish_use(struct finish *f, enum cpu_set set)
{
	f->wide = f->is_line || f->dtype == DTYPE_UINT8 ? finish_wide_of(set) : NULL;
}

void finish_init(struct finish *f, const struct recipe_field *field)
{
	f->dtype = field->dtype;
	f->layout = field->layout;
	for (unsigned c = 0; c < N_ELEMS(f->table); c++) {
		for (unsigned v = 0; v < 256; v++)
			f->table[c][v] = finish_value(field, c, v);
	}
	f->is_line = line_of(f, field, &f->line);
	finish_use(f, cpu_set());
}

/* Where the elements go: a row of a frame, and in CHW the distance from one channel's plane to the next. */
struct target {
	void *row;
	size_t plane;	/* elements */
};

typedef const uint32_t finish_table[256];

/*
 * One row of n pixels. The channels are a constant in each copy that the compiler makes of these, and restrict tells it
 * that the table does not change under the stores.
 */
#define DEFINE_ROWS(type)                                                                                    \
	static inline __attribute__((always_inline)) void hwc_##type(finish_table *restrict table,           \
		const uint8_t *restrict from, size_t n, unsigned c, const struct target *t)                  \
	{                                                                                                    \
		type *restrict to = t->row;                                                                  \
                                                                                                             \
		for (size_t i = 0; i < n; i++) {                                                             \
			_Pragma("GCC unroll 3") for (unsigned k = 0; k < c; k++)                             \
				to[i * c + k] = (type)table[k][from[i * c + k]];                             \
		}                                                                                            \
	}                                                                                                    \
	static inline __attribute__((always_inline)) void chw_##type(finish_table *restrict table,           \
		const uint8_t *restrict from, size_t n, unsigned c, const struct target *t)                  \
	{                                                                                                    \
		type *restrict to = t->row;                                                                  \
                                                                                                             \
		for (size_t i = 0; i < n; i++) {                                                             \
			_Pragma("GCC unroll 3") for (unsigned k = 0; k < c; k++)                             \
				to[k * t->plane + i] = (type)table[k][from[i * c + k]];                      \
		}                                                                                            \
	}                                                                                                    \
	static void hwc_row_##type(finish_table *table, const uint8_t *from, size_t n, unsigned c,           \
		const struct target *t)                                                                      \
	{                                                                                                    \
		c == 3 ? hwc_##type(table, from, n, 3, t) : hwc_##type(table, from, n, c, t);                \
	}                                                                                                    \
	static void chw_row_##type(finish_table *table, const uint8_t *from, size_t n, unsigned c,           \
		const struct target *t)                                                                      \
	{                                                                                                    \
		c == 3 ? chw_##type(table, from, n, 3, t) : chw_##type(table, from, n, c, t);                \
	}

DEFINE_ROWS(uint16_t)
DEFINE_ROWS(uint32_t)

/* uint8 has no table to go through. */
static void hwc_row_uint8_t(finish_table *table, const uint8_t *from, size_t n, unsigned c, const struct target *t)
{
	memcpy(t->row, from, n * c);
}

static void chw_row_uint8_t(finish_table *table, const uint8_t *from, size_t n, unsigned c, const struct target *t)
{
	uint8_t *restrict to = t->row;

	for (unsigned k = 0; k < c; k++) {
		for (size_t i = 0; i < n; i++)
			to[k * t->plane + i] = from[i * c + k];
	}
}

typedef void finish_row(finish_table *table, const uint8_t *from, size_t n, unsigned c, const struct target *t);

static finish_row *const finish_rows[][LAYOUT_CHW + 1] = {
	[1] = {[LAYOUT_HWC] = hwc_row_uint8_t, [LAYOUT_CHW] = chw_row_uint8_t},
	[2] = {[LAYOUT_HWC] = hwc_row_uint16_t, [LAYOUT_CHW] = chw_row_uint16_t},
	[4] = {[LAYOUT_HWC] = hwc_row_uint32_t, [LAYOUT_CHW] = chw_row_uint32_t},
};

/* How many of the row's pixels were made without the table. */
static size_t wide_row(const struct finish *f, const uint8_t *from, size_t n, unsigned c, const struct target *t)
{
	if (!f->wide)
		return 0;
	/* All but this is a memcpy, or close to one. */
	if (f->dtype == DTYPE_UINT8)
		return c == 3 && f->layout == LAYOUT_CHW ? f->wide->split3(from, n, t->row, t->plane) : 0;
	if (c == 1)
		return f->wide->one(&f->line, from, n, t->row);
	if (c != 3)
		return 0;
	return f->layout == LAYOUT_HWC ? f->wide->hwc3(&f->line, from, n, t->row) :
		f->wide->chw3(&f->line, from, n, t->row, t->plane);
}

static void copy_row(const struct finish *f, const uint8_t *from, size_t n, unsigned c, const struct target *t)
{
	unsigned n_bytes = dtype_bytes(f->dtype);
	size_t done = wide_row(f, from, n, c, t);
	struct target rest = {.row = (uint8_t *)t->row + done * (f->layout == LAYOUT_HWC ? c : 1) * n_bytes, .plane = t->plane};

	finish_rows[n_bytes][f->layout](f->table, from + done * c, n - done, c, &rest);
}

void finish_copy_padded(const struct finish *f, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, void *to,
	uint32_t frame_h, uint32_t frame_w)
{
	unsigned n_bytes = dtype_bytes(f->dtype);
	size_t n_rows = h, n = w, stride = (size_t)frame_w * (f->layout == LAYOUT_HWC ? c : 1);
	struct target t = {.plane = (size_t)frame_h * frame_w};

	/* Rows without a gap between them are one row. */
	if (frame_w == w) {
		n *= h;
		n_rows = 1;
	}
	for (size_t y = 0; y < n_rows; y++) {
		t.row = (uint8_t *)to + y * stride * n_bytes;
		copy_row(f, from + y * n * c, n, c, &t);
	}
}

void finish_copy(const struct finish *f, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, void *to)
{
	finish_copy_padded(f, from, h, w, c, to, h, w);
}
