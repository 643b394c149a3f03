/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces: who reads them, what becomes of one that failed, and second reads of what a first is slow with. */
#include "store/hdfs/read/read_int.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "store/hdfs/read/read_policy.h"

#define MAX_HEDGES 4u		/* at once: each has memory of its own */
#define MAX_LOOKED_AT 64u	/* pieces that wait, for one that can start: each of them other than the one before */
#define MAX_PASSED 1024u	/* with those that are not looked at */

/* -- One attempt -------------------------------------------------------------------------------------------------- */

static void attempt_free(struct attempt *a)
{
	struct reads *r = a->piece->work->reads;

	if (a->piece->first == a)
		a->piece->first = NULL;
	else if (a->piece->second == a)
		a->piece->second = NULL;
	r->n_running--;
	if (!a->local)
		a->info->n_reads--;
	r->n_hedges -= a->hedge;
	mem_free(a->copy);
	mem_free(a);
}

static void attempt_cancel(struct attempt *a)
{
	assert(!a->local);
	block_read_cancel(&a->read);
	attempt_free(a);
}

static void piece_advance(struct piece *p, uint64_t n)
{
	assert(n <= p->length);
	p->offset += n;
	p->length -= n;
	while (n) {
		struct block_seg *seg = &p->segs.ptr[p->seg];
		uint64_t part = MIN(n, seg->n);

		if (seg->buf)
			seg->buf += part;
		seg->n -= part;
		n -= part;
		p->seg += seg->n == 0;
	}
}

/* What a hedge read, to where it belongs; the first has let go of that memory. */
static void piece_fill(struct piece *p, const uint8_t *from)
{
	for (unsigned i = p->seg; i < p->segs.n; i++) {
		struct block_seg *seg = &p->segs.ptr[i];

		if (seg->buf)
			memcpy(seg->buf, from, seg->n);
		from += seg->n;
	}
}

static void latency_seen(struct reads *r, struct attempt *a)
{
	uint64_t ns = a->read.latency_ns;

	if (!ns)
		return;
	dn_worked(r->dns, a->info, ns);
	r->latency_ns = r->latency_ns ? r->latency_ns - r->latency_ns / 8 + ns / 8 : ns;
}

static void piece_done(struct piece *p)
{
	struct reads *r = p->work->reads;

	timer_clear(&p->timer);
	work_piece_ended(p, 0);
	reads_dispatch(r);
}

static void attempt_won(struct attempt *a)
{
	struct piece *p = a->piece;
	struct reads *r = p->work->reads;

	if (a->local)
		r->counters->bytes_local += p->length;
	else
		r->counters->bytes_read += p->length;
	if (!a->local)
		latency_seen(r, a);
	if (a->hedge && p->first)
		attempt_cancel(p->first);
	if (!a->hedge && p->second)
		attempt_cancel(p->second);
	if (a->hedge) {
		r->counters->hedge_wins++;
		piece_fill(p, a->copy);
	}
	attempt_free(a);
	piece_report_bad(r, p);
	piece_done(p);
}

/* -- What failed -------------------------------------------------------------------------------------------------- */

static void piece_fail(struct piece *p, int r)
{
	struct reads *reads = p->work->reads;

	timer_clear(&p->timer);
	work_piece_ended(p, r);
	reads_dispatch(reads);
}

static void piece_say(struct piece *p, const struct attempt *a, int r, const struct err *e)
{
	const struct hdfs_node *node = &p->at->nodes[a->node];

	err_set(&p->err, r, "block %llu of %s on %s (%s:%u): %s", (unsigned long long)p->at->block.id, p->work->job->path,
		node->host, node->ip, node->xfer_port, err_words(e, r));
}

static void count_failure(struct reads *r, struct attempt *a, int code)
{
	struct piece *p = a->piece;

	r->counters->failed_reads++;
	if (code == -EBADMSG) {
		r->counters->bad_checksums++;
		p->bad |= 1ull << a->node;
	}
	if (!a->local && a->read.unreachable)
		dn_failed(r->dns, a->info);
	else if (!a->local)
		latency_seen(r, a);
}

