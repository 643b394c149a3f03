/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes by any chain give pixels or a code with words, and the same twice. Chains are built in the program, so that
 * an image file is an input as it is.
 */
#include <assert.h>
#include <string.h>

#include <zlib.h>

#include "base/mem.h"
#include "base/rd.h"
#include "base/scope.h"
#include "media/media.h"

#define MAX_OUT (1u << 18)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define IMAGE .kind = FIELD_IMAGE, .dtype = DTYPE_UINT8, .layout = LAYOUT_HWC, .collate = COLLATE_STACK

#define N_FIELDS 7
#define CROP(h_, w_, least) .kind = STEP_RANDOM_RESIZED_CROP, .h = (h_), .w = (w_), .scale = {(least), 1.0}, \
	.log2_ratio = {-1.0, 1.0}, .key = {{3, 4}}

static struct recipe recipe = {
	.max_pixels = 1u << 16,
	.max_bytes = 1u << 20,
	.n_fields = N_FIELDS,
	.fields = {
		{IMAGE, .mode = DECODE_RGB, .orientation = ORIENTATION_APPLY},
		{IMAGE, .mode = DECODE_GRAY, .orientation = ORIENTATION_IGNORE, .n_steps = 1, .steps = {
			{.kind = STEP_RANDOM_CROP, .h = 3, .w = 2, .key = {{1, 2}}},
		}},
		{IMAGE, .mode = DECODE_KEEP, .orientation = ORIENTATION_APPLY, .n_steps = 3, .steps = {
			{.kind = STEP_RANDOM_RESIZED_CROP, .interpolation = INTERPOLATION_BICUBIC, .h = 14, .w = 15,
				.scale = {0.01, 1.0}, .log2_ratio = {-1.0, 1.0}, .key = {{3, 4}}},
			{.kind = STEP_HFLIP, .p = 0.5, .key = {{5, 6}}},
			{.kind = STEP_PAD, .h = 16, .w = 16},
		}},
		{IMAGE, .mode = DECODE_RGB, .orientation = ORIENTATION_APPLY, .n_steps = 2, .steps = {
			{.kind = STEP_RESIZE, .interpolation = INTERPOLATION_BOX, .h = 9},
			{.kind = STEP_CENTER_CROP, .h = 8, .w = 8},
		}},
		/* Small regions, made larger. */
		{IMAGE, .mode = DECODE_RGB, .orientation = ORIENTATION_APPLY, .n_steps = 3, .steps = {
			{CROP(31, 33, 0.001), .interpolation = INTERPOLATION_BILINEAR},
			{.kind = STEP_VFLIP, .p = 0.5, .key = {{7, 8}}},
			{.kind = STEP_GRAYSCALE, .p = 0.5, .key = {{9, 10}}},
		}},
		/* One resize from another's region. */
		{IMAGE, .mode = DECODE_KEEP, .orientation = ORIENTATION_APPLY, .n_steps = 5, .steps = {
			{.kind = STEP_RESIZE, .interpolation = INTERPOLATION_BICUBIC, .h = 40, .w = 24},
			{.kind = STEP_RANDOM_CROP, .h = 11, .w = 13, .key = {{1, 2}}},
			{.kind = STEP_GRAYSCALE, .p = 0.5, .key = {{9, 10}}},
			{.kind = STEP_HFLIP, .p = 0.5, .key = {{5, 6}}},
			{CROP(5, 7, 0.1), .interpolation = INTERPOLATION_BOX},
		}},
		/* Nothing is looked at but a corner; then much is put around it. */
		{IMAGE, .mode = DECODE_GRAY, .orientation = ORIENTATION_APPLY, .n_steps = 4, .steps = {
			{.kind = STEP_RANDOM_CROP, .h = 1, .w = 1, .key = {{11, 12}}},
			{.kind = STEP_PAD, .h = 20, .w = 3},
			{.kind = STEP_RESIZE, .interpolation = INTERPOLATION_BILINEAR, .h = 3},
			{.kind = STEP_CENTER_CROP, .h = 2, .w = 2},
		}},
	},
};

static bool is_told(int r)
{
	return r == 0 || r == E_BAD_SAMPLE || r == E_REFUSED_SAMPLE || r == E_LIMIT || r == -ENOSPC;
}

static void run_times(unsigned times, unsigned field, const uint8_t *p, size_t n)
{
	static uint8_t out[2][MAX_OUT];
	struct media_result m[2];
	int r[2];

	for (unsigned i = 0; i < times; i++)
		r[i] = media_run(&recipe, field, n, p, n, out[i], MAX_OUT, &m[i]);
	if (times < 2) {
		assert(is_told(r[0]) && (r[0] == 0 || m[0].words[0] != '\0'));
		return;
	}
	assert(r[0] == r[1] && is_told(r[0]));
	assert(r[0] == 0 || m[0].words[0] != '\0');
	assert(m[0].h == m[1].h && m[0].w == m[1].w && m[0].c == m[1].c);
	assert(r[0] < 0 || memcmp(out[0], out[1], (size_t)m[0].h * m[0].w * m[0].c) == 0);
}

/* The checksums of a PNG's chunks: else a mutation would never get behind them. */
static void put_right(uint8_t *p, size_t n)
{
	size_t at = 8;

	if (n < 8 || memcmp(p, "\x89PNG\r\n\x1a\n", 8) != 0)
		return;
	while (n - at >= 12) {
		struct rd rd = rd_of(p + at, 4);
		size_t length = rd_be32(&rd);
		uint32_t crc;

		if (length > n - at - 12)
			return;
		crc = (uint32_t)crc32(0, p + at + 4, (uInt)length + 4);
		for (unsigned i = 0; i < 4; i++)
			p[at + 8 + length + i] = (uint8_t)(crc >> (24 - 8 * i));
		at += length + 12;
	}
}

static void run(const uint8_t *p, size_t n)
{
	/* All in turn, by a number that comes from the input, so that an input that fails always does. */
	recipe.resample = n % 2 ? RESAMPLE_PILLOW_13 : RESAMPLE_PILLOW_12;
	for (unsigned field = 0; field < N_FIELDS; field++)
		run_times(field == n % N_FIELDS ? 2 : 1, field, p, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO_FREE uint8_t *copy = n ? mem_dup(p, n) : NULL;

	if (copy)
		put_right(copy, n);
	if (copy || n == 0)
		run(copy, n);
	return 0;
}
