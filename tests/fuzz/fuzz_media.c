/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes by any chain give pixels or a code with words, and the same twice. Chains are built in the program, so that
 * an image file is an input as it is.
 */
#include <assert.h>
#include <string.h>

#include "base/scope.h"
#include "media/media.h"

#define MAX_OUT (1u << 18)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define IMAGE .kind = FIELD_IMAGE, .dtype = DTYPE_UINT8, .layout = LAYOUT_HWC, .collate = COLLATE_STACK

static const struct recipe recipe = {
	.resample = RESAMPLE_PILLOW_13,
	.max_pixels = 1u << 16,
	.max_bytes = 1u << 20,
	.n_fields = 4,
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
	},
};

static bool is_told(int r)
{
	return r == 0 || r == E_BAD_SAMPLE || r == E_REFUSED_SAMPLE || r == E_LIMIT || r == -ENOSPC;
}

static void run_twice(unsigned field, const uint8_t *p, size_t n)
{
	static uint8_t out[2][MAX_OUT];
	struct media_result m[2];
	int r[2];

	for (unsigned i = 0; i < 2; i++)
		r[i] = media_run(&recipe, field, n, p, n, out[i], MAX_OUT, &m[i]);
	assert(r[0] == r[1] && is_told(r[0]));
	assert(r[0] == 0 || m[0].words[0] != '\0');
	assert(m[0].h == m[1].h && m[0].w == m[1].w && m[0].c == m[1].c);
	assert(r[0] < 0 || memcmp(out[0], out[1], (size_t)m[0].h * m[0].w * m[0].c) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	for (unsigned field = 0; field < recipe.n_fields; field++)
		run_twice(field, p, n);
	return 0;
}
