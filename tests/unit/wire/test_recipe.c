/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes: what is encoded decodes to the same, and nothing unsafe decodes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rd.h"
#include "base/scope.h"
#include "wire/recipe.h"

static struct recipe imagenet(void)
{
	return (struct recipe){
		.resample = RESAMPLE_PILLOW_13, .max_pixels = 1u << 28, .max_bytes = 1u << 28, .n_fields = 2,
		.fields = {
			{.name = "image", .kind = FIELD_IMAGE, .mode = DECODE_RGB, .orientation = ORIENTATION_APPLY,
				.n_steps = 3, .normalize = true, .mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225},
				.dtype = DTYPE_FLOAT32, .layout = LAYOUT_CHW, .collate = COLLATE_STACK,
				.steps = {
					{.kind = STEP_RANDOM_RESIZED_CROP, .interpolation = INTERPOLATION_BILINEAR, .h = 224,
						.w = 224, .scale = {0.08, 1}, .log2_ratio = {-0.415, 0.415}, .key = {{1, 2}}},
					{.kind = STEP_HFLIP, .p = 0.5, .key = {{3, 4}}},
					{.kind = STEP_HFLIP, .p = 0.25, .key = {{3, 4}}, .draw = 256},
				}},
			{.name = "label", .kind = FIELD_INT, .index = 1, .dtype = DTYPE_INT64, .collate = COLLATE_STACK},
		},
	};
}

static int round_trip(const struct recipe *from, struct recipe *to, struct err *e)
{
	struct buf AUTO_BUF b;
	int r;

	buf_init(&b, 1u << 20);
	r = recipe_encode(from, &b);
	return r < 0 ? r : recipe_decode(b.ptr, b.n, to, e);
}

static void what_is_encoded_decodes_to_the_same(void **state)
{
	struct recipe from = imagenet(), to;
	struct buf AUTO_BUF a, AUTO_BUF b;

	buf_init(&a, 1u << 20);
	buf_init(&b, 1u << 20);
	assert_int_equal(round_trip(&from, &to, NULL), 0);
	assert_int_equal(recipe_encode(&from, &a), 0);
	assert_int_equal(recipe_encode(&to, &b), 0);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.ptr, b.ptr, a.n);
	assert_string_equal(to.fields[0].name, "image");
	assert_true(to.fields[0].steps[0].log2_ratio[0] == -0.415 && to.fields[0].std[2] == 0.225);
	assert_int_equal(to.fields[0].steps[2].draw, 256);
	assert_int_equal(to.fields[1].kind, FIELD_INT);
}

static void unused_numbers_do_not_change_the_bytes(void **state)
{
	struct recipe a = imagenet(), b = imagenet();
	struct buf AUTO_BUF x, AUTO_BUF y;

	b.fields[1].mode = DECODE_GRAY;
	b.fields[0].steps[1].h = 77;
	buf_init(&x, 1u << 20);
	buf_init(&y, 1u << 20);
	assert_int_equal(recipe_encode(&a, &x), 0);
	assert_int_equal(recipe_encode(&b, &y), 0);
	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.ptr, y.ptr, x.n);
}

static void magic_and_version_come_first_little_endian(void **state)
{
	struct recipe from = imagenet();
	struct buf AUTO_BUF b;

	buf_init(&b, 1u << 20);
	assert_int_equal(recipe_encode(&from, &b), 0);
	assert_memory_equal(b.ptr, "ODRC\1\0\0\0\1", 9);
}

static void another_version_is_refused_with_words(void **state)
{
	struct recipe from = imagenet(), to;
	struct buf AUTO_BUF b;
	struct err e = {0};

	buf_init(&b, 1u << 20);
	assert_int_equal(recipe_encode(&from, &b), 0);
	b.ptr[4] = 9;
	assert_int_equal(recipe_decode(b.ptr, b.n, &to, &e), E_FORMAT);
	assert_non_null(strstr(e.words, "version 9"));
}

/* Each row breaks one rule of a good recipe. */
static void break_nothing(struct recipe *r) { }
static void break_kind(struct recipe *r) { r->fields[0].kind = 9; }
static void break_dtype(struct recipe *r) { r->fields[0].dtype = DTYPE_INT64; }
static void break_int_dtype(struct recipe *r) { r->fields[1].dtype = DTYPE_UINT8; }
static void break_normalize(struct recipe *r) { r->fields[0].dtype = DTYPE_UINT8; }
static void break_mean(struct recipe *r) { r->fields[0].mean[1] = NAN; }
static void break_std(struct recipe *r) { r->fields[0].std[1] = 0; }
static void break_std_inf(struct recipe *r) { r->fields[0].std[1] = INFINITY; }
static void break_mode(struct recipe *r) { r->fields[0].mode = 0; }
static void break_layout(struct recipe *r) { r->fields[0].layout = 3; }
static void break_step(struct recipe *r) { r->fields[0].steps[1].kind = 0; }
static void break_p(struct recipe *r) { r->fields[0].steps[1].p = 1.5; }
static void break_h(struct recipe *r) { r->fields[0].steps[0].h = 65536; }
static void break_w(struct recipe *r) { r->fields[0].steps[0].w = 0; }
static void break_scale(struct recipe *r) { r->fields[0].steps[0].scale[0] = 0; }
static void break_scales(struct recipe *r) { r->fields[0].steps[0].scale[1] = 0.01; }
static void break_ratio(struct recipe *r) { r->fields[0].steps[0].log2_ratio[0] = 1; }
static void break_ratio_inf(struct recipe *r) { r->fields[0].steps[0].log2_ratio[1] = INFINITY; }
static void break_interpolation(struct recipe *r) { r->fields[0].steps[0].interpolation = 4; }
static void break_draw(struct recipe *r) { r->fields[0].steps[2].draw = 255; }
static void break_name(struct recipe *r) { r->fields[0].name[2] = '/'; }
static void break_name_ascii(struct recipe *r) { r->fields[0].name[2] = '\x1b'; }
static void break_name_empty(struct recipe *r) { r->fields[0].name[0] = '\0'; }
static void break_name_unique(struct recipe *r) { memcpy(r->fields[1].name, "image", 6); }
static void break_index(struct recipe *r) { r->fields[1].index = 32; }
static void break_resample(struct recipe *r) { r->resample = 3; }
static void break_pixels(struct recipe *r) { r->max_pixels = 0; }
static void break_bytes(struct recipe *r) { r->max_bytes = UINT64_MAX; }
static void break_count(struct recipe *r) { r->n_fields = 0; }

