/* SPDX-License-Identifier: Apache-2.0 */
/* Whole chains over the golden images: regions, turns, grey, limits, damage, short memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/scope.h"
#include "chain.h"
#include "media/draw.h"
#include "media/golden.h"
#include "media/media.h"
#include "media/pixel.h"
#include "media/scratch.h"

#define MAX_OUT (128 * 128 * 3)

struct run {
	int r;
	struct media_result m;
	uint8_t out[MAX_OUT];
};

static struct recipe recipe;
static struct run whole, part;

static int run_bytes(struct run *ret, const char *chain, uint64_t position, const uint8_t *p, size_t n)
{
	assert_int_equal(chain_parse(chain, 11, &recipe), 0);
	ret->r = media_run(&recipe, 0, position, p, n, ret->out, sizeof(ret->out), &ret->m);
	return ret->r;
}

static const struct golden *golden(const char *name)
{
	for (unsigned i = 0; i < n_golden_images; i++) {
		if (strcmp(golden_images[i].name, name) == 0)
			return &golden_images[i];
	}
	fail_msg("no golden image %s", name);
	return NULL;
}

static int run(struct run *ret, const char *chain, uint64_t position, const char *name)
{
	return run_bytes(ret, chain, position, golden(name)->p, golden(name)->n);
}

static void a_24x16_jpeg_of_orientation_6_is_16x24_or_24x16_as_asked(void **state)
{
	struct plane from, to;
	uint8_t turned[24 * 16 * 3];

	assert_int_equal(run(&whole, "orientation=ignore", 0, "jpeg_turned"), 0);
	assert_int_equal(whole.m.w, 24);
	assert_int_equal(whole.m.h, 16);
	assert_int_equal(run(&part, "orientation=apply", 0, "jpeg_turned"), 0);
	assert_int_equal(part.m.w, 16);
	assert_int_equal(part.m.h, 24);
	from = (struct plane){whole.out, 24 * 3, 24, 16, 3};
	to = (struct plane){turned, 16 * 3, 16, 24, 3};
	pixel_turn(turn_of_orientation(6), &from, &to);
	assert_memory_equal(part.out, turned, sizeof(turned));
}

/* Pixel (x, y) turned clockwise stands at (h - 1 - y, x). */
static void a_turn_of_orientation_6_is_clockwise(void **state)
{
	uint8_t from[6] = {1, 2, 3, 4, 5, 6}, to[6];

	pixel_turn(turn_of_orientation(6), &(struct plane){from, 3, 3, 2, 1}, &(struct plane){to, 2, 2, 3, 1});
	assert_memory_equal(to, ((uint8_t[6]){4, 1, 5, 2, 6, 3}), 6);
}

static void assert_part_is_cut_of_whole(const char *name, const char *chain, struct box box)
{
	static uint8_t cut[MAX_OUT];
	struct plane from = {whole.out, (size_t)whole.m.w * whole.m.c, whole.m.w, whole.m.h, whole.m.c};
	struct plane to = {cut, (size_t)box.w * whole.m.c, box.w, box.h, whole.m.c};

	pixel_cut(&from, box.x, box.y, &to);
	assert_int_equal(part.m.w, box.w);
	assert_int_equal(part.m.h, box.h);
	assert_int_equal(part.m.c, whole.m.c);
	if (memcmp(cut, part.out, to.stride * box.h) != 0)
		fail_msg("%s %s: %ux%u at %u,%u differs", name, chain, box.w, box.h, box.x, box.y);
}

/* What the last step (a random crop, drawn for this position) took from an image of w x h. */
static struct box last_crop_box(uint64_t position, uint32_t w, uint32_t h)
{
	struct recipe_field *f = &recipe.fields[0];
	struct recipe_step *step = &f->steps[f->n_steps - 1];
	struct draw d = {.step = step, .field = f->index, .position = position};

	return draw_crop(&d, w, h, step->w, step->h);
}

