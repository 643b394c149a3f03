/* SPDX-License-Identifier: Apache-2.0 */
/* Header, geometry, decode, operations: one sample from bytes to pixels. */
#include "media/media.h"

#include <string.h>

#include "media/geometry.h"
#include "media/image.h"

static int say(struct media_result *ret, int code, const char *words)
{
	snprintf(ret->words, sizeof(ret->words), "%s", words);
	return code;
}

static int check_pixels(const struct recipe *recipe, struct image *im)
{
	uint64_t n_pixels = (uint64_t)im->info.w * im->info.h;

	/* PNG may say 2^31 x 1: few pixels, and gigabytes of rows and weights for a decoder that believes it. */
	if (MAX(im->info.w, im->info.h) > RECIPE_MAX_SIDE)
		return image_fail(im, E_LIMIT, "%u x %u pixels, the limit of a side is %u", im->info.w, im->info.h,
			RECIPE_MAX_SIDE);
	if (n_pixels <= recipe->max_pixels)
		return 0;
	return image_fail(im, E_LIMIT, "%u x %u pixels, the recipe's limit is %llu", im->info.w, im->info.h,
		(unsigned long long)recipe->max_pixels);
}

/* What a decoder gives, into working memory. */
struct decoded_rows {
	struct rows rows;
	struct image *im;
};

static int decoded_rows_next(struct rows *rows, uint32_t n, struct plane *ret)
{
	struct decoded_rows *d = container_of(rows, struct decoded_rows, rows);
	struct plane to = {.w = rows->w, .h = n, .c = rows->c, .slack = IMAGE_SLACK,
		.stride = (size_t)(rows->w + 2 * IMAGE_SLACK) * rows->c};
	int r = scratch_get(SCRATCH_DECODED, to.stride * n, &to.p);

	to.p += (size_t)IMAGE_SLACK * to.c;
	*ret = to;
	return r < 0 ? r : image_rows(d->im, &to);
}

/* NULL: what cpu_set() chose. */
static _Thread_local const struct kernel *kernel_instead;

int media_check_loops(void)
{
	int r = kernel_agrees(kernel_of(cpu_set()));

	if (r == 0)
		kernel_instead = &kernel_scalar;
	return r;
}

/* All but decoding; a resize takes its rows as they come. */
static int run_op(const struct op *op, struct rows *rows, const struct plane *to)
{
	struct plane from;
	int r;

	if (op->kind == OP_RESIZE)
		return resize_run(&op->resize, kernel_instead ?: kernel_of(cpu_set()), rows, to);
	r = rows->next(rows, rows->h, &from);
	if (r < 0)
		return r;
	switch (op->kind) {
	case OP_TURN:
		pixel_turn(op->turn, &from, to);
		return 0;
	case OP_GRAY:
		pixel_gray(&from, to);
		return 0;
	case OP_EXPAND:
		pixel_expand(&from, to);
		return 0;
	case OP_CUT:
		pixel_cut(&from, op->box.x, op->box.y, to);
		return 0;
	case OP_PAD:
		pixel_pad(&from, op->box.x, op->box.y, to);
		return 0;
	case OP_DECODE:
	case OP_RESIZE:
		break;
	}
	return -EINVAL;
}

/* After decoding, each operation from the one scratch plane into the other, the last into out. */
static int run_ops(struct image *im, const struct geometry *g, uint8_t *out)
{
	const struct op *first = &g->ops[0];
	struct decoded_rows decoded = {
		.rows = {.w = first->w, .h = first->h, .c = first->c, .next = decoded_rows_next}, .im = im};
	struct rows *rows = &decoded.rows;
	struct plane_rows made;
	int r = image_begin(im, first->box, first->c);

	for (unsigned i = g->n > 1; r == 0 && i < g->n; i++, rows = &made.rows) {
		const struct op *op = &g->ops[i];
		struct plane to = {.p = out, .w = op->w, .h = op->h, .c = op->c, .stride = (size_t)op->w * op->c};

		if (i + 1 < g->n)
			r = scratch_get(i % 2 ? SCRATCH_PLANE_A : SCRATCH_PLANE_B, to.stride * to.h, &to.p);
		if (r < 0)
			return r;
		r = i == 0 ? image_rows(im, &to) : run_op(op, rows, &to);
		made = plane_rows_of(&to);
	}
	return r;
}

static int run_image(struct image *im, const struct recipe *recipe, const struct recipe_field *field, uint64_t position,
	uint8_t *out, size_t capacity, struct media_result *ret)
{
	struct geometry_source source = {.w = im->info.w, .h = im->info.h, .c = im->c, .orientation = im->info.orientation};
	struct geometry g;
	const struct op *last;
	int r = check_pixels(recipe, im);

	if (r < 0)
		return r;
	r = geometry_make(&source, recipe, field, position, &g, im->words);
	if (r < 0)
		return r;
	last = &g.ops[g.n - 1];
	ret->h = last->h;
	ret->w = last->w;
	ret->c = last->c;
	if ((uint64_t)last->h * last->w > capacity / last->c)
		return image_fail(im, -ENOSPC, "%ux%ux%u bytes of pixels, there is room for %zu", last->h, last->w, last->c,
			capacity);
	return run_ops(im, &g, out);
}

int media_run(const struct recipe *recipe, unsigned field, uint64_t position, const uint8_t *in, size_t n, uint8_t *out,
	size_t capacity, struct media_result *ret)
{
	struct image im;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (n > recipe->max_bytes) {
		snprintf(ret->words, sizeof(ret->words), "%zu bytes, the recipe's limit is %llu", n,
			(unsigned long long)recipe->max_bytes);
		return E_LIMIT;
	}
	r = image_open(&im, in, n);
	if (r == 0) {
		r = run_image(&im, recipe, &recipe->fields[field], position, out, capacity, ret);
		image_close(&im);
	}
	ret->n_warnings = im.n_warnings;
	scratch_trim();
	return r < 0 ? say(ret, r, im.words[0] ? im.words : err_text(r)) : 0;
}

int media_probe(const uint8_t *in, size_t n, struct media_info *ret, struct media_result *words)
{
	struct image im;
	int r = image_open(&im, in, n);

	memset(words, 0, sizeof(*words));
	if (r < 0)
		return say(words, r, im.words[0] ? im.words : err_text(r));
	image_close(&im);
	*ret = im.info;
	return 0;
}
