/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's way through the plan: batches opened ahead, given in order, released. */
#include "feed/engine_int.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static struct batch_work *batch_of(struct list *l)
{
	return container_of(l, struct batch_work, list);
}

static struct batch_work *first_opened(struct stream *s)
{
	return list_empty(&s->opened) ? NULL : batch_of(s->opened.next);
}

void stream_tell(struct stream *s)
{
	s->tell = true;
	engine_stream_changed(s);
}

void stream_fail(struct stream *s, int r, const char *words)
{
	if (s->r < 0)
		return;
	s->r = r;
	s->words = mem_strdup(words);
	stream_tell(s);
}

void stream_refuse(struct stream *s)
{
	s->refused = true;
	stream_tell(s);
}

/* Opening. */

/* The next global batch, or E_END. A dropped tail is stepped over. */
static int next_batch(struct stream *s, struct batch *ret)
{
	for (;;) {
		int r = s->next >= s->end ? E_END : batch_at(&s->batches, s->next, ret);

		if (r == 0 && ret->end > s->end)
			return E_END;
		if (r != E_END || s->next >= s->end || ret->end <= s->next)
			return r;
		s->next = ret->end;
	}
}

/*
 * The batch's number: counted from the end of its epoch, so that it depends on the position alone and a run that was
 * resumed goes on with the numbers of the one before.
 */
static uint64_t number_of(const struct stream *s, const struct batch *global)
{
	const struct batch_conf *c = &s->batches;
	uint64_t per_epoch = (c->epoch_len + c->global_batch - 1) / c->global_batch;
	uint64_t all = batch_count(c, global->epoch * c->epoch_len), left = batch_count(c, global->begin);

	return global->epoch * per_epoch + all - MIN(all, left);
}

static int open_batch(struct stream *s, const struct batch *global)
{
	uint64_t from, to, left = s->conf.n_samples - s->n_opened_samples;
	struct batch_work *b;
	struct err e = {0};
	bool cut;
	int r;

	batch_slice(global->n, s->conf.dp_size, s->conf.dp_rank, &from, &to);
	/* A batch that is cut short was not consumed by the other ranks: who goes on from here begins it again. */
	cut = s->conf.n_samples && to - from > left;
	to = cut ? from + left : to;
	r = batch_work_new(s, global, from, to - from, &b);
	if (r < 0) {
		batch_failed(s->engine, to - from, r, &e);
		stream_fail(s, r, e.words);
		return r;
	}
	b->out.head.number = number_of(s, global);
	b->seq = s->n_opened++;
	list_add(&s->opened, &b->list);
	s->n_ahead++;
	s->n_opened_samples += to - from;
	s->next = global->end;
	if (cut)
		b->out.head.end = s->conf.dp_size > 1 || to == from ? global->begin :
			batch_position(&s->batches, global, to - 1) + 1;
	if (to == from)
		batch_item_ended(b, 0, 0, "");
	return 0;
}

void stream_open_batch(struct stream *s)
{
	struct batch global = {0};
	int r = s->conf.n_samples && s->n_opened_samples >= s->conf.n_samples ? E_END : next_batch(s, &global);

	if (r == 0)
		r = open_batch(s, &global);
	if (r == E_END)
		s->at_end = true;
	else if (r < 0)
		stream_fail(s, r, r == -ERANGE ? "there are no positions left: they end at 2^62" : err_text(r));
	if (r < 0)
		stream_tell(s);
}

/* Samples. */

/* The first batch with samples to start. What comes behind a batch that failed is not worth it. */
static struct batch_work *batch_to_start(struct stream *s, unsigned *ret_lead)
{
	unsigned lead = 0;

	LIST_EACH(e, &s->opened) {
		struct batch_work *b = batch_of(e);

		if (b->r < 0)
			return NULL;
		if (b->n_started < b->out.head.n) {
			*ret_lead = lead;
			return b;
		}
		lead++;
	}
	return NULL;
}

struct item *stream_peek(struct stream *s, unsigned *ret_lead)
{
	struct batch_work *b = s->closed || s->r < 0 ? NULL : batch_to_start(s, ret_lead);
	struct err e = {0};
	int r;

	if (!b || (s->peeked && s->peeked->batch == b))
		return b ? s->peeked : NULL;
	item_free(TAKE(s->peeked));
	r = item_new(b, b->n_started, batch_position(&s->batches, &b->global, b->from + b->n_started), &s->peeked, &e);
	if (r == 0)
		return s->peeked;
	b->n_started++;
	batch_item_ended(b, b->n_started - 1, r, err_words(&e, r));
	return NULL;
}

void stream_start(struct stream *s)
{
	struct item *it = TAKE(s->peeked);

	it->batch->n_started++;
	s->n_items++;
	s->engine->n_items++;
	list_add(&it->batch->items, &it->list);
	item_start(it);
}