static void compare_crops(const struct golden *image, const char *chain)
{
	char with_crop[256];

	assert_int_equal(run_bytes(&whole, chain, 0, image->p, image->n), 0);
	for (uint64_t position = 0; position < 60; position++) {
		uint32_t w = 1 + (uint32_t)(position * 7 % whole.m.w), h = 1 + (uint32_t)(position * 5 % whole.m.h);

		snprintf(with_crop, sizeof(with_crop), "%s;random_crop=%u,%u", chain, h, w);
		assert_int_equal(run_bytes(&part, with_crop, position, image->p, image->n), 0);
		assert_part_is_cut_of_whole(image->name, with_crop, last_crop_box(position, whole.m.w, whole.m.h));
	}
}

static void a_decoded_region_is_the_cut_of_the_whole(void **state)
{
	for (unsigned i = 0; i < n_golden_images; i++) {
		compare_crops(&golden_images[i], "mode=rgb");
		compare_crops(&golden_images[i], "mode=gray;orientation=ignore");
	}
}

static void a_region_of_a_resize_is_the_cut_of_the_whole(void **state)
{
	static const char *const chains[] = {
		"resize=31,40,bilinear", "resize=8,11,bicubic", "resize=64,9,bicubic", "resize=7,60,box;hflip=1",
		"hflip=1;resize=12,0,bilinear;vflip=1", "resize=16,24,bicubic;hflip=1", "resize=24,16,box;vflip=1",
		"resize=20,20,bilinear;resize=9,33,bicubic;hflip=1", "resample=12;resize=10,25,bilinear;grayscale=1",
		"pad=40,41;resize=12,17,bilinear", "pad=40,41;resize=40,12,bilinear;hflip=1",
	};

	for (unsigned i = 0; i < N_ELEMS(chains); i++) {
		compare_crops(golden("jpeg_turned"), chains[i]);
		compare_crops(golden("png_gray"), chains[i]);
	}
}

static void a_mirror_after_a_resize_is_the_mirror_of_its_result(void **state)
{
	static uint8_t mirrored[MAX_OUT];
	static const char *const flips[] = {"hflip=1", "vflip=1", "hflip=1;vflip=1"};
	static const unsigned turns[] = {TURN_MIRROR_X, TURN_MIRROR_Y, TURN_MIRROR_X | TURN_MIRROR_Y};
	char chain[64];

	for (unsigned i = 0; i < N_ELEMS(flips); i++) {
		struct plane from, to;

		assert_int_equal(run(&whole, "resize=29,20,bicubic", 0, "jpeg_420"), 0);
		snprintf(chain, sizeof(chain), "resize=29,20,bicubic;%s", flips[i]);
		assert_int_equal(run(&part, chain, 0, "jpeg_420"), 0);
		from = (struct plane){whole.out, 20 * 3, 20, 29, 3};
		to = (struct plane){mirrored, 20 * 3, 20, 29, 3};
		pixel_turn(turns[i], &from, &to);
		assert_memory_equal(part.out, mirrored, 20 * 29 * 3);
	}
}

static void gray_after_decoding_is_gray_while_decoding(void **state)
{
	for (unsigned i = 0; i < n_golden_images; i++) {
		const struct golden *image = &golden_images[i];

		assert_int_equal(run_bytes(&whole, "mode=gray", 0, image->p, image->n), 0);
		assert_int_equal(run_bytes(&part, "mode=rgb;grayscale=1", 0, image->p, image->n), 0);
		assert_int_equal(part.m.c, 3);
		for (size_t k = 0; k < (size_t)whole.m.w * whole.m.h; k++)
			assert_true(part.out[3 * k] == whole.out[k] && part.out[3 * k + 1] == whole.out[k] &&
				part.out[3 * k + 2] == whole.out[k]);
	}
}

static void keep_gives_one_channel_of_grey_and_three_of_colour(void **state)
{
	assert_int_equal(run(&whole, "mode=keep", 0, "jpeg_gray"), 0);
	assert_int_equal(whole.m.c, 1);
	assert_int_equal(run(&whole, "mode=keep", 0, "png_bits"), 0);
	assert_int_equal(whole.m.c, 1);
	assert_int_equal(run(&whole, "mode=keep", 0, "jpeg_cmyk"), 0);
	assert_int_equal(whole.m.c, 3);
}

static void sixteen_bits_give_their_high_byte(void **state)
{
	assert_int_equal(run(&whole, "", 0, "png_16"), 0);
	/* golden.py: picture(9, 13) at (1, 0): red 5 + 90 * (1 * 13 > 0). */
	assert_int_equal(whole.out[3], 95);
}

