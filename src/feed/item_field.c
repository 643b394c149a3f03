/* SPDX-License-Identifier: Apache-2.0 */
/* One field of a sample: parsed or decoded, and put in its place in the batch. */
#include "feed/item_int.h"

#include <string.h>

#include "feed/field.h"

/* First guess of what an image decodes to when its chain has no fixed size, per encoded byte; -ENOSPC corrects it. */
#define GUESS_FACTOR 16
#define GUESS_MIN_BYTES (1u << 20)

static void put_number(struct item_field *f, int64_t value)
{
	struct item *it = f->item;
	unsigned k = index_of(f);

	field_value(engine_of(it)->fields[k].recipe, value, batch_place(it->batch, k, it->index));
}

/* A missing image: zeros of the fixed shape, or one without pixels. */
static void put_no_image(struct item_field *f)
{
	struct item *it = f->item;
	unsigned k = index_of(f);
	const struct engine_field *ef = &engine_of(it)->fields[k];
	uint32_t c = ef->recipe->mode == DECODE_GRAY ? 1 : 3;
	struct sample_out out = {.dims = {0, 0, c}};

	if (ef->recipe->layout == LAYOUT_CHW)
		memcpy(out.dims, (uint32_t[]){c, 0, 0}, sizeof(out.dims));
	if (ef->fixed)
		memset(batch_place(it->batch, k, it->index), 0, ef->sample_bytes);
	else
		batch_out_set(it->batch, k, it->index, out);
}

static void no_room(struct item *it, int r)
{
	struct err e = {0};

	if (r == -E2BIG)
		batch_failed(engine_of(it), it->batch->out.head.n, r, &e);
	item_fail(it, r, "%.*s", (int)sizeof(it->words) - 1, r == -E2BIG ? e.words : "there is no room for it yet");
}

static void put_bytes(struct item_field *f, uint64_t n)
{
	int r = item_room(f->item, n);

	if (r < 0)
		no_room(f->item, r);
	else
		batch_out_set(f->item->batch, index_of(f), f->item->index, (struct sample_out){.p = TAKE(f->bytes), .n_bytes = n});
}

void field_read(struct item_field *f, uint64_t n)
{
	struct item *it = f->item;
	unsigned k = index_of(f);
	const struct recipe_field *rf = engine_of(it)->fields[k].recipe;
	struct err e = {0};
	int r;

	it->at = k;
	if (rf->kind == FIELD_INT || rf->kind == FIELD_FLOAT)
		r = field_number(rf, f->bytes, n, batch_place(it->batch, k, it->index), &e);
	else
		r = field_check(rf, f->bytes, n, &e);
	if (r < 0)
		item_fail(it, r, "%s", err_words(&e, r));
	else if (rf->kind != FIELD_INT && rf->kind != FIELD_FLOAT)
		put_bytes(f, n);
}

/* What a member that needs no read gives. */
void field_ready(struct item_field *f, const struct plan_member *m)
{
	const struct recipe_field *rf = engine_of(f->item)->fields[index_of(f)].recipe;
	int64_t value = m->kind == MEMBER_INLINE ? m->value : 0;

	if (rf->kind == FIELD_IMAGE)
		put_no_image(f);
	else if (rf->kind == FIELD_INT || rf->kind == FIELD_FLOAT)
		put_number(f, value);
	else if (m->kind == MEMBER_INLINE && (f->bytes = mem_printf("%lld", (long long)value)))
		put_bytes(f, strlen(f->bytes));
	else if (m->kind == MEMBER_INLINE)
		item_fail(f->item, -ENOMEM, "no memory for a field");
	else
		put_bytes(f, 0);
}

/* Decoding. */

static bool shape_right(const struct engine_field *ef, const struct work *w)
{
	if (ef->fixed)
		return w->h == ef->h && w->w == ef->w && w->c == ef->c;
	if (w->c < 1 || w->c > 4 || w->h < 1 || w->w < 1 || (uint64_t)w->h * w->w * w->c > w->out_bytes)
		return false;
	return ef->recipe->mode == DECODE_KEEP || w->c == (ef->recipe->mode == DECODE_GRAY ? 1 : 3);
}

static int put_free_image(struct item_field *f, const struct engine_field *ef, const struct work *w)
{
	struct sample_out out = {.dims = {w->h, w->w, w->c}};
	int r;

	out.n_bytes = (uint64_t)w->h * w->w * w->c * dtype_bytes(ef->recipe->dtype);
	r = item_room(f->item, out.n_bytes);
	if (r < 0)
		return r;
	out.p = mem_alloc(out.n_bytes);
	if (!out.p)
		return -ENOMEM;
	if (ef->recipe->layout == LAYOUT_CHW)
		memcpy(out.dims, (uint32_t[]){w->c, w->h, w->w}, sizeof(out.dims));
	finish_copy(&ef->finish, w->pixels, w->h, w->w, w->c, out.p);
	batch_out_set(f->item->batch, index_of(f), f->item->index, out);
	return 0;
}

