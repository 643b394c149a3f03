/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: their ranges are sorted, located stretch by stretch, and cut into pieces, each of one block. */
#include "store/hdfs/read/read_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/engine.h"

int reads_new(struct loop *loop, const struct hdfs_conf *conf, struct nn *nn, struct dn_pool *dns,
	struct hdfs_counters *counters, struct reads **ret)
{
	AUTO_FREE struct reads *r = mem_zalloc(sizeof(*r));
	AUTO(locator) struct locator *locator = NULL;
	int code;

	if (!r)
		return -ENOMEM;
	*r = (struct reads){.loop = loop, .conf = conf, .nn = nn, .dns = dns, .counters = counters};
	list_init(&r->queues[0]);
	list_init(&r->queues[1]);
	list_init(&r->reports);
	r->key = philox_key_of(loop_now(loop), "hdfs reads");
	code = locator_new(loop, conf, nn, dn_dialer(dns), &locator);
	if (code == 0)
		code = local_new(loop, conf, &r->local);
	if (code < 0)
		return code;
	r->locator = TAKE(locator);
	*ret = TAKE(r);
	return 0;
}

void reads_free(struct reads *r)
{
	if (!r)
		return;
	assert(!r->n_running && list_empty(&r->queues[0]) && list_empty(&r->queues[1]));
	reports_forget(r);
	local_free(r->local);
	locator_free(r->locator);
	mem_free(r);
}

struct locator *reads_locator(struct reads *r)
{
	return r->locator;
}

/* -- The end ------------------------------------------------------------------------------------------------------ */

static void work_free(struct work *w)
{
	mem_free(w->order);
	mem_free(w->pool);
	mem_free(w);
}

/* Whether it is over; then w is gone. */
static bool work_end(struct work *w)
{
	struct read_job *job = w->job;
	int r = w->cancelled ? -ECANCELED : w->r;

	if (!w->planned_all || w->looking || w->n_pieces)
		return false;
	for (unsigned i = 0; i < job->n_ranges; i++)
		if (w->cancelled && job->ranges[i].done < job->ranges[i].length && job->ranges[i].r == 0)
			job->ranges[i].r = r;
	if (r < 0 && job->err)
		*job->err = w->err;
	job->own = NULL;
	work_free(w);
	job->done(job, r);
	return true;
}

static void work_fail(struct work *w, int r, const struct err *e)
{
	w->planned_all = true;
	if (w->r == 0 && r < 0) {
		w->r = r;
		w->err = *e;
	}
}

/* No byte of the ranges at or behind `from` is there, up to `to`; of what has fewer already, nothing changes. */
static void ranges_fail(struct read_job *job, uint64_t from, uint64_t to, int r)
{
	for (unsigned i = 0; i < job->n_ranges; i++) {
		struct store_range *g = &job->ranges[i];
		uint64_t done = from > g->offset ? from - g->offset : 0;

		if (!g->length || g->offset >= to || g->offset + g->length <= from || done >= g->done)
			continue;
		g->done = done;
		g->r = r;
	}
}

void work_piece_ended(struct piece *p, int r)
{
	struct work *w = p->work;
	uint64_t from = p->at->offset + p->offset;

	if (r < 0) {
		ranges_fail(w->job, from, from + p->length, w->cancelled ? -ECANCELED : r);
		if (w->r == 0 && !w->cancelled) {
			w->r = r;
			w->err = p->err;
		}
	}
	if (w->open == p)
		w->open = NULL;
	w->n_pieces--;
	piece_free(p);
	work_end(w);
}

/* -- Ranges become pieces ----------------------------------------------------------------------------------------- */

static struct piece *piece_new(struct work *w, struct stretch *s, struct hdfs_located *at, uint64_t offset)
{
	struct piece *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	p->work = w;
	s->refs++;
	p->stretch = s;
	p->at = at;
	p->offset = offset;
	p->segs.max = 2 * STORE_MAX_RANGES;
	list_init(&p->list);
	timer_init(&p->timer, w->reads->loop, NULL);
	list_add(&w->pieces, &p->of_job);
	w->n_pieces++;
	return p;
}

