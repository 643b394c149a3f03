/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's one copy, against definitions: IEEE neighbours for rounding, a plain loop for the layout. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "base/scope.h"
#include "worker/finish.h"

/* What 16 bits with so many bits of mantissa mean. */
static double value_of(uint32_t bits, int mantissa_bits, int bias)
{
	int exponent = (int)(bits >> mantissa_bits);
	double m = bits & ((1u << mantissa_bits) - 1);

	if (exponent == 0)
		return ldexp(m, 1 - bias - mantissa_bits);
	return ldexp(m + (1u << mantissa_bits), exponent - bias - mantissa_bits);
}

/* Every number of the format, and what lies around the middle between it and the next. */
static void check_format(enum dtype d, int mantissa_bits, int bias, uint32_t infinity)
{
	for (uint32_t b = 0; b < infinity; b++) {
		double here = value_of(b, mantissa_bits, bias), next = value_of(b + 1, mantissa_bits, bias);
		double middle = (here + next) / 2;

		assert_int_equal(finish_round(d, here), b);
		assert_int_equal(finish_round(d, middle), b % 2 ? b + 1 : b);
		assert_int_equal(finish_round(d, nextafter(middle, 0)), b);
		assert_int_equal(finish_round(d, nextafter(middle, INFINITY)), b + 1);
		assert_int_equal(finish_round(d, -here), b | 0x8000);
	}
	assert_int_equal(finish_round(d, INFINITY), infinity);
	assert_int_equal(finish_round(d, -1e300), infinity | 0x8000);
	assert_int_equal(finish_round(d, 5e-324), 0);
	assert_true(finish_round(d, NAN) % 0x8000 > infinity);
}

static void every_half_rounds_to_nearest_even(void **state)
{
	check_format(DTYPE_FLOAT16, 10, 15, 0x7c00);
}

static void every_bfloat16_rounds_to_nearest_even(void **state)
{
	check_format(DTYPE_BFLOAT16, 7, 127, 0x7f80);
}

static void float32_is_what_the_hardware_rounds_to(void **state)
{
	struct philox_key key = philox_key_of(1, "round");

	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t u[4], want;
		double x;
		float f;

		philox(key, i, 0, 0, u);
		/* A random mantissa, and an exponent about the whole range of float and past both its ends. */
		x = ldexp(1 + (u[0] + u[1] / 4294967296.0) / 4294967296.0, (int)(u[2] % 300) - 160);
		x = u[3] % 2 ? -x : x;
		f = (float)x;
		memcpy(&want, &f, sizeof(want));
		assert_int_equal(finish_round(DTYPE_FLOAT32, x), want);
	}
}

static void known_values(void **state)
{
	/* numpy: np.float16(1/3).view(np.uint16), and so on; bfloat16 by torch */
	assert_int_equal(finish_round(DTYPE_FLOAT16, 1 / 3.0), 0x3555);
	assert_int_equal(finish_round(DTYPE_BFLOAT16, 1 / 3.0), 0x3eab);
	assert_int_equal(finish_round(DTYPE_FLOAT32, 1 / 3.0), 0x3eaaaaab);
	assert_int_equal(finish_round(DTYPE_FLOAT16, 65504), 0x7bff);
	assert_int_equal(finish_round(DTYPE_FLOAT16, 65520), 0x7c00);
}

static const struct recipe_field imagenet = {.kind = FIELD_IMAGE, .normalize = true, .mean = {0.485, 0.456, 0.406},
	.std = {0.229, 0.224, 0.225}};

static void values_are_scaled_and_normalised_in_double(void **state)
{
	struct recipe_field field = imagenet;
	struct finish f;

	field.dtype = DTYPE_FLOAT32;
	finish_init(&f, &field);
	for (unsigned v = 0; v < 256; v++) {
		float want = (float)((v / 255.0 - 0.456) / 0.224);

		assert_memory_equal(&f.table[1][v], &want, sizeof(want));
		want = (float)(v / 255.0);
		assert_memory_equal(&f.table[3][v], &want, sizeof(want));
	}
	field.normalize = false;
	field.dtype = DTYPE_UINT8;
	finish_init(&f, &field);
	assert_int_equal(f.table[2][200], 200);
}

