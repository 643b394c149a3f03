/* SPDX-License-Identifier: Apache-2.0 */
/* What geometry decides before anything is decoded, and EXIF orientation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/poly.h"
#include "base/scope.h"
#include "chain.h"
#include "media/draw.h"
#include "media/exif.h"
#include "media/geometry.h"

static struct recipe recipe;
static struct geometry g;
static char words[160];

static int make(const char *chain, uint32_t w, uint32_t h, uint8_t orientation, uint64_t position)
{
	struct geometry_source source = {.w = w, .h = h, .c = 3, .orientation = orientation};

	words[0] = '\0';
	assert_int_equal(chain_parse(chain, 7, &recipe), 0);
	return geometry_make(&source, &recipe, &recipe.fields[0], position, &g, words);
}

static const struct op *last(void)
{
	return &g.ops[g.n - 1];
}

static void orientation_swaps_the_sides_only_when_applied(void **state)
{
	assert_int_equal(make("orientation=apply", 24, 16, 6, 0), 0);
	assert_int_equal(last()->w, 16);
	assert_int_equal(last()->h, 24);
	assert_int_equal(make("orientation=ignore", 24, 16, 6, 0), 0);
	assert_int_equal(g.n, 1);
	assert_int_equal(last()->w, 24);
	assert_int_equal(last()->h, 16);
}

/* Turning a picture of numbers and then cutting a box gives what cutting the box's origin and then turning gives. */
static void a_box_is_found_again_before_every_turn(void **state)
{
	uint8_t pixels[5 * 3], turned[15], cut[15], expect[15];

	for (uint8_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = i;
	for (unsigned turn = 0; turn < 8; turn++) {
		struct plane from = {pixels, 5, 5, 3, 1};
		uint32_t w = turn & TURN_TRANSPOSE ? 3 : 5, h = 8 - w;
		struct plane to = {turned, w, w, h, 1}, part = {.p = cut, .c = 1}, want = {expect, 2, 2, 2, 1};
		struct box box = {1, 0, 2, 2}, back = turn_back(turn, w, h, box);

		pixel_turn(turn, &from, &to);
		pixel_cut(&to, box.x, box.y, &want);
		from.p += 5 * back.y + back.x;
		part = (struct plane){cut, 2, 2, 2, 1};
		pixel_turn(turn, &from, &part);
		assert_memory_equal(cut, expect, 4);
	}
}

static void the_shorter_side_is_resized_as_torchvision_does(void **state)
{
	assert_int_equal(make("resize=256,0,bilinear", 500, 375, 1, 0), 0);
	assert_int_equal(last()->w, 341);
	assert_int_equal(last()->h, 256);
	assert_int_equal(make("resize=256,0,bilinear", 375, 500, 1, 0), 0);
	assert_int_equal(last()->w, 256);
	assert_int_equal(last()->h, 341);
}

static void a_resize_to_the_same_size_is_no_operation(void **state)
{
	assert_int_equal(make("resize=375,500,bicubic", 500, 375, 1, 0), 0);
	assert_int_equal(g.n, 1);
}

static void the_middle_is_rounded_half_to_even(void **state)
{
	assert_int_equal(make("center_crop=2,2", 5, 3, 1, 0), 0);
	assert_int_equal(g.ops[0].box.x, 2); /* 1.5 */
	assert_int_equal(g.ops[0].box.y, 0); /* 0.5 */
}

static void a_crop_that_does_not_fit_is_refused_with_a_way_out(void **state)
{
	assert_int_equal(make("center_crop=224,224", 500, 200, 1, 0), E_REFUSED_SAMPLE);
	assert_non_null(strstr(words, "`pad`"));
	assert_int_equal(make("random_crop=224,224", 200, 500, 1, 0), E_REFUSED_SAMPLE);
	assert_non_null(strstr(words, "200x500"));
}

static void a_side_beyond_the_limit_is_not_made(void **state)
{
	assert_int_equal(make("resize=1000,0,box", 10, 6000, 1, 0), E_LIMIT);
	assert_int_equal(make("resize=4,0,box", 1, 16383, 1, 0), 0);
	assert_int_equal(make("resize=5,0,box", 1, 16383, 1, 0), E_LIMIT);
}

static void random_resized_crops_lie_inside_and_keep_area_and_shape(void **state)
{
	for (uint64_t position = 0; position < 2000; position++) {
		struct box b;
		double shape;

		assert_int_equal(make("random_resized_crop=224,224,bilinear,0.08,1,0.75,1.3333", 500, 375, 1, position), 0);
		b = g.ops[0].box;
		shape = (double)b.w / (double)b.h;
		assert_true(b.x + b.w <= 500 && b.y + b.h <= 375);
		assert_true((double)b.w * b.h > 0.077 * 500 * 375);
		assert_true(shape > 0.74 && shape < 1.35);
	}
}

static void a_shape_that_never_fits_falls_back_to_the_middle(void **state)
{
	assert_int_equal(make("random_resized_crop=224,224,bilinear,0.9,1,0.75,1.25", 2000, 100, 1, 3), 0);
	assert_memory_equal(&g.ops[0].box, &((struct box){937, 0, 125, 100}), sizeof(struct box));
	assert_int_equal(make("random_resized_crop=224,224,bilinear,0.9,1,0.75,1.25", 100, 2000, 1, 3), 0);
	assert_memory_equal(&g.ops[0].box, &((struct box){0, 933, 100, 133}), sizeof(struct box));
}

static void random_crops_reach_every_place(void **state)
{
	bool seen[4][3] = {{false}};

	for (uint64_t position = 0; position < 400; position++) {
		assert_int_equal(make("random_crop=3,5", 7, 6, 1, position), 0);
		seen[g.ops[0].box.y][g.ops[0].box.x] = true;
	}
	for (unsigned i = 0; i < 12; i++)
		assert_true(seen[i / 3][i % 3]);
}

/* What the last step leaves out is neither resized nor decoded. */
static void a_crop_reaches_through_resize_and_turns_into_the_decoder(void **state)
{
	const struct op *op;

	assert_int_equal(make("resize=100,0,bilinear;hflip=1;center_crop=50,50", 400, 600, 6, 0), 0);
	assert_int_equal(g.n, 3);
	op = &g.ops[2];
	assert_int_equal(op->kind, OP_RESIZE);
	assert_true(op->resize.mirror_x);
	assert_memory_equal(&op->resize.out, &((struct box){50, 25, 50, 50}), sizeof(struct box));
	assert_int_equal(g.ops[1].kind, OP_TURN);
	assert_true(g.ops[0].box.w < 220 && g.ops[0].box.h < 220);
	assert_int_equal(g.ops[0].box.w, g.ops[1].h);
}

static void two_mirrors_are_none(void **state)
{
	assert_int_equal(make("hflip=1;hflip=1", 8, 8, 1, 0), 0);
	assert_int_equal(g.n, 1);
}

static void flips_happen_as_often_as_asked(void **state)
{
	unsigned n = 0;

	for (uint64_t position = 0; position < 10000; position++) {
		assert_int_equal(make("hflip=0.25", 8, 8, 1, position), 0);
		n += g.n == 2;
	}
	assert_true(n > 2300 && n < 2700);
}

static void gray_is_made_while_decoding_when_nothing_else_came_before(void **state)
{
	assert_int_equal(make("random_crop=4,4;grayscale=1", 8, 8, 1, 0), 0);
	assert_int_equal(g.ops[0].c, 1);
	assert_int_equal(last()->kind, OP_EXPAND);
	assert_int_equal(last()->c, 3);
	assert_int_equal(make("resize=4,4,box;grayscale=1", 8, 8, 1, 0), 0);
	assert_int_equal(g.ops[0].c, 3);
}

static void padding_centres_and_is_cropped_as_written(void **state)
{
	assert_int_equal(make("pad=11,4;center_crop=3,3", 5, 8, 1, 0), 0);
	assert_int_equal(g.ops[1].kind, OP_PAD);
	assert_int_equal(g.ops[1].h, 11);
	assert_int_equal(g.ops[1].w, 5);
	assert_int_equal(g.ops[1].box.y, 1);
	assert_int_equal(g.ops[2].kind, OP_CUT);
}

static void orientation_is_read_in_both_byte_orders_and_nothing_else_is_believed(void **state)
{
	static const uint8_t little[] = "Exif\0\0II*\0\10\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0";
	static const uint8_t big[] = "MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\10\0\0";
	static const uint8_t far[] = "MM\0*\xff\xff\xff\xf0\0\1";
	uint8_t nine[sizeof(big)];

	assert_int_equal(exif_orientation(little, sizeof(little) - 1), 6);
	assert_int_equal(exif_orientation(big, sizeof(big) - 1), 8);
	assert_int_equal(exif_orientation(far, sizeof(far) - 1), 1);
	memcpy(nine, big, sizeof(big));
	nine[19] = 9;
	assert_int_equal(exif_orientation(nine, sizeof(nine) - 1), 1);
	for (size_t n = 0; n < sizeof(big) - 3; n++)
		assert_int_equal(exif_orientation(big, n), 1);
}

#define TWO_ENTRIES(second) "II*\0\10\0\0\0\2\0" "\0\1\3\0\1\0\0\0\5\0\0\0" "\x12\1" second

static void orientation_is_one_whole_number_of_any_entry(void **state)
{
	static const struct {
		const char *block;
		uint8_t orientation;
	} of[] = {
		{TWO_ENTRIES("\3\0\1\0\0\0\6\0\0\0"), 6},	/* SHORT */
		{TWO_ENTRIES("\4\0\1\0\0\0\3\0\0\0"), 3},	/* LONG */
		{TWO_ENTRIES("\3\0\1\0\0\0\6\0\1\0"), 6},	/* what stands beside a SHORT is nothing */
		{TWO_ENTRIES("\4\0\1\0\0\0\3\0\1\0"), 1},	/* a LONG above 8 */
		{TWO_ENTRIES("\3\0\2\0\0\0\6\0\0\0"), 1},	/* two SHORTs */
		{TWO_ENTRIES("\4\0\2\0\0\0\3\0\0\0"), 1},
		{TWO_ENTRIES("\2\0\1\0\0\0\6\0\0\0"), 1},	/* ASCII */
		{TWO_ENTRIES("\3\0\1\0\0\0\0\0\0\0"), 1},
	};

	for (unsigned i = 0; i < N_ELEMS(of); i++)
		assert_int_equal(exif_orientation((const uint8_t *)of[i].block, 34), of[i].orientation);
}

static void the_vertical_pass_is_first_only_beyond_twice_the_width(void **state)
{
	static const struct {
		enum resample rule;
		uint32_t w, h, to_w, to_h;
		bool first;
	} of[] = {
		{RESAMPLE_PILLOW_13, 20, 40, 10, 20, false}, {RESAMPLE_PILLOW_13, 20, 40, 10, 19, true},
		{RESAMPLE_PILLOW_13, 20, 40, 30, 40, false}, {RESAMPLE_PILLOW_13, 20, 40, 30, 39, true},
		{RESAMPLE_PILLOW_13, 20, 40, 30, 41, false}, {RESAMPLE_PILLOW_12, 20, 40, 10, 2, false},
	};

	for (unsigned i = 0; i < N_ELEMS(of); i++) {
		struct resize rs;

		resize_init(&rs, of[i].rule, INTERPOLATION_BOX, of[i].w, of[i].h, of[i].to_w, of[i].to_h);
		assert_int_equal(rs.vertical_first, of[i].first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orientation_swaps_the_sides_only_when_applied),
		cmocka_unit_test(a_box_is_found_again_before_every_turn),
		cmocka_unit_test(the_shorter_side_is_resized_as_torchvision_does),
		cmocka_unit_test(a_resize_to_the_same_size_is_no_operation),
		cmocka_unit_test(the_middle_is_rounded_half_to_even),
		cmocka_unit_test(a_crop_that_does_not_fit_is_refused_with_a_way_out),
		cmocka_unit_test(a_side_beyond_the_limit_is_not_made),
		cmocka_unit_test(random_resized_crops_lie_inside_and_keep_area_and_shape),
		cmocka_unit_test(a_shape_that_never_fits_falls_back_to_the_middle),
		cmocka_unit_test(random_crops_reach_every_place),
		cmocka_unit_test(a_crop_reaches_through_resize_and_turns_into_the_decoder),
		cmocka_unit_test(two_mirrors_are_none),
		cmocka_unit_test(flips_happen_as_often_as_asked),
		cmocka_unit_test(gray_is_made_while_decoding_when_nothing_else_came_before),
		cmocka_unit_test(padding_centres_and_is_cropped_as_written),
		cmocka_unit_test(orientation_is_one_whole_number_of_any_entry),
		cmocka_unit_test(the_vertical_pass_is_first_only_beyond_twice_the_width),
		cmocka_unit_test(orientation_is_read_in_both_byte_orders_and_nothing_else_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