/* The bytes that were right count; the rest goes elsewhere. */
static void attempt_lost(struct attempt *a, int code, uint64_t n_done)
{
	struct piece *p = a->piece;
	struct reads *r = p->work->reads;
	struct attempt *other = a->hedge ? p->first : p->second;
	bool by_descriptor = a->local && code != -EBADMSG;

	if (by_descriptor) {
		r->counters->local_fallbacks++;
		p->no_local |= 1ull << a->node;
	} else {
		count_failure(r, a, code);
		p->failed |= 1ull << a->node;
	}
	/* A token that is not taken here is not taken elsewhere. */
	if (code == -EACCES && !a->local)
		p->failed = UINT64_MAX;
	if (!a->hedge && !other) {
		if (a->local)
			r->counters->bytes_local += n_done;
		else
			r->counters->bytes_read += n_done;
		piece_advance(p, n_done);
	}
	attempt_free(a);
	if (other)
		return;
	timer_clear(&p->timer);
	if (!p->length) {
		piece_done(p);
	} else if (code == -ENOMEM) {
		piece_fail(p, code);
	} else {
		piece_enqueue(p);
		reads_dispatch(r);
	}
}

/* Of a job that was cancelled while this could not be. */
static bool attempt_dropped(struct attempt *a)
{
	struct piece *p = a->piece;

	if (!p->work->cancelled)
		return false;
	attempt_free(a);
	if (!p->first && !p->second)
		piece_fail(p, -ECANCELED);
	return true;
}

static void attempt_read(struct block_read *b, int r)
{
	struct attempt *a = container_of(b, struct attempt, read);

	if (attempt_dropped(a))
		return;
	if (r < 0)
		piece_say(a->piece, a, r, &b->flow.err);
	if (r < 0)
		attempt_lost(a, r, b->flow.n_done);
	else
		attempt_won(a);
}

static void attempt_near(struct local_read *n, int r)
{
	struct attempt *a = container_of(n, struct attempt, near);
	struct err e = {0};

	if (attempt_dropped(a))
		return;
	if (r == -EBADMSG)
		err_set(&e, r, "its bytes differ from their checksum at %llu of the block", (unsigned long long)n->read.bad_at);
	if (r < 0)
		piece_say(a->piece, a, r, &e);
	if (r < 0)
		attempt_lost(a, r, n->read.n_done);
	else
		attempt_won(a);
}

/* -- Beginning ---------------------------------------------------------------------------------------------------- */

static void piece_slow(struct timer *t);

static uint64_t hedge_ns(const struct reads *r)
{
	return read_policy_hedge_ns(r->latency_ns, r->conf->hedge_threads ? r->conf->hedge_after_ms : 0);
}

static int attempt_begin_far(struct reads *r, struct attempt *a)
{
	struct piece *p = a->piece;
	int code;

	a->read = (struct block_read){.loop = r->loop, .dns = r->dns, .client = nn_client_name(r->nn),
		.timeout_ns = r->conf->socket_timeout_ms * NS_PER_MS, .block = &p->at->block, .token = p->at->token,
		.node = &p->at->nodes[a->node], .offset = p->offset, .length = p->length, .segs = p->segs.ptr + p->seg,
		.n_segs = (unsigned)(p->segs.n - p->seg), .done = attempt_read};
	if (a->hedge) {
		a->seg = (struct block_seg){.buf = a->copy, .n = p->length};
		a->read.segs = &a->seg;
		a->read.n_segs = 1;
	}
	code = block_read_start(&a->read);
	if (code < 0 || a->hedge || piece_n_nodes(p) < 2)
		return code;
	/* Without room for a timer there is no hedge. */
	p->timer.fn = piece_slow;
	timer_set(&p->timer, loop_now(r->loop) + hedge_ns(r));
	return 0;
}

static int attempt_begin_near(struct reads *r, struct attempt *a)
{
	struct piece *p = a->piece;

	a->near = (struct local_read){.block = &p->at->block, .token = p->at->token, .node = &p->at->nodes[a->node],
		.offset = p->offset, .segs = p->segs.ptr + p->seg, .n_segs = (unsigned)(p->segs.n - p->seg),
		.done = attempt_near};
	return local_read_start(r->local, &a->near);
}

