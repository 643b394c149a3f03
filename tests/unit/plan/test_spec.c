/* SPDX-License-Identifier: Apache-2.0 */
/* Specs that are taken: what they mean, and that they are written so. test_spec_words.c has those that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/poly.h"
#include "spec_parsed.h"

static void the_example_of_the_design_is_understood(void **state)
{
	AUTO(spec) struct spec *s = parse(design_example);
	const struct recipe_field *image = &s->recipe.fields[0];

	assert_int_equal(s->n_sources, 2);
	assert_string_equal(s->sources[0].data[0], "hdfs://train/cc/{00000..00499}.tar");
	assert_true(s->sources[0].weighted && s->sources[0].weight == 0.7 && s->sources[1].weight == 0.3);
	assert_int_equal(s->sources[1].on_end, ON_END_REPEAT);
	assert_int_equal(s->recipe.n_fields, 3);
	assert_string_equal(image->name, "image");
	assert_int_equal(s->fields[0].n_from, 3);
	assert_string_equal(s->fields[0].from[2], "webp");
	assert_int_equal(image->kind, FIELD_IMAGE);
	assert_int_equal(image->orientation, ORIENTATION_APPLY);
	assert_int_equal(image->n_steps, 2);
	assert_int_equal(image->steps[0].kind, STEP_RANDOM_RESIZED_CROP);
	assert_int_equal(image->steps[0].h, 224);
	assert_int_equal(image->steps[0].w, 224);
	assert_true(image->steps[1].kind == STEP_HFLIP && image->steps[1].p == 0.5);
	assert_true(image->normalize && image->mean[0] == 0.485 && image->std[2] == 0.225);
	assert_true(image->dtype == DTYPE_FLOAT32 && image->layout == LAYOUT_CHW);
	assert_int_equal(s->fields[1].on_missing, ON_MISSING_SKIP);
	assert_int_equal(s->recipe.fields[1].kind, FIELD_TEXT);
	assert_true(s->recipe.fields[2].kind == FIELD_INT && s->recipe.fields[2].dtype == DTYPE_INT64);
	assert_true(s->seed == 7 && s->order == ORDER_WINDOW && s->window == 200000 && s->group == 64);
	assert_true(s->batch == 1024 && s->batch_is_global && s->tail == TAIL_DROP);
	assert_true(s->on_bad == ON_BAD_SKIP && s->stop_above_ppm == 1000);
	assert_true(s->n_skip == 1 && s->skip[0].first == 1310720 && s->skip[0].last == 1351679);
}

static void defaults_hold_where_nothing_is_said(void **state)
{
	AUTO(spec) struct spec *s = parse(DATA "fields: {jpg: , txt: {}}\n");
	const struct recipe_field *jpg = &s->recipe.fields[0];

	assert_true(s->sources[0].format == FORMAT_INFER && s->sources[0].on_end == ON_END_STOP);
	assert_true(!s->sources[0].weighted && s->sources[0].weight == 1);
	assert_true(s->seed == 0 && s->order == ORDER_SEQUENTIAL && s->window == 0 && s->group == 0);
	assert_true(s->batch == 32 && s->batch_is_global && s->tail == TAIL_SHORT && s->n_skip == 0);
	assert_true(s->on_bad == ON_BAD_STOP && s->stop_above_ppm == 1000);
	assert_true(s->recipe.resample == RESAMPLE_PILLOW_13);
	assert_true(s->recipe.max_pixels == 178956970 && s->recipe.max_bytes == 256u << 20);
	assert_string_equal(s->fields[0].from[0], "jpg");
	assert_int_equal(s->fields[0].on_missing, ON_MISSING_FAIL);
	assert_true(jpg->kind == FIELD_IMAGE && jpg->mode == DECODE_RGB && jpg->orientation == ORIENTATION_IGNORE);
	assert_true(jpg->n_steps == 0 && !jpg->normalize && jpg->dtype == DTYPE_UINT8);
	assert_true(jpg->layout == LAYOUT_HWC && jpg->collate == COLLATE_STACK);
	assert_int_equal(s->recipe.fields[1].kind, FIELD_TEXT);
	assert_int_equal(s->recipe.fields[1].index, 1);
}

static void kinds_follow_extensions_unless_said(void **state)
{
	static const struct {
		const char *keys;
		enum field_kind kind;
		enum dtype dtype;
	} rows[] = {
		{"from: [jpg, JPEG, png, webp]", FIELD_IMAGE, DTYPE_UINT8},
		{"from: seg.png", FIELD_IMAGE, DTYPE_UINT8},
		{"from: txt", FIELD_TEXT, DTYPE_UINT8},
		{"from: json", FIELD_TEXT, DTYPE_UINT8},
		{"from: json, as: json", FIELD_JSON, DTYPE_UINT8},
		{"from: cls", FIELD_INT, DTYPE_INT64},
		{"from: npy", FIELD_BYTES, DTYPE_UINT8},
		{"from: jpg, as: bytes", FIELD_BYTES, DTYPE_UINT8},
		{"from: [jpg, npy], as: bytes", FIELD_BYTES, DTYPE_UINT8},
		{"from: score, as: float", FIELD_FLOAT, DTYPE_FLOAT64},
		{"from: score, as: float, dtype: float32", FIELD_FLOAT, DTYPE_FLOAT32},
		{"from: picture, decode: gray", FIELD_IMAGE, DTYPE_UINT8},
		{"from: picture, resize: 8, dtype: float16", FIELD_IMAGE, DTYPE_FLOAT16},
	};

	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		AUTO(spec) struct spec *s = parse_field(rows[i].keys);

		assert_int_equal(s->recipe.fields[0].kind, rows[i].kind);
		assert_int_equal(s->recipe.fields[0].dtype, rows[i].dtype);
	}
}

static void steps_run_in_the_order_written(void **state)
{
	static const enum step_kind want[] = {STEP_PAD, STEP_VFLIP, STEP_RESIZE, STEP_GRAYSCALE, STEP_RANDOM_CROP,
		STEP_HFLIP, STEP_CENTER_CROP};
	AUTO(spec) struct spec *s = parse_field("from: jpg, pad: [10, 20], vflip: 0, resize: {size: [30, 40], "
		"interpolation: bicubic}, grayscale: 1, random_crop: 25, hflip: 1e-3, center_crop: [3, 4]");
	const struct recipe_step *steps = s->recipe.fields[0].steps;

	assert_int_equal(s->recipe.fields[0].n_steps, N_ELEMS(want));
	for (size_t i = 0; i < N_ELEMS(want); i++)
		assert_int_equal(steps[i].kind, want[i]);
	assert_true(steps[0].h == 10 && steps[0].w == 20);
	assert_true(steps[2].h == 30 && steps[2].w == 40 && steps[2].interpolation == INTERPOLATION_BICUBIC);
	assert_true(steps[3].p == 1 && steps[5].p == 0.001);
	assert_true(steps[4].h == 25 && steps[4].w == 25 && steps[6].h == 3 && steps[6].w == 4);
}

static void resize_to_one_number_is_the_shorter_side(void **state)
{
	AUTO(spec) struct spec *s = parse_field("from: jpg, resize: 256");

	assert_int_equal(s->recipe.fields[0].steps[0].h, 256);
	assert_int_equal(s->recipe.fields[0].steps[0].w, 0);
	assert_int_equal(s->recipe.fields[0].steps[0].interpolation, INTERPOLATION_BILINEAR);
}

static void a_random_resized_crop_has_logarithms_of_its_ratio(void **state)
{
	AUTO(spec) struct spec *s = parse_field("from: jpg, random_resized_crop: 8");
	AUTO(spec) struct spec *t = parse_field("from: jpg, random_resized_crop: {ratio: [1/2, 0.75], scale: [0.5, 0.5], "
		"size: [5, 6], interpolation: box}");
	const struct recipe_step *a = s->recipe.fields[0].steps, *b = t->recipe.fields[0].steps;

	assert_true(a->scale[0] == 0.08 && a->scale[1] == 1 && a->interpolation == INTERPOLATION_BILINEAR);
	assert_true(a->log2_ratio[0] == log2_poly(3.0 / 4) && a->log2_ratio[1] == log2_poly(4.0 / 3));
	assert_true(b->log2_ratio[0] == -1 && b->log2_ratio[1] == log2_poly(0.75));
	assert_true(b->h == 5 && b->w == 6 && b->scale[0] == 0.5 && b->interpolation == INTERPOLATION_BOX);
}

static void random_keys_come_from_seed_and_step(void **state)
{
	/* The seed stands behind the fields, and still holds for them. */
	AUTO(spec) struct spec *s = parse(DATA "fields: {jpg: {random_resized_crop: 8, hflip: 0.5}}\nseed: 18446744073709551615\n");
	const struct recipe_step *steps = s->recipe.fields[0].steps;
	struct philox_key crop = philox_key_of(UINT64_MAX, "random_resized_crop");
	struct philox_key flip = philox_key_of(UINT64_MAX, "hflip");

	assert_memory_equal(&steps[0].key, &crop, sizeof(crop));
	assert_memory_equal(&steps[1].key, &flip, sizeof(flip));
	assert_int_equal(steps[0].draw, 0);
	assert_int_equal(steps[1].draw, 0);
}