static int piece_add(struct piece *p, uint8_t *buf, uint64_t n)
{
	struct block_seg seg = {.buf = buf, .n = n};
	int r = n ? VEC_PUSH(&p->segs, seg) : 0;

	if (r == 0)
		p->length += n;
	return r;
}

/* Whether n bytes at offset of the block can be read with what is open. */
static bool piece_takes(const struct piece *p, const struct hdfs_located *at, uint64_t offset, uint64_t n)
{
	uint64_t end;

	if (!p || p->at != at)
		return false;
	end = p->offset + p->length;
	return offset >= end && offset - end <= READ_MAX_GAP && offset + n - p->offset <= READ_MAX_PIECE;
}

static void work_close_piece(struct work *w)
{
	struct piece *p = TAKE(w->open);

	if (p)
		piece_enqueue(p);
}

/* n bytes at offset of the block, to buf. */
static int work_add(struct work *w, struct stretch *s, struct hdfs_located *at, uint64_t offset, uint8_t *buf, uint64_t n)
{
	struct piece *p = w->open;
	int r;

	if (!piece_takes(p, at, offset, n)) {
		work_close_piece(w);
		p = w->open = piece_new(w, s, at, offset);
		if (!p)
			return -ENOMEM;
	}
	r = piece_add(p, NULL, offset - (p->offset + p->length));
	return r < 0 ? r : piece_add(p, buf, n);
}

/* As much of one range as lies in one piece of one block. 0, or < 0. */
static int work_plan_some(struct work *w, struct stretch *s, struct hdfs_located *at, const struct store_range *g)
{
	uint64_t offset = g->offset + w->planned - at->offset, left = MIN(g->length, s->file_bytes - g->offset) - w->planned;
	uint64_t n = MIN(left, at->block.n_bytes - offset);
	int r;

	/* Cut where others would cut too, so that chunks are whole. */
	if (n > READ_MAX_PIECE)
		n = READ_MAX_PIECE - offset % (64u << 10);
	r = work_add(w, s, at, offset, (uint8_t *)g->buf + w->planned, n);
	if (r == 0)
		w->planned += n;
	return r;
}

static void range_next(struct work *w)
{
	w->at++;
	w->planned = 0;
}

/* What of the ranges lies in the stretch. 0, or < 0. */
static int work_plan(struct work *w, struct stretch *s)
{
	while (w->at < w->n) {
		struct store_range *g = &w->job->ranges[w->order[w->at]];
		struct hdfs_located *at;
		int r;

		if (!w->planned)
			store_range_clip(g, s->file_bytes);
		if (w->planned >= g->done) {
			range_next(w);
			continue;
		}
		at = stretch_find(s, g->offset + w->planned);
		if (!at)
			return 0;
		r = work_plan_some(w, s, at, g);
		if (r < 0)
			return r;
	}
	return 0;
}

/* All blocks of a job are of one cluster, whatever forwards its calls. */
static int work_check_pool(struct work *w, const struct stretch *s)
{
	if (!s->n)
		return 0;
	if (!w->pool)
		w->pool = mem_strdup(s->pool_of.pool);
	if (!w->pool)
		return -ENOMEM;
	if (strcmp(w->pool, s->pool_of.pool) != 0)
		return err_set(&w->lookup.err, -ESTALE, "its blocks are of two clusters, %s and %s", w->pool, s->pool_of.pool);
	return 0;
}

static void work_look(struct work *w);

/* What was not planned is not there. */
static void work_unplanned(struct work *w, int r)
{
	for (unsigned i = w->at; i < w->n; i++) {
		struct store_range *g = &w->job->ranges[w->order[i]];

		g->done = i == w->at ? MIN(w->planned, g->done) : 0;
		g->r = r;
	}
}

