/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reads of samples. What is asked for in one turn and lies side by side in a file is one request: the fields of a
 * sample in a shard, and the samples of a batch that follow one another there. Each field is tried again by itself.
 */
#include "feed/item_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* A read that takes longer is given up and tried again: a hung mount must not hang the job without a word. */
#define READ_TIME_NS (60 * NS_PER_S)
#define BACK_OFF_NS (20 * NS_PER_MS)
/* A request is as late as its last byte: no more than a disk brings in the time that it takes to find the place. */
#define GROUP_MAX_BYTES (2u << 20)
#define GROUP_MAX_READS 256
/* Small enough to be one call of the store, or one after another with the same open file. */
#define GROUP_MAX_GAP (64u << 10)

struct read_group {
	struct store_req req;
	unsigned n, n_live;		/* reads; of those that nobody has cancelled */
	struct item_read **reads;	/* in the order of their offsets */
	struct store_range ranges[];	/* of the same */
};

static unsigned field_of(const struct item_read *rd)
{
	return (unsigned)(rd - rd->item->reads);
}

static const struct plan_member *place_of(const struct item_read *rd)
{
	return member_of(rd->item, field_of(rd));
}

static struct store_range *range_of(const struct item_read *rd)
{
	return &rd->item->ranges[field_of(rd)];
}

/* The end of a read. */

/* Reasons that pass. */
static bool passes(int r)
{
	return r == -EIO || r == -EAGAIN || r == -EINTR || r == -ETIMEDOUT || r == -ECONNRESET || r == -EBUSY ||
		r == -EMFILE || r == -ENFILE;
}

/* What has come stays; the rest is asked for. */
static void keep_done(struct store_range *range)
{
	uint64_t done = MIN(range->done, range->length);

	*range = (struct store_range){.offset = range->offset + done, .length = range->length - done,
		.buf = (uint8_t *)range->buf + done};
}

static bool read_retry(struct item_read *rd, int r)
{
	struct engine *g = engine_of(rd->item);

	if (!passes(r) || rd->n_retries >= ENGINE_MAX_RETRIES || rd->item->stream->closed)
		return false;
	if (timer_set(&rd->timer, loop_now(g->loop) + (BACK_OFF_NS << rd->n_retries)) < 0)
		return false;
	keep_done(range_of(rd));
	rd->n_retries++;
	g->counts.n_retries++;
	return true;
}

/* A file was there, and a way to it. */
static bool has_changed(int r)
{
	return r == -ESTALE || r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EISDIR || r == -ENXIO;
}

static void read_failed(struct item_read *rd, int r)
{
	const struct plan_member *m = place_of(rd);

	rd->item->at = field_of(rd);
	if (has_changed(r))
		item_fail(rd->item, E_CHANGED, "%.200s %s since the plan was made; make the plan again", m->path,
			r == -ENOENT ? "has gone" : "has changed");
	else if (rd->n_retries)
		item_fail(rd->item, r, "reading %.200s at byte %llu failed %u times, the last time with: %s", m->path,
			(unsigned long long)m->offset, rd->n_retries + 1, err_text(r));
	else
		item_fail(rd->item, r, "reading %.200s at byte %llu: %s", m->path, (unsigned long long)m->offset,
			err_text(r));
}

/* rd's item may be gone after this. */
static void read_ended(struct item_read *rd, int r)
{
	struct item *it = rd->item;

	if (r < 0 && read_retry(rd, r))
		return;
	if (r < 0)
		read_failed(rd, r);
	else if (it->r == 0 && !it->stream->closed)
		field_arrived(&it->fields[field_of(rd)], place_of(rd)->length);
	item_drop(it);
}

static void group_free(struct read_group *group)
{
	if (!group)
		return;
	mem_free(group->reads);
	mem_free(group);
}

static void group_done(struct store_req *req)
{
	struct read_group *group = req->ctx;

	for (unsigned i = 0; i < group->n; i++) {
		struct item_read *rd = group->reads[i];
		const struct store_range *range = &group->ranges[i];

		rd->group = NULL;
		*range_of(rd) = *range;
		read_ended(rd, range->r);
	}
	group_free(group);
}

bool item_read_cancel(struct item_read *rd)
{
	if (rd->group && --rd->group->n_live == 0)
		store_cancel(&rd->group->req);
	if (timer_armed(&rd->timer)) {
		timer_clear(&rd->timer);
		return true;
	}
	if (list_empty(&rd->queued))
		return false;
	list_del(&rd->queued);
	return true;
}

/* Its beginning. */

static struct read_group *group_new(struct item_read **reads, unsigned n)
{
	struct read_group *group = mem_zalloc(sizeof(*group) + n * sizeof(group->ranges[0]));

	if (!group)
		return NULL;
	group->reads = mem_calloc(n, sizeof(*group->reads));
	if (!group->reads)
		return group_free(group), NULL;
	for (unsigned i = 0; i < n; i++) {
		group->reads[i] = reads[i];
		group->ranges[i] = *range_of(reads[i]);
		reads[i]->group = group;
	}
	group->n = group->n_live = n;
	return group;
}