#define GUARD 0xa5

/* The definition: element (y, x, k) of the frame. */
static void check_copy(const struct finish *f, uint32_t h, uint32_t w, uint32_t c, uint32_t fh, uint32_t fw)
{
	size_t n = dtype_bytes(f->dtype);
	AUTO_FREE uint8_t *from = mem_alloc(h * w * c);
	AUTO_FREE uint8_t *to = mem_alloc(fh * fw * c * n);
	AUTO_FREE uint8_t *want = mem_alloc(fh * fw * c * n);

	for (size_t i = 0; i < h * w * c; i++)
		from[i] = (uint8_t)(i * 37 + i / 251);
	memset(to, GUARD, fh * fw * c * n);
	memset(want, GUARD, fh * fw * c * n);
	for (size_t y = 0; y < h; y++) {
		for (size_t x = 0; x < w; x++) {
			for (size_t k = 0; k < c; k++) {
				size_t at = f->layout == LAYOUT_HWC ? (y * fw + x) * c + k : (k * fh + y) * fw + x;

				memcpy(want + at * n, &f->table[k][from[(y * w + x) * c + k]], n);
			}
		}
	}
	if (fh == h && fw == w)
		finish_copy(f, from, h, w, c, to);
	else
		finish_copy_padded(f, from, h, w, c, to, fh, fw);
	assert_memory_equal(to, want, fh * fw * c * n);
}

static void check_sizes(const struct finish *f)
{
	for (uint32_t c = 1; c <= 4; c++) {
		for (uint32_t w = 1; w <= 40; w++)
			check_copy(f, 1, w, c, 1, w);
		check_copy(f, 13, 17, c, 13, 17);
		check_copy(f, 13, 17, c, 20, 17);
		check_copy(f, 13, 17, c, 13, 19);
		check_copy(f, 64, 67, c, 70, 80);
	}
}

static void every_dtype_and_layout_equals_the_plain_loop(void **state)
{
	static const enum dtype all[] = {DTYPE_UINT8, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32};

	for (unsigned i = 0; i < N_ELEMS(all); i++) {
		for (unsigned l = LAYOUT_HWC; l <= LAYOUT_CHW; l++) {
			struct recipe_field field = imagenet;
			struct finish f;

			field.dtype = all[i];
			field.layout = l;
			finish_init(&f, &field);
			for (enum cpu_set set = CPU_SCALAR; set <= cpu_has(); set++) {
				finish_use(&f, set);
				check_sizes(&f);
			}
		}
	}
}

/* Of random normalisations nearly all are lines; those that are not keep to the table, which is what check_copy() asks. */
static void random_normalisations_equal_the_table(void **state)
{
	struct philox_key key = philox_key_of(2, "normalize");
	unsigned n_lines = 0;

	for (uint32_t i = 0; i < 300; i++) {
		struct recipe_field field = {.dtype = DTYPE_FLOAT32, .layout = i % 2 ? LAYOUT_CHW : LAYOUT_HWC, .normalize = true};
		struct finish f;

		for (uint32_t k = 0; k < 3; k++) {
			uint32_t u[4];

			philox(key, i, k, 0, u);
			field.mean[k] = u[2] % 4 ? uniform_of(u[0]) : (u[0] % 256) / 255.0;
			field.std[k] = ldexp(uniform_of(u[1]), (int)(u[3] % 8) - 4);
		}
		finish_init(&f, &field);
		n_lines += f.is_line;
		check_copy(&f, 9, 29, 3, 9, 29);
	}
	assert_true(n_lines > 150);
	print_message("%u of 300 are lines\n", n_lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_half_rounds_to_nearest_even),
		cmocka_unit_test(every_bfloat16_rounds_to_nearest_even),
		cmocka_unit_test(float32_is_what_the_hardware_rounds_to),
		cmocka_unit_test(known_values),
		cmocka_unit_test(values_are_scaled_and_normalised_in_double),
		cmocka_unit_test(every_dtype_and_layout_equals_the_plain_loop),
		cmocka_unit_test(random_normalisations_equal_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