/* What is being written has checksums that change. */
static bool may_be_near(const struct reads *r, const struct piece *p, unsigned node)
{
	return !p->stretch->growing && !(p->no_local >> node & 1) && local_serves(r->local, &p->at->nodes[node]);
}

static struct attempt *attempt_new(struct reads *r, struct piece *p, unsigned node, bool hedge)
{
	struct attempt *a = mem_zalloc(sizeof(*a));

	if (!a)
		return NULL;
	a->piece = p;
	a->node = node;
	a->hedge = hedge;
	a->info = dn_info_of(r->dns, &p->at->nodes[node]);
	a->local = !hedge && may_be_near(r, p, node);
	*(hedge ? &p->second : &p->first) = a;
	r->n_running++;
	r->n_hedges += hedge;
	if (!a->local)
		a->info->n_reads++;
	return a;
}

static int piece_begin(struct reads *r, struct piece *p, unsigned node)
{
	struct attempt *a = attempt_new(r, p, node, false);
	int code;

	if (!a)
		return -ENOMEM;
	code = a->local ? attempt_begin_near(r, a) : 0;
	if (code < 0) {
		r->counters->local_fallbacks++;
		p->no_local |= 1ull << node;
		attempt_free(a);
		return piece_begin(r, p, node);
	}
	if (!a->local)
		code = attempt_begin_far(r, a);
	if (code < 0)
		attempt_free(a);
	return code;
}

static int hedge_begin(struct reads *r, struct piece *p, unsigned node)
{
	struct attempt *a = attempt_new(r, p, node, true);
	int code = -ENOMEM;

	if (!a)
		return -ENOMEM;
	a->copy = mem_alloc(p->length);
	if (a->copy)
		code = attempt_begin_far(r, a);
	if (code < 0)
		attempt_free(a);
	else
		r->counters->hedges++;
	return code;
}

/* Another replica is asked too, in place of the last one that was, which is silent as well. */
static void hedge_move(struct reads *r, struct piece *p)
{
	int node = READ_LATER;

	p->slow |= 1ull << (p->second ? p->second : p->first)->node;
	if (p->second || r->n_hedges < MAX_HEDGES)
		node = piece_choose(r, p, p->slow);
	if (node < 0)
		return;
	if (p->second)
		attempt_cancel(p->second);
	/* Without memory the first goes on alone, for now. */
	hedge_begin(r, p, (unsigned)node);
}

/* Who was asked last has been silent for long, or was: then again later. */
static void piece_slow(struct timer *t)
{
	struct piece *p = container_of(t, struct piece, timer);
	struct reads *r = p->work->reads;
	uint64_t due_ns;

	if (!p->first)
		return;
	due_ns = (p->second ? p->second : p->first)->read.heard_ns + hedge_ns(r);
	if (due_ns <= loop_now(r->loop)) {
		hedge_move(r, p);
		due_ns = loop_now(r->loop) + hedge_ns(r);
	}
	timer_set(&p->timer, due_ns);
}

/* -- Locations anew ----------------------------------------------------------------------------------------------- */

/* The block must be the one that was read so far: another one is of another file, or another cluster. */
static int piece_move(struct piece *p, struct stretch *s, struct err *e)
{
	struct hdfs_located *at = stretch_find(s, p->at->offset + p->offset);

	if (!at || at->block.id != p->at->block.id || strcmp(at->block.pool, p->at->block.pool) != 0 ||
		at->offset != p->at->offset || p->offset + p->length > at->block.n_bytes)
		return err_set(e, -ESTALE, "the file was changed while it was read");
	s->refs++;
	stretch_unref(p->stretch);
	p->stretch = s;
	p->at = at;
	p->failed = p->no_local = p->slow = p->bad = 0;
	return 0;
}

static void piece_located(struct lookup *u, int r)
{
	struct piece *p = u->ctx;
	struct reads *reads = p->work->reads;

	p->lookup = NULL;
	if (r == 0 && !p->work->cancelled)
		r = piece_move(p, u->stretch, &u->err);
	if (r < 0)
		p->err = u->err;
	stretch_unref(TAKE(u->stretch));
	mem_free(u);
	if (p->work->cancelled)
		r = -ECANCELED;
	if (r < 0) {
		piece_fail(p, r);
		return;
	}
	piece_enqueue(p);
	reads_dispatch(reads);
}