static void a_named_transform_stands_for_its_keys(void **state)
{
	AUTO(spec) struct spec *a = parse(DATA "fields: {jpg: {transform: imagenet_train}, png: {transform: imagenet_val, "
		"dtype: float16}}\n");
	AUTO(spec) struct spec *b = parse(DATA "fields: {jpg: {random_resized_crop: 224, hflip: 0.5, normalize: imagenet, "
		"layout: chw}, png: {resize: 256, center_crop: 224, normalize: imagenet, dtype: float16, layout: chw}}\n");

	assert_true(spec_equal(a, b));
}

static void gray_images_have_one_mean(void **state)
{
	AUTO(spec) struct spec *s = parse_field("from: png, decode: gray, normalize: {mean: [0.5], std: [0.25]}");
	const struct recipe_field *f = &s->recipe.fields[0];

	assert_true(f->mode == DECODE_GRAY && f->orientation == ORIENTATION_IGNORE && f->dtype == DTYPE_FLOAT32);
	assert_true(f->mean[0] == 0.5 && f->std[0] == 0.25);
}

static void skipped_ranges_are_sorted_and_joined(void **state)
{
	AUTO(spec) struct spec *s = parse(DATA "skip_samples: [[50, 60], [0, 4], [5, 9], [55, 70], [20, 20], "
		"[100, 18446744073709551615], [200, 300]]\n");
	static const struct spec_range want[] = {{0, 9}, {20, 20}, {50, 70}, {100, UINT64_MAX}};

	assert_int_equal(s->n_skip, N_ELEMS(want));
	assert_memory_equal(s->skip, want, sizeof(want));
}

