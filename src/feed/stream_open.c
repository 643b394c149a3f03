/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's way through the plan begins, checked, and ends: with the last of its samples that are under way. */
#include "base/mem.h"
#include "feed/engine_int.h"

/* What a batch of samples of unknown size is expected to need until one has been seen, per sample. */
#define GUESS_SAMPLE_BYTES (1u << 20)

static uint64_t guess_bytes(const struct engine *g, uint64_t n)
{
	uint64_t bytes = batch_room(g, n);

	for (unsigned k = 0; k < g->n_fields; k++)
		if (!g->fields[k].fixed && g->fields[k].recipe->kind == FIELD_IMAGE)
			bytes += n * GUESS_SAMPLE_BYTES;
	return bytes;
}

static uint64_t end_of(const struct stream *s)
{
	uint64_t len = s->batches.epoch_len, epoch = s->conf.consumed / len, end;

	if (s->conf.n_epochs == 0 || __builtin_add_overflow(epoch, s->conf.n_epochs, &end) ||
		__builtin_mul_overflow(end, len, &end))
		return UINT64_MAX;
	return end;
}

static int check(const struct engine *g, const struct stream_conf *c, uint64_t global_batch, enum tail tail,
	struct err *e)
{
	if (c->dp_size < 1 || c->dp_rank >= c->dp_size)
		return err_set(e, -EINVAL, "dp_rank %u of dp_size %u: ranks go from 0 to dp_size - 1", c->dp_rank,
			c->dp_size);
	if (global_batch < 1 || global_batch / c->dp_size >= BATCHHEAD_MAX_ITEMS)
		return err_set(e, -EINVAL, "a global batch of %llu for %u ranks; a rank's must be 1 to %u",
			(unsigned long long)global_batch, c->dp_size, BATCHHEAD_MAX_ITEMS);
	if (plan_epoch_len(g->plan) < 1)
		return err_set(e, -EINVAL, "the plan has no samples");
	if (c->consumed >= POSITION_MAX)
		return err_set(e, -EINVAL, "position %llu is past the last that there is", (unsigned long long)c->consumed);
	if (tail == TAIL_DROP && plan_epoch_len(g->plan) < global_batch)
		return err_set(e, -EINVAL, "a global batch of %llu is more than the epoch's %llu samples, and `tail: drop` "
			"leaves none", (unsigned long long)global_batch, (unsigned long long)plan_epoch_len(g->plan));
	return g->n_streams < ENGINE_MAX_STREAMS ? 0 :
		err_set(e, -ENOBUFS, "more than %u ranks on one host", ENGINE_MAX_STREAMS);
}

static uint64_t global_batch_of(const struct spec *spec, const struct stream_conf *c)
{
	uint64_t batch;

	if (c->global_batch || spec->batch_is_global)
		return c->global_batch ? c->global_batch : spec->batch;
	return __builtin_mul_overflow(spec->batch, (uint64_t)c->dp_size, &batch) ? 0 : batch;
}

static void stream_init(struct stream *s, struct engine *g, const struct stream_conf *conf, uint64_t global_batch,
	enum tail tail)
{
	const struct spec *spec = plan_spec(g->plan);

	list_init(&s->opened);
	list_init(&s->given);
	s->engine = g;
	s->conf = *conf;
	s->batches = (struct batch_conf){.global_batch = global_batch, .tail = tail,
		.epoch_len = plan_epoch_len(g->plan), .skip = spec->skip, .n_skip = spec->n_skip};
	s->next = s->consumed = conf->consumed;
	s->end = end_of(s);
	s->next_bytes = guess_bytes(g, global_batch / conf->dp_size + 1);
}

int stream_open(struct engine *g, const struct stream_conf *conf, struct stream **ret, struct err *e)
{
	uint64_t global_batch = global_batch_of(plan_spec(g->plan), conf);
	struct stream *s;
	enum tail tail = conf->has_tail ? conf->tail : plan_spec(g->plan)->tail;
	int r = check(g, conf, global_batch, tail, e);

	if (r < 0)
		return r;
	s = mem_zalloc(sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "no memory for a rank");
	stream_init(s, g, conf, global_batch, tail);
	g->streams[g->n_streams++] = s;
	engine_stream_changed(s);
	*ret = s;
	return 0;
}

static void batches_free(struct list *l)
{
	while (!list_empty(l))
		batch_work_free(container_of(l->next, struct batch_work, list));
}

static void stream_free(struct stream *s)
{
	batches_free(&s->opened);
	batches_free(&s->given);
	slot_pool_release(&s->slots);
	mem_free(s->words);
	mem_free(s);
}

void stream_drop_item(struct stream *s)
{
	if (--s->n_items == 0 && s->closed)
		stream_free(s);
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	s->closed = true;
	engine_remove_stream(s->engine, s);
	item_free(TAKE(s->peeked));
	/* Items copy into the batches until they see that the stream is closed; it goes with the last of them. */
	s->n_items++;
	items_cancel(s);
	engine_stream_changed(s);
	stream_drop_item(s);
}