#define N_TEXTS 1200

/* More texts between the header and the pixels than libspng would take, and a profile of nonsense. */
static void what_is_no_part_of_a_png_cannot_make_it_bad(void **state)
{
	static const char text[] = "\0\0\0\3tEXta\0b\xdc\x49\xa2\x3b", profile[] = "\0\0\0\4iCCPxxxx\0\0\0\0";
	const struct golden *image = golden("png_rgb");
	size_t head = 8 + 25, n_text = sizeof(text) - 1, n_profile = sizeof(profile) - 1;
	size_t n = N_TEXTS * n_text + n_profile;
	AUTO_FREE uint8_t *longer = mem_alloc(image->n + n);

	assert_non_null(longer);
	memcpy(longer, image->p, head);
	for (unsigned i = 0; i < N_TEXTS; i++)
		memcpy(longer + head + i * n_text, text, n_text);
	memcpy(longer + head + N_TEXTS * n_text, profile, n_profile);
	memcpy(longer + head + n, image->p + head, image->n - head);
	assert_int_equal(run(&whole, "", 0, "png_rgb"), 0);
	assert_int_equal(run_bytes(&part, "", 0, longer, image->n + n), 0);
	assert_memory_equal(part.out, whole.out, 37 * 29 * 3);
	/* A wrong checksum of a chunk without which there is no image. */
	longer[head - 1] ^= 1;
	assert_int_equal(run_bytes(&part, "", 0, longer, image->n + n), E_BAD_SAMPLE);
}

static bool is_told(int r)
{
	return r == 0 || r == E_BAD_SAMPLE || r == E_REFUSED_SAMPLE || r == E_LIMIT || r == -ENOSPC;
}

static void damage_is_told_and_harms_nothing(void **state)
{
	static const char *const chains[] = {"", "mode=gray;random_resized_crop=9,9,bilinear,0.1,1,0.5,2"};

	for (unsigned i = 0; i < n_golden_images; i++) {
		const struct golden *image = &golden_images[i];
		AUTO_FREE uint8_t *copy = mem_dup(image->p, image->n);

		for (size_t at = 0; at < image->n; at += 1 + at / 64) {
			/* A block of exactly this length, so that a look past its end is seen. */
			AUTO_FREE uint8_t *cut = mem_dup(image->p, at);

			assert_true(is_told(run_bytes(&part, chains[at % 2], at, cut, at)));
			copy[at] ^= (uint8_t)(1u << (at % 8));
			assert_true(is_told(run_bytes(&part, chains[at % 2], at, copy, image->n)));
			copy[at] = image->p[at];
		}
	}
}

static void a_cut_off_jpeg_is_bad_only_where_it_is_cut(void **state)
{
	const struct golden *image = golden("jpeg_444");
	size_t n = image->n * 9 / 10;
	uint64_t position = 0;

	assert_int_equal(chain_parse("random_crop=1,37", 11, &recipe), 0);
	while (last_crop_box(position, 37, 29).y != 0)
		position++;
	assert_int_equal(run_bytes(&part, "center_crop=29,37", 0, image->p, n), E_BAD_SAMPLE);
	assert_non_null(strstr(part.m.words, "JPEG: "));
	assert_int_equal(run_bytes(&whole, "random_crop=1,37", position, image->p, n), 0);
	assert_int_equal(run_bytes(&part, "random_crop=1,37", position, image->p, image->n), 0);
	assert_memory_equal(whole.out, part.out, 37 * 3);
}

static void a_jpeg_of_12_bits_is_refused_with_words(void **state)
{
	const struct golden *image = golden("jpeg_420");
	AUTO_FREE uint8_t *copy = mem_dup(image->p, image->n);
	uint8_t *frame = memmem(copy, image->n, "\xff\xc0", 2);

	assert_non_null(frame);
	frame[4] = 12;
	assert_int_equal(run_bytes(&part, "", 0, copy, image->n), E_REFUSED_SAMPLE);
	assert_non_null(strstr(part.m.words, "precision 12"));
}