static void numbers_are_written_in_several_ways(void **state)
{
	AUTO(spec) struct spec *s = parse(DATA "batch: 7\norder: shuffle\non_error: {stop_above: 0.0001%}\n"
		"limits: {pixels: 1000, bytes: 3K}\nresample: pillow-12\ntail: carry\n");
	AUTO(spec) struct spec *t = parse(DATA "on_error: {stop_above: 0.25}\norder: {shuffle: {}}\n");

	assert_true(s->batch == 7 && !s->batch_is_global && s->order == ORDER_SHUFFLE && s->stop_above_ppm == 1);
	assert_true(s->recipe.max_pixels == 1000 && s->recipe.max_bytes == 3072 && s->tail == TAIL_CARRY);
	assert_int_equal(s->recipe.resample, RESAMPLE_PILLOW_12);
	assert_true(t->stop_above_ppm == 250000 && t->order == ORDER_WINDOW && t->window == 200000 && t->group == 64);
}

static void a_byte_order_mark_is_passed_over(void **state)
{
	AUTO(spec) struct spec *s = parse("\xef\xbb\xbf" DATA "seed: 3\n");

	assert_int_equal(s->seed, 3);
}

static void a_field_that_is_no_mapping_is_what_it_is_from(void **state)
{
	AUTO(spec) struct spec *s = parse(DATA "fields: {text: txt, image: [jpg, png], cls: }\n");
	AUTO(spec) struct spec *t = parse(DATA "fields: {text: {from: txt}, image: {from: [jpg, png]}, cls: {from: cls}}\n");

	assert_true(spec_equal(s, t));
}

static void what_is_written_parses_to_the_same(void **state)
{
	static const char *const texts[] = {
		design_example,
		DATA,
		DATA "fields: {jpg: , null: {from: txt}, '7': {from: ['null', '1.5', a-b], as: bytes, on_missing: empty}}\n",
		DATA "fields: {text: txt, image: [jpg, png], seg.png: }\n",
		DATA "fields: {a: {from: npy}, b: {as: float, dtype: float32}, c: {as: float}, d: {as: json}}\n",
		DATA "fields: {x: {from: png, decode: gray, resize: [1, 65535], normalize: {mean: [-0.1], std: [0x1.8p-3]}}}\n",
		DATA "fields: {x: {from: png, decode: keep, collate: pad, pad: 7, vflip: 0.30000000000000004}}\n",
		DATA "fields: {x: {from: jpg, collate: ragged, dtype: bfloat16}}\n",
		DATA "fields: {x: {from: jpg, random_resized_crop: {size: [2, 3], scale: [1e-9, 1], ratio: [1/3, 1e4]}}}\n",
		"sources: [{data: ['it''s: a #path', \"tab\\there\", 'ü', '- x', '~', '*', '&a', '!t', '%', '@', \"\\uFFFE\"]}]\n",
		"sources: [{data: a, weight: 1e-5}, {data: [b, c], weight: 3, on_end: drop, format: files}]\n",
		DATA "batch: 3\norder: shuffle\nskip_samples: [[1, 2], [5, 6]]\nlimits: {bytes: 1000}\n",
		DATA "on_error: {decode: skip, stop_above: 12.3456%}\nlimits: {bytes: 4G, pixels: 1}\n",
		DATA "on_error: {stop_above: 100%}\n",
		DATA "on_error: {stop_above: 0}\n",
	};

	for (size_t i = 0; i < N_ELEMS(texts); i++) {
		AUTO(spec) struct spec *s = parse(texts[i]);

		assert_round_trip(s);
	}
}