static void work_located(struct lookup *u, int r)
{
	struct work *w = container_of(u, struct work, lookup);
	unsigned before = w->at;
	uint64_t planned = w->planned;

	w->looking = false;
	if (r == 0)
		r = work_check_pool(w, u->stretch);
	if (r == 0)
		r = work_plan(w, u->stretch);
	if (r == 0 && w->at == before && w->planned == planned)
		r = err_set(&u->err, E_PROTOCOL, "the NameNode knows no block for byte %llu",
			(unsigned long long)(w->job->ranges[w->order[w->at]].offset + planned));
	if (r == 0 && w->at < w->n && !w->job->file)
		r = err_set(&u->err, E_PROTOCOL, "the NameNode told locations of a part only, and the rest may be of another "
			"file by now");
	stretch_unref(TAKE(u->stretch));
	if (r < 0) {
		if (!u->err.code)
			err_set(&u->err, r, "%s", err_text(r));
		work_unplanned(w, w->cancelled ? -ECANCELED : r);
		work_fail(w, r, &u->err);
	} else if (w->at < w->n) {
		work_look(w);
		return;
	}
	w->planned_all = true;
	work_close_piece(w);
	if (!work_end(w))
		reads_dispatch(w->reads);
}

static void work_look(struct work *w)
{
	uint64_t offset = w->job->ranges[w->order[w->at]].offset + w->planned;

	w->lookup = (struct lookup){.path = w->job->path, .file = w->job->file, .offset = offset, .length = w->end - offset,
		.done = work_located};
	w->looking = true;
	lookup_start(w->reads->locator, &w->lookup);
}

/* -- The beginning ------------------------------------------------------------------------------------------------ */

static int by_offset(const void *a, const void *b, void *ranges)
{
	const struct store_range *r = ranges, *x = &r[*(const uint32_t *)a], *y = &r[*(const uint32_t *)b];

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static struct work *work_new(struct reads *r, struct read_job *job)
{
	AUTO_FREE struct work *w = mem_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->reads = r;
	w->job = job;
	list_init(&w->pieces);
	w->order = mem_calloc(MAX(job->n_ranges, 1), sizeof(*w->order));
	if (!w->order)
		return NULL;
	for (unsigned i = 0; i < job->n_ranges; i++)
		if (job->ranges[i].length) {
			w->order[w->n++] = i;
			w->end = MAX(w->end, job->ranges[i].offset + job->ranges[i].length);
		}
	qsort_r(w->order, w->n, sizeof(*w->order), by_offset, job->ranges);
	return TAKE(w);
}

static void work_begin(struct task *t)
{
	struct read_job *job = container_of(t, struct read_job, task);
	struct work *w = job->own;

	if (!w) {
		for (unsigned i = 0; i < job->n_ranges; i++)
			job->ranges[i].r = -ENOMEM;
		job->done(job, -ENOMEM);
		return;
	}
	w->begun = true;
	if (w->cancelled || !w->n) {
		w->planned_all = true;
		work_end(w);
		return;
	}
	work_look(w);
}

void read_start(struct reads *r, struct read_job *job)
{
	job->reads = r;
	for (unsigned i = 0; i < job->n_ranges; i++) {
		job->ranges[i].done = 0;
		job->ranges[i].r = 0;
	}
	job->own = work_new(r, job);
	job->task.fn = work_begin;
	loop_post(r->loop, &job->task);
}

static void work_cancelled(struct task *t)
{
	struct read_job *job = container_of(t, struct read_job, task);
	struct work *w = job->own;
	struct reads *r = w->reads;

	w->n_pieces--;
	work_end(w);
	reads_dispatch(r);
}

void read_cancel(struct read_job *job)
{
	struct work *w = job->own;

	if (!w || w->cancelled)
		return;
	w->cancelled = true;
	if (!w->begun)
		return;
	/* Held until the next turn: nobody is told from within. */
	w->n_pieces++;
	if (w->looking)
		lookup_cancel(&w->lookup);
	LIST_EACH(e, &w->pieces)
		piece_cancel(container_of(e, struct piece, of_job));
	job->task.fn = work_cancelled;
	loop_post(job->reads->loop, &job->task);
}