/* The scans of a picture, again and again: small to send, long to decode. */
static void a_jpeg_of_too_many_scans_is_past_a_limit(void **state)
{
	const struct golden *image = golden("jpeg_unfinished");
	uint8_t *scan = memmem(image->p, image->n, "\xff\xda", 2);
	size_t n_head = (size_t)(scan - image->p), n_scan = image->n - 2 - n_head, n = n_head + 100 * n_scan;
	AUTO_FREE uint8_t *copy = mem_alloc(n);

	memcpy(copy, image->p, n_head);
	for (unsigned i = 0; i < 100; i++)
		memcpy(copy + n_head + i * n_scan, scan, n_scan);
	assert_int_equal(run_bytes(&part, "", 0, copy, n), E_LIMIT);
	assert_non_null(strstr(part.m.words, "128 scans"));
}

static void other_formats_are_refused_by_name(void **state)
{
	assert_int_equal(run_bytes(&part, "", 0, (const uint8_t *)"GIF89a......", 12), E_REFUSED_SAMPLE);
	assert_non_null(strstr(part.m.words, "GIF"));
	assert_int_equal(run_bytes(&part, "", 0, (const uint8_t *)"<html>......", 12), E_BAD_SAMPLE);
	assert_int_equal(run_bytes(&part, "", 0, (const uint8_t *)"", 0), E_BAD_SAMPLE);
}

static void limits_of_the_recipe_hold(void **state)
{
	assert_int_equal(run(&part, "max_pixels=1072", 0, "jpeg_420"), E_LIMIT); /* 37 * 29 is 1073 */
	assert_non_null(strstr(part.m.words, "37 x 29"));
	assert_int_equal(run(&part, "max_pixels=1073", 0, "jpeg_420"), 0);
	assert_int_equal(run(&part, "max_bytes=100", 0, "jpeg_420"), E_LIMIT);
	assert_int_equal(run(&part, "resize=65535,65535,box", 0, "png_rgb"), -ENOSPC);
	assert_int_equal(part.m.w, 65535);
	assert_int_equal(run(&part, "resize=60000,60000,box;resize=4,4,box", 0, "png_rgb"), E_LIMIT);
}

