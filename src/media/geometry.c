/* SPDX-License-Identifier: Apache-2.0 */
/* From a chain to operations. Steps are applied to the list one by one; each may change what is already there. */
#include "media/geometry.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/scope.h"
#include "media/draw.h"

struct maker {
	struct geometry *g;
	const struct recipe *recipe;
	const struct recipe_field *field;
	uint64_t position;
	char *words;
	uint32_t out_c; /* of the finished image */
};

static struct op *tail(struct maker *m)
{
	return &m->g->ops[m->g->n - 1];
}

/* A new last operation, which starts as one that changes nothing. */
static struct op *push(struct maker *m, enum op_kind kind)
{
	struct op *last = tail(m), *op = &m->g->ops[m->g->n++];

	*op = (struct op){.kind = kind, .w = last->w, .h = last->h, .c = last->c};
	return op;
}

/* The operation at or before i that can take a crop by itself; turns and grey let it pass. */
static const struct op *crop_taker(const struct geometry *g, unsigned i)
{
	while (g->ops[i].kind == OP_TURN || g->ops[i].kind == OP_GRAY)
		i--;
	return &g->ops[i];
}

static bool can_crop(const struct geometry *g, unsigned i)
{
	enum op_kind kind = crop_taker(g, i)->kind;

	return kind == OP_DECODE || kind == OP_RESIZE || kind == OP_CUT;
}

/* Makes operation i give only box of what it gave. can_crop() must hold. */
static void crop_at(struct geometry *g, unsigned i, struct box box)
{
	for (struct op *op = &g->ops[i];; op--) {
		struct box inner = op->kind == OP_TURN ? turn_back(op->turn, op->w, op->h, box) : box;
		struct box *target = op->kind == OP_RESIZE ? &op->resize.out : &op->box;

		op->w = box.w;
		op->h = box.h;
		if (op->kind != OP_TURN && op->kind != OP_GRAY) {
			*target = (struct box){target->x + box.x, target->y + box.y, box.w, box.h};
			return;
		}
		box = inner;
	}
}

static void crop(struct maker *m, struct box box)
{
	struct op *cut;

	if (box.w == tail(m)->w && box.h == tail(m)->h)
		return;
	if (can_crop(m->g, m->g->n - 1)) {
		crop_at(m->g, m->g->n - 1, box);
		return;
	}
	cut = push(m, OP_CUT);
	cut->box = box;
	cut->w = box.w;
	cut->h = box.h;
}

static void mirror(struct maker *m, unsigned turn)
{
	struct op *op = tail(m);

	if (op->kind != OP_TURN)
		op = push(m, OP_TURN);
	op->turn ^= turn;
	if (op->turn == 0)
		m->g->n--;
}

static int resize_to(struct maker *m, enum interpolation interpolation, uint64_t w, uint64_t h)
{
	struct op *last = tail(m), *op;

	if (w > RECIPE_MAX_SIDE || h > RECIPE_MAX_SIDE || w == 0 || h == 0) {
		snprintf(m->words, 160, "a resize of %ux%u to %llux%llu, the limit of a side is %u", last->w, last->h,
			(unsigned long long)w, (unsigned long long)h, RECIPE_MAX_SIDE);
		return E_LIMIT;
	}
	if (w == last->w && h == last->h)
		return 0;
	op = push(m, OP_RESIZE);
	resize_init(&op->resize, m->recipe->resample, interpolation, op->w, op->h, (uint32_t)w, (uint32_t)h);
	op->w = (uint32_t)w;
	op->h = (uint32_t)h;
	return 0;
}

static int step_resize(struct maker *m, const struct recipe_step *step)
{
	uint64_t w = tail(m)->w, h = tail(m)->h;

	if (step->w != 0)
		return resize_to(m, step->interpolation, step->w, step->h);
	if (w <= h)
		return resize_to(m, step->interpolation, step->h, step->h * h / w);
	return resize_to(m, step->interpolation, step->h * w / h, step->h);
}

static int check_crop(struct maker *m, const char *name, const struct recipe_step *step)
{
	if (step->w <= tail(m)->w && step->h <= tail(m)->h)
		return 0;
	snprintf(m->words, 160, "%s of %ux%u does not fit into the image, which is %ux%u here: put `resize` or `pad` before it",
		name, step->w, step->h, tail(m)->w, tail(m)->h);
	return E_REFUSED_SAMPLE;
}

static int step_center_crop(struct maker *m, const struct recipe_step *step)
{
	int r = check_crop(m, "center_crop", step);

	if (r < 0)
		return r;
	crop(m, (struct box){.x = round_half_even((double)(tail(m)->w - step->w) / 2.0),
		.y = round_half_even((double)(tail(m)->h - step->h) / 2.0), .w = step->w, .h = step->h});
	return 0;
}

static int step_random_crop(struct maker *m, const struct recipe_step *step)
{
	struct draw d = {.step = step, .field = m->field->index, .position = m->position};
	int r = check_crop(m, "random_crop", step);

	if (r < 0)
		return r;
	crop(m, draw_crop(&d, tail(m)->w, tail(m)->h, step->w, step->h));
	return 0;
}