static void batch_ready(struct batch_work *b)
{
	struct err e = {0};
	int r = batch_collate(b, &e);

	b->state = BATCH_READY;
	if (r < 0) {
		b->state = BATCH_FAILED;
		b->r = r;
		b->words = mem_strdup(e.words);
	}
	b->stream->next_bytes = b->out.slot->held_bytes;
	stream_tell(b->stream);
}

/* The first of several that failed is told, so that a run that fails says the same each time. */
static void batch_note_failure(struct batch_work *b, uint32_t index, int r, const char *words)
{
	if (b->r < 0 && b->failed_item <= index)
		return;
	b->r = r;
	b->failed_item = index;
	mem_free(b->words);
	b->words = mem_strdup(words);
}

void batch_item_ended(struct batch_work *b, uint32_t index, int r, const char *words)
{
	if (b->out.head.n > 0)
		b->n_ended++;
	b->stream->changed = true;
	if (r < 0)
		batch_note_failure(b, index, r, words);
	if (b->r < 0 && b->n_ended == b->n_started) {
		b->state = BATCH_FAILED;
		stream_tell(b->stream);
	} else if (b->r == 0 && b->n_ended == b->out.head.n) {
		batch_ready(b);
	}
}

/* Giving. */

/* Whether the last positions had too many bad samples. */
static bool too_bad(struct stream *s, struct batch_work *b)
{
	bool over = false;

	for (uint32_t i = 0; i < b->out.head.n_real; i++)
		over |= engine_count_bad(s->engine, b->fors[i] != NULL);
	return over;
}

static int give_up(struct stream *s, struct err *e)
{
	return err_set(e, s->r, "%s", s->words ? s->words : err_text(s->r));
}

static int stop_too_bad(struct stream *s, struct err *e)
{
	char words[256];

	snprintf(words, sizeof(words), "%llu of the last %u positions were bad samples, more than stop_above allows "
		"(%u of a million)", (unsigned long long)s->engine->n_bad_now, ENGINE_BAD_WINDOW,
		s->engine->stop_above_ppm);
	stream_fail(s, E_BAD_SAMPLE, words);
	return give_up(s, e);
}

/* Who comes next in the workers' queue, now that one batch less is before theirs: the first; with another pace, all. */
static void rank_items(struct stream *s)
{
	bool all = pace_differs(s->pace.period_ns, s->ranked_period_ns);

	if (all)
		s->ranked_period_ns = s->pace.period_ns;
	LIST_EACH(l, &s->opened) {
		struct batch_work *b = batch_of(l);

		if (!all && b != first_opened(s))
			return;
		LIST_EACH(e, &b->items)
			item_rank(container_of(e, struct item, list));
	}
}

static int give(struct stream *s, struct batch_work *b, struct stream_batch **ret, struct err *e)
{
	if (b->state == BATCH_FAILED) {
		stream_fail(s, b->r, b->words ? b->words : err_text(b->r));
		return give_up(s, e);
	}
	if (too_bad(s, b))
		return stop_too_bad(s, e);
	list_del(&b->list);
	list_add(&s->given, &b->list);
	b->state = BATCH_GIVEN;
	s->n_ahead--;
	s->n_held++;
	s->n_given++;
	pace_note(&s->pace, loop_now(s->engine->loop));
	rank_items(s);
	s->consumed = b->out.head.end;
	s->engine->counts.n_samples += b->out.head.n;
	*ret = &b->out;
	return 0;
}

static int none_yet(struct stream *s, struct err *e)
{
	if (s->at_end && list_empty(&s->opened)) {
		s->consumed = s->end == UINT64_MAX || s->conf.n_samples ? s->consumed : MAX(s->consumed, s->next);
		return err_set(e, E_END, "%s", err_text(E_END));
	}
	if (!s->refused)
		return -EAGAIN;
	s->refused = false;
	return err_set(e, -ENOBUFS, "%u batches are held, slots take %llu bytes, and another does not fit the "
		"limit of %llu; release some, or raise the limit", s->n_held, (unsigned long long)s->engine->slot_bytes,
		(unsigned long long)s->engine->limits.max_bytes);
}

int stream_next(struct stream *s, struct stream_batch **ret, struct err *e)
{
	struct batch_work *b = first_opened(s);
	int r;

	if (s->r < 0)
		return give_up(s, e);
	if (b && (b->state == BATCH_READY || b->state == BATCH_FAILED))
		r = give(s, b, ret, e);
	else
		r = none_yet(s, e);
	s->wanted = r == -EAGAIN;
	engine_stream_changed(s);
	return r;
}

void stream_release(struct stream *s, struct stream_batch *out)
{
	struct batch_work *b = container_of(out, struct batch_work, out);

	batch_work_free(b);
	s->n_held--;
	s->refused = false;
	engine_stream_changed(s);
}

uint64_t stream_consumed(const struct stream *s)
{
	return s->consumed;
}

uint64_t stream_batches_left(const struct stream *s)
{
	return batch_count(&s->batches, s->consumed);
}

uint64_t stream_batches(const struct stream *s)
{
	return batch_count(&s->batches, s->consumed / s->batches.epoch_len * s->batches.epoch_len);
}
