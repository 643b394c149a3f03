/* SPDX-License-Identifier: Apache-2.0 */
/* One sample: located, read, decoded, put in its place; and what is done when that fails. */
#include "feed/item_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

void item_fail(struct item *it, int r, const char *fmt, ...)
{
	va_list ap;

	if (it->r < 0)
		return;
	it->r = r;
	it->failed_field = it->at;
	va_start(ap, fmt);
	vsnprintf(it->words, sizeof(it->words), fmt, ap);
	va_end(ap);
}

static struct item *item_alloc(struct stream *s)
{
	struct engine *g = s->engine;
	struct item *it = mem_zalloc(sizeof(*it));

	if (!it)
		return NULL;
	list_init(&it->list);
	list_init(&it->stalled);
	it->stream = s;
	it->fields = mem_calloc(g->n_fields, sizeof(*it->fields));
	it->reads = mem_calloc(g->n_fields, sizeof(*it->reads));
	it->ranges = mem_calloc(g->n_fields, sizeof(*it->ranges));
	if (!it->fields || !it->reads || !it->ranges)
		return item_free(it), NULL;
	for (unsigned k = 0; k < g->n_fields; k++) {
		it->fields[k].item = it->reads[k].item = it;
		list_init(&it->reads[k].queued);
		timer_init(&it->reads[k].timer, g->loop, item_read_again);
	}
	return it;
}

uint64_t item_encoded_bytes(struct item *it)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < engine_of(it)->n_fields; k++)
		if (member_of(it, k)->kind == MEMBER_RANGE)
			n += MIN(member_of(it, k)->length, engine_of(it)->recipe.max_bytes);
	return n;
}

static int item_locate(struct item *it, struct err *e)
{
	int r = plan_sample(engine_of(it)->plan, it->position, it->attempt, &it->sample, e);

	if (r < 0)
		return err_prefix(e, r, "position %llu: ", (unsigned long long)it->position);
	it->n_bytes = item_encoded_bytes(it);
	return 0;
}

int item_new(struct batch_work *b, uint32_t index, uint64_t position, struct item **ret, struct err *e)
{
	struct item *it = item_alloc(b->stream);
	int r;

	if (!it)
		return err_set(e, -ENOMEM, "no memory for a sample");
	it->batch = b;
	it->index = index;
	it->position = position;
	r = item_locate(it, e);
	if (r < 0) {
		item_free(it);
		return r;
	}
	*ret = it;
	return 0;
}

/* Gives back what the fields hold of the last attempt. */
static void fields_clear(struct item *it)
{
	for (unsigned k = 0; it->fields && k < engine_of(it)->n_fields; k++) {
		struct item_field *f = &it->fields[k];

		if (f->in.p)
			worker_in_free(engine_of(it)->pool, &f->in);
		mem_free(f->bytes);
		memset(&f->in, 0, sizeof(f->in));
		f->bytes = NULL;
		f->to_read = false;
	}
}

void item_free(struct item *it)
{
	if (!it)
		return;
	fields_clear(it);
	list_del(&it->list);
	list_del(&it->stalled);
	plan_sample_release(&it->sample);
	mem_free(it->for_key);
	mem_free(it->fields);
	mem_free(it->reads);
	mem_free(it->ranges);
	mem_free(it);
}

static bool is_bad(int r)
{
	return r == E_BAD_SAMPLE || r == E_REFUSED_SAMPLE || r == E_LIMIT;
}

/* Which sample it was, for words. */
static void name_sample(struct item *it, char *to, size_t n)
{
	const struct plan_member *m = member_of(it, it->failed_field);
	char where[256] = "", key[200], path[200];

	if (m->kind == MEMBER_RANGE)
		str_printable(str_of(m->path), path, sizeof(path));
	if (m->kind == MEMBER_RANGE && m->offset)
		snprintf(where, sizeof(where), " in %s at byte %llu", path, (unsigned long long)m->offset);
	else if (m->kind == MEMBER_RANGE)
		snprintf(where, sizeof(where), " in %s", path);
	str_printable(str_of(it->sample.key), key, sizeof(key));
	snprintf(to, n, "position %llu, sample %s%s: ", (unsigned long long)it->position, key, where);
}

static void item_gone(struct item *it)
{
	struct stream *s = it->stream;
	struct engine *g = s->engine;

	g->read_bytes -= it->n_bytes;
	g->n_items--;
	item_free(it);
	stream_drop_item(s);
	engine_pump_later(g);
}

/* The batch keeps what names the sample. */
static int item_record(struct item *it)
{
	struct batch_work *b = it->batch;

	b->positions[it->index] = it->position;
	b->keys[it->index] = mem_strdup(it->sample.key);
	b->fors[it->index] = TAKE(it->for_key);
	return b->keys[it->index] ? 0 : -ENOMEM;
}