static int step_random_resized_crop(struct maker *m, const struct recipe_step *step)
{
	struct draw d = {.step = step, .field = m->field->index, .position = m->position};

	crop(m, draw_resized_crop(&d, tail(m)->w, tail(m)->h));
	return resize_to(m, step->interpolation, step->w, step->h);
}

static bool happens(struct maker *m, const struct recipe_step *step)
{
	return draw_happens(&(struct draw){.step = step, .field = m->field->index, .position = m->position});
}

static int step_hflip(struct maker *m, const struct recipe_step *step)
{
	if (happens(m, step))
		mirror(m, TURN_MIRROR_X);
	return 0;
}

static int step_vflip(struct maker *m, const struct recipe_step *step)
{
	if (happens(m, step))
		mirror(m, TURN_MIRROR_Y);
	return 0;
}

/* Grey is made while decoding when nothing but turns came before. */
static int step_grayscale(struct maker *m, const struct recipe_step *step)
{
	if (tail(m)->c == 1 || !happens(m, step))
		return 0;
	if (crop_taker(m->g, m->g->n - 1)->kind != OP_DECODE) {
		push(m, OP_GRAY)->c = 1;
		return 0;
	}
	for (unsigned i = 0; i < m->g->n; i++)
		m->g->ops[i].c = 1;
	return 0;
}

static int step_pad(struct maker *m, const struct recipe_step *step)
{
	uint32_t w = MAX(step->w, tail(m)->w), h = MAX(step->h, tail(m)->h);
	struct box at = {.x = (w - tail(m)->w) / 2, .y = (h - tail(m)->h) / 2};
	struct op *op;

	if (w == tail(m)->w && h == tail(m)->h)
		return 0;
	op = push(m, OP_PAD);
	op->box = at;
	op->w = w;
	op->h = h;
	return 0;
}

static int (*const steps[])(struct maker *m, const struct recipe_step *step) = {
	[STEP_RESIZE] = step_resize,
	[STEP_CENTER_CROP] = step_center_crop,
	[STEP_RANDOM_CROP] = step_random_crop,
	[STEP_RANDOM_RESIZED_CROP] = step_random_resized_crop,
	[STEP_HFLIP] = step_hflip,
	[STEP_VFLIP] = step_vflip,
	[STEP_GRAYSCALE] = step_grayscale,
	[STEP_PAD] = step_pad,
};

static void start(struct maker *m, const struct geometry_source *source)
{
	unsigned turn = m->field->orientation == ORIENTATION_APPLY ? turn_of_orientation(source->orientation) : 0;
	struct op *op = &m->g->ops[0];

	m->g->n = 1;
	m->out_c = m->field->mode == DECODE_GRAY ? 1 : m->field->mode == DECODE_RGB ? 3 : source->c;
	*op = (struct op){.kind = OP_DECODE, .w = source->w, .h = source->h, .c = MIN(source->c, m->out_c),
		.box = {.w = source->w, .h = source->h}};
	if (turn == 0)
		return;
	op = push(m, OP_TURN);
	op->turn = turn;
	if (turn & TURN_TRANSPOSE) {
		op->w = source->h;
		op->h = source->w;
	}
}

/* From the last resize to the first: nobody makes what the next does not look at. */
static void trim_inputs(struct geometry *g)
{
	for (unsigned i = g->n; i-- > 1;) {
		struct op *op = &g->ops[i];

		if (op->kind != OP_RESIZE || !can_crop(g, i - 1))
			continue;
		op->resize.in = resize_need(&op->resize);
		crop_at(g, i - 1, op->resize.in);
	}
}

/* A mirror right after a resize costs nothing when its weights are laid out in reverse. */
static void fuse_mirrors(struct geometry *g)
{
	unsigned n = 1;

	for (unsigned i = 1; i < g->n; i++) {
		struct op *before = &g->ops[n - 1], op = g->ops[i];
		struct resize *rs = &before->resize;

		if (op.kind == OP_TURN && before->kind == OP_RESIZE && !(op.turn & TURN_TRANSPOSE)) {
			rs->mirror_x = (op.turn & TURN_MIRROR_X) && rs->x.in != rs->x.out;
			rs->mirror_y = (op.turn & TURN_MIRROR_Y) && rs->y.in != rs->y.out;
			op.turn ^= (rs->mirror_x ? TURN_MIRROR_X : 0) | (rs->mirror_y ? TURN_MIRROR_Y : 0);
			if (op.turn == 0)
				continue;
		}
		g->ops[n++] = op;
	}
	g->n = n;
}

int geometry_make(const struct geometry_source *source, const struct recipe *recipe, const struct recipe_field *field,
	uint64_t position, struct geometry *ret, char words[160])
{
	struct maker m = {.g = ret, .recipe = recipe, .field = field, .position = position, .words = words};

	start(&m, source);
	for (uint32_t i = 0; i < field->n_steps; i++) {
		int r = steps[field->steps[i].kind](&m, &field->steps[i]);

		if (r < 0)
			return r;
	}
	if (tail(&m)->c < m.out_c)
		push(&m, OP_EXPAND)->c = m.out_c;
	trim_inputs(ret);
	fuse_mirrors(ret);
	return 0;
}