/* Numbers for the property test: any, as long as they are the same each time. */
static uint32_t draw(unsigned *i, uint32_t below)
{
	uint32_t four[4];

	philox((struct philox_key){{1, 2}}, (*i)++, 0, 0, four);
	return four[0] % below;
}

static void put_random_image(struct buf *to, unsigned *i)
{
	static const char *const steps[] = {"resize", "center_crop", "random_crop", "pad"};
	static const char *const chances[] = {"hflip", "vflip", "grayscale"};
	unsigned first = draw(i, 4);

	for (unsigned n = draw(i, 5); n > 0; n--)
		buf_printf(to, ", %s: [%u, %u]", steps[(first + n) % 4], draw(i, 65535) + 1, draw(i, 65535) + 1);
	for (unsigned n = draw(i, 4); n > 0; n--)
		buf_printf(to, ", %s: %.17g", chances[(first + n) % 3], draw(i, 1u << 31) / 2147483647.0);
	if (draw(i, 2))
		buf_printf(to, ", normalize: {mean: [%.17g, -1e-7, 0], std: [1, %.17g, 1e-3]}", draw(i, 1000) / 999.0,
			(draw(i, 1000) + 1) / 777.0);
}

static void random_specs_survive_writing(void **state)
{
	unsigned at = 0;

	for (unsigned round = 0; round < 300; round++) {
		struct buf AUTO_BUF text;
		AUTO(spec) struct spec *s = NULL;

		buf_init(&text, SPEC_MAX_BYTES);
		buf_printf(&text, "seed: %u\nsources: [{data: \"\\x%02x\\u%04x\"}]\nfields:\n", draw(&at, ~0u),
			draw(&at, 255) + 1, draw(&at, 0xd7ff) + 1);
		for (unsigned n = draw(&at, 5) + 1; n > 0; n--) {
			buf_printf(&text, "  f%u: {from: %s", n, draw(&at, 2) ? "jpg" : "[x.png, webp]");
			put_random_image(&text, &at);
			buf_puts(&text, "}\n");
		}
		s = parse((char *)text.ptr);
		assert_round_trip(s);
	}
}

static void written_numbers_do_not_follow_the_locale(void **state)
{
	AUTO(spec) struct spec *s = parse_field("from: jpg, hflip: 0.5");

	/* Where the locale is not installed, this checks no more than the others. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	assert_round_trip(s);
	setlocale(LC_ALL, "C");
}

static void writing_into_too_little_fails(void **state)
{
	AUTO(spec) struct spec *s = parse(design_example);
	struct buf AUTO_BUF text;

	buf_init(&text, 100);
	assert_int_equal(spec_write(s, &text), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_design_is_understood),
		cmocka_unit_test(defaults_hold_where_nothing_is_said),
		cmocka_unit_test(kinds_follow_extensions_unless_said),
		cmocka_unit_test(steps_run_in_the_order_written),
		cmocka_unit_test(resize_to_one_number_is_the_shorter_side),
		cmocka_unit_test(a_random_resized_crop_has_logarithms_of_its_ratio),
		cmocka_unit_test(random_keys_come_from_seed_and_step),
		cmocka_unit_test(a_named_transform_stands_for_its_keys),
		cmocka_unit_test(gray_images_have_one_mean),
		cmocka_unit_test(skipped_ranges_are_sorted_and_joined),
		cmocka_unit_test(numbers_are_written_in_several_ways),
		cmocka_unit_test(a_byte_order_mark_is_passed_over),
		cmocka_unit_test(a_field_that_is_no_mapping_is_what_it_is_from),
		cmocka_unit_test(what_is_written_parses_to_the_same),
		cmocka_unit_test(random_specs_survive_writing),
		cmocka_unit_test(written_numbers_do_not_follow_the_locale),
		cmocka_unit_test(writing_into_too_little_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