/* Reads of one file and one batch, in order. */
static void group_submit(struct item_read **reads, unsigned n)
{
	struct item *first = reads[0]->item;
	const struct plan_member *m = place_of(reads[0]);
	struct engine *g = engine_of(first);
	struct read_group *group = group_new(reads, n);

	for (unsigned i = 0; !group && i < n; i++)
		read_ended(reads[i], -ENOMEM);
	if (!group)
		return;
	group->req = (struct store_req){.loop = g->loop, .op = STORE_READ, .path = m->path, .file = &m->file,
		.ranges = group->ranges, .n_ranges = n, .deadline_ns = loop_now(g->loop) + READ_TIME_NS,
		.prio = batch_lead(first->batch) == 0 ? STORE_PRIO_URGENT : STORE_PRIO_NORMAL, .done = group_done,
		.ctx = group};
	store_submit(g->through ? g->through : m->store, &group->req);
}

void item_read_again(struct timer *t)
{
	struct item_read *rd = container_of(t, struct item_read, timer);

	group_submit(&rd, 1);
}

#define DIFFER(a, b) ((a) < (b) ? -1 : 1)

/* By what they are before where they lie in memory, so that a schedule on virtual time repeats. */
static int batch_compare(const struct batch_work *a, const struct batch_work *b)
{
	if (a == b)
		return 0;
	if (batch_lead(a) != batch_lead(b))
		return DIFFER(batch_lead(a), batch_lead(b));
	if (a->global.begin != b->global.begin)
		return DIFFER(a->global.begin, b->global.begin);
	return a->from != b->from ? DIFFER(a->from, b->from) : DIFFER(a, b);
}

/* What is wanted first; of a batch what lies together. */
static int read_compare(const void *a, const void *b)
{
	const struct item_read *x = *(struct item_read *const *)a, *y = *(struct item_read *const *)b;
	const struct plan_member *m = place_of(x), *n = place_of(y);
	int r = batch_compare(x->item->batch, y->item->batch);

	if (r == 0 && m->path != n->path)
		r = strcmp(m->path, n->path);
	if (r)
		return r;
	if (m->store != n->store)
		return DIFFER(m->store, n->store);
	return range_of(x)->offset == range_of(y)->offset ? 0 : DIFFER(range_of(x)->offset, range_of(y)->offset);
}

static bool may_follow(const struct item_read *first, const struct item_read *last, const struct item_read *rd)
{
	const struct plan_member *m = place_of(last), *n = place_of(rd);
	uint64_t begin = range_of(first)->offset, end = range_of(last)->offset + range_of(last)->length;

	if (last->item->batch != rd->item->batch || m->store != n->store || strcmp(m->path, n->path) != 0 ||
		strcmp(m->file.version, n->file.version) != 0)
		return false;
	return range_of(rd)->offset >= end && range_of(rd)->offset - end <= GROUP_MAX_GAP &&
		range_of(rd)->offset + range_of(rd)->length - begin <= GROUP_MAX_BYTES;
}

static unsigned group_length(struct item_read **reads, unsigned n)
{
	unsigned k = 1;

	while (k < MIN(n, GROUP_MAX_READS) && may_follow(reads[0], reads[k - 1], reads[k]))
		k++;
	return k;
}

static unsigned list_length(const struct list *head)
{
	unsigned n = 0;

	for (const struct list *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

/* All that were asked for, each once; NULL when there is no memory for the list, which is as it was then. */
static struct item_read **reads_take(struct engine *g, unsigned n)
{
	struct item_read **reads = n ? mem_calloc(n, sizeof(*reads)) : NULL;

	for (unsigned i = 0; reads && i < n; i++)
		reads[i] = container_of(list_pop(&g->to_read), struct item_read, queued);
	return reads;
}

void reads_submit(struct engine *g)
{
	unsigned n = list_length(&g->to_read);
	AUTO_FREE struct item_read **reads = reads_take(g, n);
	struct list *l;

	if (reads)
		qsort(reads, n, sizeof(*reads), read_compare);
	for (unsigned at = 0, length; reads && at < n; at += length) {
		length = group_length(reads + at, n - at);
		group_submit(reads + at, length);
	}
	/* Without memory to sort them each goes its own way. */
	while ((l = list_pop(&g->to_read))) {
		struct item_read *rd = container_of(l, struct item_read, queued);

		group_submit(&rd, 1);
	}
}

void item_read(struct item *it, unsigned first, unsigned end)
{
	for (unsigned k = first; k < end; k++) {
		struct item_read *rd = &it->reads[k];

		if (!it->fields[k].to_read)
			continue;
		rd->n_retries = 0;
		it->n_pending++;
		list_add(&engine_of(it)->to_read, &rd->queued);
	}
	engine_pump_later(engine_of(it));
}