/* A header is all that is looked at: what follows need not even be there. */
static void a_side_beyond_the_limit_is_not_decoded(void **state)
{
	static const uint8_t wide[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\0\0\0\0\0\1\x10\6\0\0\0\x3b\xe2\x3f\x9b";
	static const uint8_t just[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xff\xff\0\0\0\1\x10\6\0\0\0\x5b\x3b\x37\x4a";

	assert_int_equal(run_bytes(&part, "resize=4,4,box", 0, wide, sizeof(wide) - 1), E_LIMIT);
	assert_non_null(strstr(part.m.words, "65536 x 1 pixels, the limit of a side"));
	assert_int_equal(run_bytes(&part, "resize=4,4,box", 0, just, sizeof(just) - 1), E_BAD_SAMPLE);
}

static void room_is_asked_for_when_it_is_short(void **state)
{
	struct media_result m;
	uint8_t out[16];

	assert_int_equal(chain_parse("", 0, &recipe), 0);
	memset(out, 0x55, sizeof(out));
	assert_int_equal(media_run(&recipe, 0, 0, golden("png_rgb")->p, golden("png_rgb")->n, out, sizeof(out), &m), -ENOSPC);
	assert_int_equal(m.w * m.h * m.c, 37 * 29 * 3);
	assert_int_equal(out[0], 0x55);
}

static void large_working_memory_is_given_back(void **state)
{
	const size_t n_large = SCRATCH_KEEP_BYTES + 1;
	uint8_t *p;

	scratch_release();
	assert_int_equal(scratch_get(SCRATCH_WHOLE, n_large, &p), 0);
	scratch_trim();
	/* What was kept would need no allocation. */
	mem_fail_nth(1);
	assert_int_equal(scratch_get(SCRATCH_WHOLE, 1, &p), -ENOMEM);
	assert_int_equal(scratch_get(SCRATCH_WHOLE, 1, &p), 0);
	scratch_trim();
	mem_fail_nth(1);
	assert_int_equal(scratch_get(SCRATCH_WHOLE, 1, &p), 0);
	mem_fail_nth(0);
	assert_int_equal(scratch_get(SCRATCH_WHOLE, SCRATCH_MAX_BYTES + 1, &p), E_LIMIT);
	scratch_release();
}

static void failed_allocations_are_told(void **state)
{
	for (unsigned i = 0; i < n_golden_images; i++) {
		const struct golden *image = &golden_images[i];

		for (uint64_t nth = 1;; nth++) {
			scratch_release();
			mem_fail_nth(nth);
			run_bytes(&part, "resize=20,11,bilinear;pad=30,30", 0, image->p, image->n);
			if (!mem_failed())
				break;
			if (part.r != -ENOMEM)
				fail_msg("%s: allocation %u failed and gave %s", image->name, (unsigned)nth, part.m.words);
		}
		mem_fail_nth(0);
		assert_int_equal(part.r, 0);
	}
}

static void a_probe_needs_only_the_head(void **state)
{
	struct media_result words;
	struct media_info info;

	assert_int_equal(media_probe(golden("jpeg_progressive")->p, 700, &info, &words), 0);
	assert_true(info.format == MEDIA_JPEG && info.w == 37 && info.h == 29 && info.progressive);
	assert_int_equal(media_probe(golden("png_interlaced")->p, golden("png_interlaced")->n, &info, &words), 0);
	assert_true(info.format == MEDIA_PNG && info.w == 27 && info.h == 21 && info.orientation == 3);
	assert_int_equal(media_probe(golden("webp_animated")->p, 64, &info, &words), 0);
	assert_true(info.format == MEDIA_WEBP && info.w == 30 && info.h == 22);
	assert_int_equal(media_probe(golden("png_rgb")->p, 12, &info, &words), E_BAD_SAMPLE);
	assert_true(words.words[0] != '\0');
}

static void the_first_frame_lies_on_black(void **state)
{
	assert_int_equal(run(&whole, "", 0, "webp_animated"), 0);
	assert_memory_equal(whole.out, ((uint8_t[6]){0}), 6);
	assert_int_equal(whole.out[3 * (30 * 2 + 4) + 2], 255); /* blue of picture(20, 14) at (0, 0): 255 + noise 0 */
}

/* Any build, compiler and machine must print this one; another one is another set of pixels. */
static void the_fingerprint_is_the_committed_one(void **state)
{
	uint8_t digest[32];
	char hex[SHA256_HEX];

	assert_int_equal(media_fingerprint(digest), 0);
	hex_of(digest, sizeof(digest), hex);
	assert_string_equal(hex, "63d16e1084694e7b16b4c34cef56df492232ebe468a7aac329d514b7867cf2a4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_24x16_jpeg_of_orientation_6_is_16x24_or_24x16_as_asked),
		cmocka_unit_test(a_turn_of_orientation_6_is_clockwise),
		cmocka_unit_test(a_decoded_region_is_the_cut_of_the_whole),
		cmocka_unit_test(a_region_of_a_resize_is_the_cut_of_the_whole),
		cmocka_unit_test(a_mirror_after_a_resize_is_the_mirror_of_its_result),
		cmocka_unit_test(gray_after_decoding_is_gray_while_decoding),
		cmocka_unit_test(keep_gives_one_channel_of_grey_and_three_of_colour),
		cmocka_unit_test(sixteen_bits_give_their_high_byte),
		cmocka_unit_test(what_is_no_part_of_a_png_cannot_make_it_bad),
		cmocka_unit_test(damage_is_told_and_harms_nothing),
		cmocka_unit_test(a_cut_off_jpeg_is_bad_only_where_it_is_cut),
		cmocka_unit_test(a_jpeg_of_12_bits_is_refused_with_words),
		cmocka_unit_test(a_jpeg_of_too_many_scans_is_past_a_limit),
		cmocka_unit_test(other_formats_are_refused_by_name),
		cmocka_unit_test(limits_of_the_recipe_hold),
		cmocka_unit_test(a_side_beyond_the_limit_is_not_decoded),
		cmocka_unit_test(room_is_asked_for_when_it_is_short),
		cmocka_unit_test(large_working_memory_is_given_back),
		cmocka_unit_test(failed_allocations_are_told),
		cmocka_unit_test(a_probe_needs_only_the_head),
		cmocka_unit_test(the_first_frame_lies_on_black),
		cmocka_unit_test(the_fingerprint_is_the_committed_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