static void every_number_out_of_its_range_is_refused(void **state)
{
	static void (*const rows[])(struct recipe *) = {
		break_kind, break_dtype, break_int_dtype, break_normalize, break_mean, break_std, break_std_inf,
		break_mode, break_layout, break_step, break_p, break_h, break_w, break_scale, break_scales, break_ratio,
		break_ratio_inf, break_interpolation, break_draw, break_name, break_name_ascii, break_name_empty,
		break_name_unique, break_index, break_resample, break_pixels, break_bytes, break_count,
	};
	struct recipe good = imagenet(), to;

	break_nothing(&good);
	assert_int_equal(round_trip(&good, &to, NULL), 0);
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		struct recipe bad = imagenet();
		struct err e = {0};

		rows[i](&bad);
		assert_int_equal(round_trip(&bad, &to, &e), E_FORMAT);
		assert_true(strlen(e.words) > 10);
	}
}

static void more_than_the_maxima_is_not_encoded(void **state)
{
	struct recipe bad = imagenet();
	struct buf AUTO_BUF b;

	buf_init(&b, 1u << 20);
	bad.n_fields = RECIPE_MAX_FIELDS + 1;
	assert_int_equal(recipe_encode(&bad, &b), -EINVAL);
	bad = imagenet();
	bad.fields[0].n_steps = RECIPE_MAX_STEPS + 1;
	assert_int_equal(recipe_encode(&bad, &b), -EINVAL);
}

static void every_shorter_recipe_is_refused_and_so_is_a_longer_one(void **state)
{
	struct recipe from = imagenet(), to;
	struct buf AUTO_BUF b;

	buf_init(&b, 1u << 20);
	assert_int_equal(recipe_encode(&from, &b), 0);
	for (size_t n = 0; n < b.n; n++)
		assert_int_equal(recipe_decode(b.ptr, n, &to, NULL), E_FORMAT);
	buf_u8(&b, 0);
	assert_int_equal(recipe_decode(b.ptr, b.n, &to, NULL), E_FORMAT);
}

static void a_fixed_shape_follows_from_the_steps(void **state)
{
	struct recipe_field f = {.kind = FIELD_IMAGE, .mode = DECODE_RGB, .n_steps = 1,
		.steps = {{.kind = STEP_RESIZE, .h = 256}}};
	uint32_t h, w, c;

	assert_false(recipe_fixed_shape(&f, &h, &w, &c));
	f.n_steps = 2;
	f.steps[1] = (struct recipe_step){.kind = STEP_CENTER_CROP, .h = 224, .w = 200};
	assert_true(recipe_fixed_shape(&f, &h, &w, &c));
	assert_true(h == 224 && w == 200 && c == 3);
	f.n_steps = 4;
	f.steps[2] = (struct recipe_step){.kind = STEP_RESIZE, .h = 101};
	f.steps[3] = (struct recipe_step){.kind = STEP_PAD, .h = 64, .w = 128};
	f.mode = DECODE_GRAY;
	assert_true(recipe_fixed_shape(&f, &h, &w, &c));
	/* torchvision: int(101 * 224 / 200) == 113 */
	assert_true(h == 113 && w == 128 && c == 1);
	f.mode = DECODE_KEEP;
	assert_false(recipe_fixed_shape(&f, &h, &w, &c));
}

static void a_failed_allocation_is_reported(void **state)
{
	struct recipe from = imagenet(), to;

	int failed = 1;

	for (unsigned n = 1; failed; n++) {
		int r;

		mem_fail_nth(n);
		r = round_trip(&from, &to, NULL);
		failed = mem_failed();
		assert_int_equal(r, failed ? -ENOMEM : 0);
	}
	mem_fail_nth(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_decodes_to_the_same),
		cmocka_unit_test(unused_numbers_do_not_change_the_bytes),
		cmocka_unit_test(magic_and_version_come_first_little_endian),
		cmocka_unit_test(another_version_is_refused_with_words),
		cmocka_unit_test(every_number_out_of_its_range_is_refused),
		cmocka_unit_test(more_than_the_maxima_is_not_encoded),
		cmocka_unit_test(every_shorter_recipe_is_refused_and_so_is_a_longer_one),
		cmocka_unit_test(a_fixed_shape_follows_from_the_steps),
		cmocka_unit_test(a_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
