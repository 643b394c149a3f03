/* SPDX-License-Identifier: Apache-2.0 */
/* A batch's memory: fixed fields have their place from the start, the others are laid out when all samples are there. */
#include "feed/engine_int.h"

#include <string.h>

static uint64_t align_up(uint64_t n)
{
	return (n + BATCHHEAD_ALIGN - 1) / BATCHHEAD_ALIGN * BATCHHEAD_ALIGN;
}

uint64_t batch_room(const struct engine *g, uint64_t n)
{
	uint64_t room = BATCHHEAD_ROOM;

	for (unsigned k = 0; k < g->n_fields; k++)
		room += align_up(n * g->fields[k].sample_bytes);
	return room;
}

static void field_head(const struct engine_field *f, uint32_t n, struct batch_field *h)
{
	*h = (struct batch_field){.kind = f->recipe->kind, .dtype = f->recipe->dtype, .form = FORM_ARRAY, .n_dims = 1};
	memcpy(h->name, f->recipe->name, sizeof(h->name));
	h->dims[0] = n;
	if (!f->fixed || f->recipe->kind != FIELD_IMAGE)
		return;
	h->n_dims = 4;
	if (f->recipe->layout == LAYOUT_CHW)
		memcpy(h->dims + 1, (uint64_t[]){f->c, f->h, f->w}, 3 * sizeof(uint64_t));
	else
		memcpy(h->dims + 1, (uint64_t[]){f->h, f->w, f->c}, 3 * sizeof(uint64_t));
}

static void lay_out_fixed(struct batch_work *b)
{
	const struct engine *g = b->stream->engine;
	struct batch_head *h = &b->out.head;
	uint64_t at = BATCHHEAD_ROOM;

	h->n_fields = g->n_fields;
	for (unsigned k = 0; k < g->n_fields; k++) {
		field_head(&g->fields[k], h->n, &h->fields[k]);
		if (!g->fields[k].fixed)
			continue;
		h->fields[k].data_offset = at;
		h->fields[k].data_bytes = h->n * g->fields[k].sample_bytes;
		at += align_up(h->fields[k].data_bytes);
	}
	b->fixed_end = at;
}

static uint32_t n_real_of(const struct batch *global, uint64_t from, uint64_t n)
{
	return (uint32_t)(global->n_real <= from ? 0 : MIN(n, global->n_real - from));
}

static int take_memory(struct batch_work *b, uint64_t n)
{
	struct stream *s = b->stream;

	b->positions = mem_calloc(n + 1, sizeof(*b->positions));
	b->keys = mem_calloc(n + 1, sizeof(*b->keys));
	b->fors = mem_calloc(n + 1, sizeof(*b->fors));
	b->outs = mem_calloc((n + 1) * s->engine->n_fields, sizeof(*b->outs));
	if (!b->positions || !b->keys || !b->fors || !b->outs)
		return -ENOMEM;
	if (batch_room(s->engine, n) > s->engine->limits.batch_bytes)
		return -E2BIG;
	return slot_take(&s->slots, batch_room(s->engine, n), &b->out.slot);
}

/* What a batch holds counts against the limits of its engine. */
static void charge(struct batch_work *b, uint64_t before, uint64_t after)
{
	struct engine *g = b->stream->engine;

	b->n_bytes += after - before;
	g->slot_bytes += after - before;
	g->counts.max_slot_bytes = MAX(g->counts.max_slot_bytes, g->slot_bytes);
}

