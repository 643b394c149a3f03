/* SPDX-License-Identifier: Apache-2.0 */
/* The reads of a sample: grouped by file, tried again when what failed may pass. */
#include "feed/item_int.h"

#include <string.h>

#include "base/clock.h"

/* A read that takes longer is given up and tried again: a hung mount must not hang the job without a word. */
#define READ_TIME_NS (60 * NS_PER_S)
#define BACK_OFF_NS (20 * NS_PER_MS)
static void read_done(struct store_req *req);

static void read_submit(struct item_read *rd)
{
	struct item *it = rd->item;
	const struct plan_member *m = member_of(it, rd->first);
	struct store *store = engine_of(it)->through ? engine_of(it)->through : m->store;
	struct loop *loop = engine_of(it)->loop;

	rd->req = (struct store_req){.loop = loop, .op = STORE_READ, .path = m->path, .file = &m->file,
		.ranges = it->ranges + rd->first, .n_ranges = rd->n, .deadline_ns = loop_now(loop) + READ_TIME_NS,
		.prio = batch_lead(it->batch) == 0 ? STORE_PRIO_URGENT : STORE_PRIO_NORMAL, .done = read_done, .ctx = rd};
	rd->busy = true;
	store_submit(store, &rd->req);
}

void item_read_again(struct timer *t)
{
	read_submit(container_of(t, struct item_read, timer));
}

/* Reasons that pass. */
static bool passes(int r)
{
	return r == -EIO || r == -EAGAIN || r == -EINTR || r == -ETIMEDOUT || r == -ECONNRESET || r == -EBUSY ||
		r == -EMFILE || r == -ENFILE;
}

/* What has come stays; the rest is asked for. */
static void keep_done(struct item_read *rd)
{
	for (unsigned k = rd->first; k < rd->first + rd->n; k++) {
		struct store_range *range = &rd->item->ranges[k];
		uint64_t done = MIN(range->done, range->length);

		*range = (struct store_range){.offset = range->offset + done, .length = range->length - done,
			.buf = (uint8_t *)range->buf + done};
	}
}

static bool read_retry(struct item_read *rd)
{
	struct engine *g = engine_of(rd->item);

	if (!passes(rd->req.r) || rd->n_retries >= ENGINE_MAX_RETRIES || rd->item->stream->closed)
		return false;
	if (timer_set(&rd->timer, loop_now(g->loop) + (BACK_OFF_NS << rd->n_retries)) < 0)
		return false;
	keep_done(rd);
	rd->n_retries++;
	g->counts.n_retries++;
	return true;
}

static void read_failed(struct item_read *rd)
{
	const struct plan_member *m = member_of(rd->item, rd->first);
	int r = rd->req.r;

	rd->item->at = rd->first;
	if (r == -ESTALE || r == -ENOENT)
		item_fail(rd->item, E_CHANGED, "%.200s %s since the plan was made; make the plan again", m->path,
			r == -ENOENT ? "has gone" : "has changed");
	else if (rd->n_retries)
		item_fail(rd->item, r, "reading %.200s at byte %llu failed %u times, the last time with: %s", m->path,
			(unsigned long long)m->offset, rd->n_retries + 1, err_text(r));
	else
		item_fail(rd->item, r, "reading %.200s at byte %llu: %s", m->path, (unsigned long long)m->offset,
			err_text(r));
}

static void read_done(struct store_req *req)
{
	struct item_read *rd = req->ctx;
	struct item *it = rd->item;

	rd->busy = false;
	if (req->r < 0 && read_retry(rd))
		return;
	if (req->r < 0)
		read_failed(rd);
	for (unsigned k = rd->first; k < rd->first + rd->n && it->r == 0 && !it->stream->closed; k++)
		field_arrived(&it->fields[k], member_of(it, k)->length);
	item_drop(it);
}

/* Fields first.. that lie in the same file are one request: the store merges what is adjacent. */
static unsigned read_group(struct item *it, unsigned first, unsigned end)
{
	unsigned k = first + 1;

	while (k < end && it->fields[k].to_read && member_of(it, k)->store == member_of(it, first)->store &&
		strcmp(member_of(it, k)->path, member_of(it, first)->path) == 0)
		k++;
	return k - first;
}

void item_read(struct item *it, unsigned first, unsigned end)
{
	for (unsigned k = first, n; k < end; k += n) {
		struct item_read *rd = &it->reads[k];

		n = 1;
		if (!it->fields[k].to_read)
			continue;
		n = read_group(it, k, end);
		rd->first = k;
		rd->n = n;
		rd->n_retries = 0;
		it->n_pending++;
		read_submit(rd);
	}
}