/* The one copy out of the worker's memory. */
static void put_image(struct item_field *f, const struct work *w)
{
	struct item *it = f->item;
	unsigned k = index_of(f);
	const struct engine_field *ef = &engine_of(it)->fields[k];
	int r = 0;

	if (!shape_right(ef, w))
		item_fail(it, E_PROTOCOL, "a worker gave %ux%ux%u for field %s", w->h, w->w, w->c, ef->recipe->name);
	else if (ef->fixed)
		finish_copy(&ef->finish, w->pixels, w->h, w->w, w->c, batch_place(it->batch, k, it->index));
	else
		r = put_free_image(f, ef, w);
	if (r == -E2BIG || r == -EAGAIN)
		no_room(it, r);
	else if (r < 0)
		item_fail(it, r, "no memory for %ux%ux%u pixels of field %s", w->h, w->w, w->c, ef->recipe->name);
}

static void decode_done(struct work *w);

static uint64_t due_of(const struct item *it, uint32_t cost_us)
{
	return decode_due(&it->stream->pace, loop_now(engine_of(it)->loop), batch_lead(it->batch), cost_us);
}

static void decode_start(struct item_field *f, uint64_t out_bytes)
{
	struct item *it = f->item;
	struct picture_head head = picture_head_read(f->in.p, f->in.n);
	uint32_t cost_us = decode_cost_us(&head, f->in.n);

	f->work = (struct work){.position = it->position, .field = index_of(f), .in = f->in, .out_bytes = out_bytes,
		.due = due_of(it, cost_us), .cost_us = cost_us,
		.need_bytes = out_bytes + decode_need_bytes(&head, engine_of(it)->recipe.max_pixels), .done = decode_done,
		.ctx = f};
	f->decoding = true;
	worker_submit(engine_of(it)->pool, &f->work);
}

void item_rank(struct item *it)
{
	for (unsigned k = 0; k < engine_of(it)->n_fields; k++) {
		struct item_field *f = &it->fields[k];

		if (f->decoding)
			worker_set_due(engine_of(it)->pool, &f->work, due_of(it, f->work.cost_us));
	}
}

/* More room for a result that did not fit its guess; 0 when there is none to give. */
static uint64_t more_room(const struct engine *g, const struct work *w)
{
	if (w->r != -ENOSPC || w->out_bytes >= g->out_bytes)
		return 0;
	return MIN(w->out_bytes * 4, g->out_bytes);
}

static void decode_done(struct work *w)
{
	struct item_field *f = w->ctx;
	struct item *it = f->item;
	struct engine *g = engine_of(it);
	uint64_t room = it->stream->closed ? 0 : more_room(g, w);

	it->at = index_of(f);
	f->decoding = false;
	if (w->r == 0 && !it->stream->closed)
		put_image(f, w);
	else if (w->r == -ENOSPC && !room)
		item_fail(it, E_LIMIT, "field %s: its chain makes %ux%ux%u of it; at most %llu bytes, 4 for each of "
			"`limits.pixels`, are allowed", g->fields[index_of(f)].recipe->name, w->h, w->w, w->c,
			(unsigned long long)g->out_bytes);
	else if (w->r < 0 && !room)
		item_fail(it, w->r, "field %s: %.150s", g->fields[index_of(f)].recipe->name,
			w->words[0] ? w->words : err_text(w->r));
	worker_release(g->pool, w);
	if (room) {
		decode_start(f, room);
		return;
	}
	/* Now, not with the sample: its other images may need more than is left while this one is held. */
	worker_in_free(g->pool, &f->in);
	item_drop(it);
}

static uint64_t first_room(const struct engine *g, const struct engine_field *ef, uint64_t n_in)
{
	if (ef->fixed)
		return (uint64_t)ef->h * ef->w * ef->c;
	return MIN(MAX(n_in * GUESS_FACTOR, (uint64_t)GUESS_MIN_BYTES), g->out_bytes);
}

void field_arrived(struct item_field *f, uint64_t n)
{
	struct engine *g = engine_of(f->item);
	const struct engine_field *ef = &g->fields[index_of(f)];

	g->counts.n_bytes_read += n;
	if (ef->recipe->kind != FIELD_IMAGE) {
		field_read(f, n);
		return;
	}
	f->item->n_pending++;
	decode_start(f, first_room(g, ef, n));
}