int batch_work_new(struct stream *s, const struct batch *global, uint64_t from, uint64_t n, struct batch_work **ret)
{
	struct batch_work *b = mem_zalloc(sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	list_init(&b->list);
	list_init(&b->items);
	b->stream = s;
	b->global = *global;
	b->from = from;
	b->out.head = (struct batch_head){.begin = global->begin, .end = global->end, .epoch = global->epoch,
		.dp_rank = s->conf.dp_rank, .dp_size = s->conf.dp_size, .n = (uint32_t)n,
		.n_real = n_real_of(global, from, n), .last = global->last};
	r = take_memory(b, n);
	if (r < 0) {
		batch_work_free(b);
		return r;
	}
	lay_out_fixed(b);
	charge(b, 0, b->out.slot->held_bytes);
	*ret = b;
	return 0;
}

void *batch_place(const struct batch_work *b, unsigned field, uint32_t index)
{
	const struct engine_field *f = &b->stream->engine->fields[field];

	return b->out.slot->p + b->out.head.fields[field].data_offset + index * f->sample_bytes;
}

struct sample_out *batch_out(const struct batch_work *b, unsigned field, uint32_t index)
{
	return &b->outs[(size_t)index * b->stream->engine->n_fields + field];
}

bool batch_may_grow(const struct batch_work *b, uint64_t n_bytes)
{
	uint64_t limit = b->stream->engine->limits.batch_bytes;

	return b->n_bytes <= limit && n_bytes <= limit - b->n_bytes;
}

void batch_out_set(struct batch_work *b, unsigned field, uint32_t index, struct sample_out out)
{
	struct sample_out *o = batch_out(b, field, index);

	charge(b, o->n_bytes, out.n_bytes);
	mem_free(o->p);
	*o = out;
}

/* Its bytes lie in the slot now: not all of a batch twice. Its shape is still asked for. */
static void out_drop(struct batch_work *b, unsigned field, uint32_t index)
{
	struct sample_out *o = batch_out(b, field, index);

	charge(b, o->n_bytes, 0);
	mem_free(TAKE(o->p));
	o->n_bytes = 0;
}

static void outs_free(struct batch_work *b)
{
	size_t n_fields = b->stream->engine->n_fields;

	for (size_t i = 0; b->outs && i < b->out.head.n * n_fields; i++) {
		charge(b, b->outs[i].n_bytes, 0);
		mem_free(b->outs[i].p);
	}
	mem_free(b->outs);
	b->outs = NULL;
}

void batch_work_free(struct batch_work *b)
{
	if (!b)
		return;
	list_del(&b->list);
	outs_free(b);
	for (uint32_t i = 0; b->keys && i < b->out.head.n; i++)
		mem_free(b->keys[i]);
	for (uint32_t i = 0; b->fors && i < b->out.head.n; i++)
		mem_free(b->fors[i]);
	mem_free(b->keys);
	mem_free(b->fors);
	mem_free(b->positions);
	mem_free(b->words);
	if (b->out.slot)
		slot_put(&b->stream->slots, b->out.slot, b->stream->engine->limits.slot_bytes);
	b->stream->engine->slot_bytes -= b->n_bytes;
	mem_free(b);
}

/* The end of what is used; grows the slot for n more bytes there and gives their offset. */
static int take_room(struct batch_work *b, uint64_t n, uint64_t *ret_offset)
{
	struct batch_head *h = &b->out.head;
	struct slot *slot = b->out.slot;
	uint64_t at = align_up(h->n_bytes), before = slot->held_bytes;
	int r;

	if (n > b->stream->engine->limits.batch_bytes || at + n > b->stream->engine->limits.batch_bytes)
		return -E2BIG;
	r = slot_grow(&b->stream->slots, slot, at + n);
	if (r < 0)
		return r;
	charge(b, before, slot->held_bytes);
	h->n_bytes = at + n;
	*ret_offset = at;
	return 0;
}

/* The samples' own shapes, n rows of 3. */
static int put_sizes(struct batch_work *b, unsigned field, struct batch_field *h)
{
	int r = take_room(b, 12ull * b->out.head.n, &h->sizes_offset);

	if (r < 0)
		return r;
	h->n_size_dims = 3;
	for (uint32_t i = 0; i < b->out.head.n; i++)
		memcpy(b->out.slot->p + h->sizes_offset + 12ull * i, batch_out(b, field, i)->dims, 12);
	return 0;
}

static const void *piece_out(const struct batch_work *b, unsigned field, uint32_t i, uint64_t *ret_n)
{
	const struct sample_out *o = batch_out(b, field, i);

	*ret_n = o->n_bytes;
	return o->p;
}

/* Bytes of all, one after another, with n + 1 offsets in elements. piece() gives sample i's bytes. */
static int put_ragged(struct batch_work *b, struct batch_field *h,
	const void *(*piece)(const struct batch_work *b, unsigned field, uint32_t i, uint64_t *ret_n), unsigned field)
{
	uint64_t size = dtype_bytes(h->dtype), at = 0, n, *offsets;
	int r;

	for (uint32_t i = 0; i < b->out.head.n; i++) {
		piece(b, field, i, &n);
		at += n;
	}
	h->form = FORM_RAGGED;
	h->n_dims = 1;
	h->dims[0] = at / size;
	h->data_bytes = at;
	r = take_room(b, (b->out.head.n + 1ull) * 8, &h->offsets_offset);
	r = r < 0 ? r : take_room(b, at, &h->data_offset);
	if (r < 0)
		return r;
	offsets = (uint64_t *)(b->out.slot->p + h->offsets_offset);
	offsets[0] = at = 0;
	for (uint32_t i = 0; i < b->out.head.n; i++) {
		const void *p = piece(b, field, i, &n);

		if (n)
			memcpy(b->out.slot->p + h->data_offset + at, p, n);
		if (piece == piece_out)
			out_drop(b, field, i);
		at += n;
		offsets[i + 1] = at / size;
	}
	return 0;
}

static const void *piece_key(const struct batch_work *b, unsigned field, uint32_t i, uint64_t *ret_n)
{
	*ret_n = b->keys[i] ? strlen(b->keys[i]) : 0;
	return b->keys[i];
}

static const void *piece_for(const struct batch_work *b, unsigned field, uint32_t i, uint64_t *ret_n)
{
	*ret_n = b->fors[i] ? strlen(b->fors[i]) : 0;
	return b->fors[i];
}

static int unequal(const struct batch_work *b, unsigned field, uint32_t i, struct err *e)
{
	const uint32_t *p = batch_out(b, field, 0)->dims, *q = batch_out(b, field, i)->dims;

	return err_set(e, -EINVAL, "field %s: `collate: stack` needs equal shapes, but position %llu (%s) is %ux%ux%u "
		"and position %llu (%s) is %ux%ux%u; give the field a step with a fixed size, or `collate: pad` or "
		"`ragged`", b->out.head.fields[field].name, (unsigned long long)b->positions[0], b->keys[0], p[0], p[1],
		p[2], (unsigned long long)b->positions[i], b->keys[i], q[0], q[1], q[2]);
}

/* dims: of the frame, the largest side of each kind. 0, or the words of why `stack` cannot be. */
static int frame_of(const struct batch_work *b, unsigned field, bool stack, uint64_t dims[3], struct err *e)
{
	for (uint32_t i = 0; i < b->out.head.n; i++) {
		const uint32_t *d = batch_out(b, field, i)->dims;

		for (unsigned k = 0; k < 3; k++) {
			if (stack && d[k] != batch_out(b, field, 0)->dims[k])
				return unequal(b, field, i, e);
			dims[k] = MAX(dims[k], d[k]);
		}
	}
	return 0;
}

/*
 * Rows of one sample into its frame, at the top left; what is around becomes zeros: slots are used again. Where the
 * innermost side is the frame's, as channels are in HWC, a row has all of the middle one.
 */
static void put_framed(uint8_t *to, const uint64_t frame[3], const struct sample_out *o, uint64_t size)
{
	bool whole = o->dims[2] == frame[2];
	uint64_t n_rows = whole ? 1 : o->dims[1], row = o->dims[2] * size * (whole ? o->dims[1] : 1);
	const uint8_t *from = o->p;

	memset(to, 0, frame[0] * frame[1] * frame[2] * size);
	for (uint64_t i = 0; i < o->dims[0]; i++)
		for (uint64_t j = 0; j < n_rows; j++, from += row)
			memcpy(to + (i * frame[1] + j) * frame[2] * size, from, row);
}

static int put_array(struct batch_work *b, unsigned field, bool stack, struct batch_field *h, struct err *e)
{
	uint64_t dims[3] = {0, 0, 0}, one = dtype_bytes(h->dtype);
	int r = frame_of(b, field, stack, dims, e);

	if (r < 0)
		return r;
	for (unsigned k = 0; k < 3; k++)
		if (__builtin_mul_overflow(one, dims[k], &one))
			return -E2BIG;
	if (__builtin_mul_overflow(one, (uint64_t)b->out.head.n, &h->data_bytes))
		return -E2BIG;
	h->n_dims = 4;
	memcpy(h->dims + 1, dims, sizeof(dims));
	r = take_room(b, h->data_bytes, &h->data_offset);
	for (uint32_t i = 0; r == 0 && i < b->out.head.n; i++) {
		put_framed(b->out.slot->p + h->data_offset + i * one, dims, batch_out(b, field, i), dtype_bytes(h->dtype));
		out_drop(b, field, i);
	}
	return r;
}

static int collate_field(struct batch_work *b, unsigned k, struct err *e)
{
	const struct engine_field *f = &b->stream->engine->fields[k];
	struct batch_field *h = &b->out.head.fields[k];
	int r;

	if (f->fixed)
		return 0;
	if (f->recipe->kind != FIELD_IMAGE)
		return put_ragged(b, h, piece_out, k);
	r = f->collate == COLLATE_RAGGED ? put_ragged(b, h, piece_out, k) :
		put_array(b, k, f->collate == COLLATE_STACK, h, e);
	return r < 0 || f->collate == COLLATE_STACK ? r : put_sizes(b, k, h);
}

static int put_extra(struct batch_work *b)
{
	struct batch_head *h = &b->out.head;
	struct batch_field *f = &h->fields[h->n_fields];
	int r;

	h->n_fields += 3;
	f[0] = (struct batch_field){.name = BATCHHEAD_POSITION, .kind = FIELD_INT, .dtype = DTYPE_INT64,
		.form = FORM_ARRAY, .n_dims = 1, .dims = {h->n}, .data_bytes = 8ull * h->n};
	f[1] = (struct batch_field){.name = BATCHHEAD_KEY, .kind = FIELD_TEXT, .dtype = DTYPE_UINT8};
	f[2] = (struct batch_field){.name = BATCHHEAD_FOR, .kind = FIELD_TEXT, .dtype = DTYPE_UINT8};
	r = take_room(b, f[0].data_bytes, &f[0].data_offset);
	if (r < 0)
		return r;
	memcpy(b->out.slot->p + f[0].data_offset, b->positions, f[0].data_bytes);
	r = put_ragged(b, &f[1], piece_key, 0);
	return r < 0 ? r : put_ragged(b, &f[2], piece_for, 0);
}

static int put_head(struct batch_work *b)
{
	AUTO_BUF struct buf buf;
	int r;

	buf_init(&buf, BATCHHEAD_ROOM);
	r = batch_head_encode(&b->out.head, &buf);
	if (r == 0)
		memcpy(b->out.slot->p, buf.ptr, buf.n);
	return r;
}

int batch_failed(const struct engine *g, uint64_t n, int r, struct err *e)
{
	if (r == -E2BIG)
		return err_set(e, r, "a batch of %llu samples takes more than %llu bytes, half of the memory that may be used; "
			"ask for fewer samples or smaller pictures (`collate: pad` gives each the sides of the largest)",
			(unsigned long long)n, (unsigned long long)g->limits.batch_bytes);
	return err_set(e, r, "a batch of %llu samples: %s", (unsigned long long)n, err_text(r));
}

int batch_collate(struct batch_work *b, struct err *e)
{
	int r = 0;

	b->out.head.n_bytes = b->fixed_end;
	for (unsigned k = 0; r == 0 && k < b->stream->engine->n_fields; k++)
		r = collate_field(b, k, e);
	r = r < 0 ? r : put_extra(b);
	r = r < 0 ? r : put_head(b);
	outs_free(b);
	return r < 0 && e->code == 0 ? batch_failed(b->stream->engine, b->out.head.n, r, e) : r;
}