static bool item_substitute(struct item *it)
{
	struct engine *g = engine_of(it);
	struct err e = {0};
	int r;

	if (!is_bad(it->r) || g->on_bad != ON_BAD_SKIP || it->attempt >= ENGINE_MAX_ATTEMPTS)
		return false;
	if (!it->for_key)
		it->for_key = mem_strdup(it->sample.key);
	it->r = 0;
	if (!it->for_key) {
		item_fail(it, -ENOMEM, "no memory for its key");
		return false;
	}
	g->read_bytes -= it->n_bytes;
	it->attempt++;
	it->n_bytes = 0;
	r = item_locate(it, &e);
	if (r < 0)
		item_fail(it, r, "%s", err_words(&e, r));
	return r == 0;
}

static void item_end_failed(struct item *it)
{
	char name[512], words[1024];

	name_sample(it, name, sizeof(name));
	snprintf(words, sizeof(words), "%s%s", name, it->words);
	batch_item_ended(it->batch, it->index, it->r, words);
}

/* Nothing of this attempt is under way any more. */
static void item_ended(struct item *it)
{
	fields_clear(it);
	item_unpromise(it);
	if (it->stream->closed) {
		item_gone(it);
		return;
	}
	if (it->no_room) {
		item_park(it);
		return;
	}
	if (it->r < 0 && item_substitute(it)) {
		item_start(it);
		return;
	}
	if (it->r == 0 && item_record(it) < 0)
		item_fail(it, -ENOMEM, "no memory for its key");
	if (it->r < 0)
		item_end_failed(it);
	else
		batch_item_ended(it->batch, it->index, 0, "");
	item_gone(it);
}

void item_drop(struct item *it)
{
	if (--it->n_pending == 0)
		item_ended(it);
}

/* Starting. */

static int field_memory(struct item_field *f, bool image, uint64_t n, void **ret)
{
	int r;

	if (!image) {
		f->bytes = *ret = mem_alloc(n ? n : 1);
		return f->bytes ? 0 : -ENOMEM;
	}
	r = worker_in_alloc(engine_of(f->item)->pool, n, &f->in);
	*ret = f->in.p;
	return r;
}

/* 0, or -EAGAIN: the arena is full now. Everything else is an item that failed. */
static int field_prepare(struct item *it, unsigned k)
{
	struct engine *g = engine_of(it);
	struct item_field *f = &it->fields[k];
	const struct plan_member *m = member_of(it, k);
	bool image = g->fields[k].recipe->kind == FIELD_IMAGE;
	void *buf;
	int r;

	it->at = k;
	if (m->kind != MEMBER_RANGE)
		return field_ready(f, m), 0;
	if (m->length > g->recipe.max_bytes)
		return item_fail(it, E_LIMIT, "field %s has %llu bytes, more than the limit of %llu",
			g->fields[k].recipe->name, (unsigned long long)m->length,
			(unsigned long long)g->recipe.max_bytes), 0;
	if (m->length == 0 && image)
		return item_fail(it, E_BAD_SAMPLE, "field %s is empty", g->fields[k].recipe->name), 0;
	if (m->length == 0)
		return field_read(f, 0), 0;
	r = field_memory(f, image, m->length, &buf);
	if (r == -EAGAIN)
		return r;
	if (r < 0)
		return item_fail(it, r, "no room for the %llu bytes of field %s: %s", (unsigned long long)m->length,
			g->fields[k].recipe->name, err_text(r)), 0;
	it->ranges[k] = (struct store_range){.offset = m->offset, .length = m->length, .buf = buf};
	f->to_read = true;
	return 0;
}

/*
 * Prepares fields until the arena is full (then true), and reads those that are: what waits holds nothing that others
 * wait for. it may be gone after this.
 */
static bool item_go(struct item *it)
{
	unsigned first = it->next;
	int r = 0;

	while (it->next < engine_of(it)->n_fields && it->r == 0 && r == 0) {
		r = field_prepare(it, it->next);
		it->next += r == 0;
	}
	if (it->r == 0)
		item_read(it, first, it->next);
	if (r == -EAGAIN) {
		/* It is the head of those that wait: it was, or there are no others. */
		list_add(engine_of(it)->stalled.next, &it->stalled);
		return true;
	}
	item_drop(it);
	return false;
}

void item_start(struct item *it)
{
	struct engine *g = engine_of(it);

	it->next = 0;
	it->n_pending = 1;
	g->read_bytes += it->n_bytes;
	/* Those that wait already are not overtaken. */
	if (list_empty(&g->stalled))
		item_go(it);
	else
		list_add(&g->stalled, &it->stalled);
}

void items_unstall(struct engine *g)
{
	bool full = false;

	while (!full && !list_empty(&g->stalled))
		full = item_go(container_of(list_pop(&g->stalled), struct item, stalled));
}

static void item_cancel(struct item *it)
{
	it->n_pending++;
	for (unsigned k = 0; k < engine_of(it)->n_fields; k++)
		it->n_pending -= item_read_cancel(&it->reads[k]);
	if (it->parked)
		item_unpark(it);
	if (!list_empty(&it->stalled)) {
		list_del(&it->stalled);
		it->n_pending--;
	}
	item_drop(it);
}

void items_cancel(struct stream *s)
{
	LIST_EACH(b, &s->opened) {
		LIST_EACH(e, &container_of(b, struct batch_work, list)->items)
			item_cancel(container_of(e, struct item, list));
	}
}