static void piece_refetch(struct timer *t)
{
	struct piece *p = container_of(t, struct piece, timer);
	struct reads *r = p->work->reads;
	struct lookup *u = mem_zalloc(sizeof(*u));

	if (!u) {
		piece_fail(p, -ENOMEM);
		return;
	}
	r->counters->refetches++;
	p->n_refetches++;
	*u = (struct lookup){.path = p->work->job->path, .file = p->work->job->file, .offset = p->at->offset + p->offset,
		.length = p->length, .bad = p->stretch, .done = piece_located, .ctx = p};
	p->lookup = u;
	lookup_start(r->locator, u);
}

static double chance(struct reads *r)
{
	uint32_t u[4];

	philox(r->key, r->n_draws++, 0, 0, u);
	return uniform_of(u[0]);
}

/* All replicas failed: ask where they are now, or give up. */
static void piece_exhausted(struct reads *r, struct piece *p)
{
	uint64_t ns;

	if (!p->err.code)
		err_set(&p->err, -EIO, "block %llu of %s has no replica on any DataNode that lives",
			(unsigned long long)p->at->block.id, p->work->job->path);
	if (!read_policy_refetch(p->n_refetches, r->conf->acquire_failures, r->conf->retry_window_ms, chance(r), &ns)) {
		p->err.code = -EIO;
		piece_fail(p, -EIO);
		return;
	}
	p->timer.fn = piece_refetch;
	if (timer_set(&p->timer, loop_now(r->loop) + ns) < 0)
		piece_fail(p, -ENOMEM);
}

/* -- The queue ---------------------------------------------------------------------------------------------------- */

void piece_enqueue(struct piece *p)
{
	struct reads *r = p->work->reads;

	list_add(&r->queues[p->work->job->prio != STORE_PRIO_URGENT], &p->list);
}

/* Whether who reads one may read the other. */
static bool piece_is_like(const struct piece *p, const struct piece *other)
{
	return other && p->at == other->at && p->failed == other->failed;
}

/* The first that can start, or has nobody left to start with. Of a block whose nodes are busy only one is looked at. */
static struct piece *queue_find(struct reads *r, struct list *queue, int *ret_node)
{
	const struct piece *busy = NULL;
	unsigned n_looked_at = 0, n_passed = 0;

	LIST_EACH(e, queue) {
		struct piece *p = container_of(e, struct piece, list);

		if (n_passed++ == MAX_PASSED || n_looked_at == MAX_LOOKED_AT)
			break;
		if (piece_is_like(p, busy))
			continue;
		*ret_node = piece_choose(r, p, 0);
		if (*ret_node != READ_LATER) {
			list_del(&p->list);
			return p;
		}
		busy = p;
		n_looked_at++;
	}
	return NULL;
}

void reads_dispatch(struct reads *r)
{
	if (r->dispatching)
		return;
	r->dispatching = true;
	while (r->n_running < READ_MAX_RUNNING) {
		int node, code;
		struct piece *p = queue_find(r, &r->queues[0], &node);

		if (!p)
			p = queue_find(r, &r->queues[1], &node);
		if (!p)
			break;
		code = node == READ_NOBODY ? 0 : piece_begin(r, p, (unsigned)node);
		if (node == READ_NOBODY)
			piece_exhausted(r, p);
		else if (code < 0)
			piece_fail(p, code);
	}
	r->dispatching = false;
}

void piece_free(struct piece *p)
{
	timer_clear(&p->timer);
	list_del(&p->list);
	list_del(&p->of_job);
	stretch_unref(p->stretch);
	vec_release(&p->segs);
	mem_free(p);
}

void piece_cancel(struct piece *p)
{
	timer_clear(&p->timer);
	if (p->second)
		attempt_cancel(p->second);
	if (p->first && !p->first->local)
		attempt_cancel(p->first);
	if (p->lookup)
		lookup_cancel(p->lookup);
	else if (!p->first)
		work_piece_ended(p, -ECANCELED);
}
