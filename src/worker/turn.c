/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which worker decodes what, and how often. Whatever happens (a work comes, a worker is ready, answers, is gone, room
 * becomes free) only changes lists and kicks the turn: one timer in which all that follows from it is done. So no caller
 * is ever called back from inside its own call.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/scope.h"
#include "worker/pool_int.h"

/* A worker that cannot be started is tried again after 10 ms, 20 ms, ... about a second. */
#define REST_MIN_NS (10 * NS_PER_MS)
#define REST_MAX_DOUBLINGS 7
#define OUT_KEEP_BYTES (64u << 20)

void pool_kick(struct worker_pool *pool)
{
	/* Reserved: cannot fail. */
	if (!pool->closing && !timer_armed(&pool->turn))
		(void)timer_set(&pool->turn, loop_now(pool->conf.loop));
}

/* The end of works. */

/* Pages that only a huge picture has touched would stay for good, in each worker. */
static void give_back_pages(const struct work *w)
{
	if (w->out_bytes >= OUT_KEEP_BYTES)
		(void)madvise(w->out->mem.p + w->out_offset, w->out_bytes, MADV_REMOVE);
}

void work_drop_room(struct work *w)
{
	if (!w->out)
		return;
	give_back_pages(w);
	slab_free(&w->out->slab, w->out_offset, w->out_bytes);
	out_unref(TAKE(w->out));
}

void work_end(struct worker_pool *pool, struct work *w, int r)
{
	w->r = r;
	if (r < 0)
		work_drop_room(w);
	pool->counts.n_done += r == 0;
	pool->counts.n_bad += r == E_BAD_SAMPLE || r == E_REFUSED_SAMPLE || r == E_LIMIT;
	list_add(&pool->ended, &w->list);
	pool_kick(pool);
}

void works_end(struct worker_pool *pool, struct list *works, int r, const char *words)
{
	for (struct list *l; (l = list_pop(works));) {
		struct work *w = container_of(l, struct work, list);

		snprintf(w->words, sizeof(w->words), "%s", words);
		work_end(pool, w, r);
	}
}

bool work_before(const struct heap_node *a, const struct heap_node *b)
{
	const struct work *v = container_of(a, struct work, waiting), *w = container_of(b, struct work, waiting);

	return v->due != w->due ? v->due < w->due : v->order < w->order;
}

void works_waiting_end(struct worker_pool *pool, int r, const char *words)
{
	struct list all = LIST_INIT(all);

	for (struct heap_node *e; (e = heap_pop(&pool->waiting));)
		list_add(&all, &container_of(e, struct work, waiting)->list);
	works_end(pool, &all, r, words);
}

void pool_work_done(struct worker_pool *pool, struct work *w, const struct workmsg *m)
{
	w->h = m->h;
	w->w = m->w;
	w->c = m->c;
	w->n_warnings = m->n_warnings;
	w->checksum = m->checksum;
	w->pixels = m->status == 0 ? w->out->mem.p + w->out_offset : NULL;
	snprintf(w->words, sizeof(w->words), "%s", m->words);
	if (m->status == -ENOSPC)
		snprintf(w->words, sizeof(w->words), "%ux%ux%u pixels do not fit into the %llu bytes that were given", w->h, w->w,
			w->c, (unsigned long long)w->out_bytes);
	work_end(pool, w, m->status);
}

/* The end of workers. */

static void list_add_first(struct list *head, struct list *l)
{
	list_add(head->next, l);
}

/* The work that was under way is suspected; those behind it were not looked at and go back to where they came from. */
static void take_back(struct worker_pool *pool, struct worker_proc *p)
{
	struct list *first = list_pop(&p->queue);
	struct work *w;

	while (!list_empty(&p->queue)) {
		struct list *last = p->queue.prev;

		list_del(last);
		w = container_of(last, struct work, list);
		work_drop_room(w);
		if (w->attempts)
			list_add_first(&pool->again, last);
		else
			heap_add(&pool->waiting, &w->waiting);
	}
	if (!first)
		return;
	w = container_of(first, struct work, list);
	work_drop_room(w);
	w->attempts++;
	snprintf(w->words, sizeof(w->words), "the decoding process %s; attempt %u of %u", p->words, w->attempts,
		pool->conf.max_attempts);
	if (w->attempts < pool->conf.max_attempts)
		list_add(&pool->again, first);
	else
		work_end(pool, w, p->why);
}

static bool any_serves(const struct worker_pool *pool)
{
	for (unsigned i = 0; i < pool->conf.n_workers; i++) {
		if (pool->procs[i].state == PROC_READY || pool->procs[i].state == PROC_STARTING)
			return true;
	}
	return false;
}

/* Works wait in vain when nothing can be started for them. */
static void start_failed(struct worker_pool *pool, struct worker_proc *p, const char *why)
{
	unsigned n = ++pool->n_failed_starts;
	char words[sizeof(((struct work *)0)->words)];

	proc_rest(p, loop_now(pool->conf.loop) + (REST_MIN_NS << MIN(n - 1, REST_MAX_DOUBLINGS)));
	if (n < pool->conf.max_attempts || any_serves(pool))
		return;
	snprintf(words, sizeof(words), "no decoding process could be started, %u times; the last: %s", n, why);
	works_end(pool, &pool->again, E_WORKER_DIED, words);
	works_waiting_end(pool, E_WORKER_DIED, words);
}

void pool_proc_gone(struct worker_pool *pool, struct worker_proc *p)
{
	if (p->why == E_WORKER_TIMEOUT)
		pool->counts.n_killed_time++;
	else if (!list_empty(&p->queue) || !p->was_ready)
		pool->counts.n_died++;
	take_back(pool, p);
	p->n_queued = 0;
	p->need_bytes = 0;
	if (!p->was_ready)
		start_failed(pool, p, p->words);
	pool_kick(pool);
}

/* The turn. */

/*
 * A worker that has another work at hand need not wait for us; but that one is then its alone. So a light work may wait
 * behind light ones: a heavy one would hold it up, and a heavy one itself goes to whoever is free first.
 */
static bool may_wait_inside(const struct worker_proc *p, const struct work *w)
{
	return p->n_queued == 0 || p->queued_us + w->cost_us <= WORKER_LIGHT_US;
}

static bool proc_can_take(const struct worker_proc *p, const struct work *w, unsigned n_queued, bool fresh)
{
	return p->state == PROC_READY && p->n_queued == n_queued && (!fresh || p->n_sent == 0) && may_wait_inside(p, w);
}

/*
 * Each worker alone keeps to its limit of memory, all of them together might not fit the host. Something is always under
 * way, so this cannot stop all.
 */
static bool memory_suffices(const struct worker_pool *pool, const struct work *w)
{
	uint64_t limit = pool->conf.need_bytes, n = 0;

	if (!limit)
		return true;
	for (unsigned i = 0; i < pool->conf.n_workers; i++)
		n += pool->procs[i].need_bytes;
	return n == 0 || (n <= limit && w->need_bytes <= limit - n);
}

/* To the worker that has least to do and room for the result. */
static bool work_send(struct worker_pool *pool, struct work *w, bool fresh)
{
	if (!memory_suffices(pool, w))
		return false;
	for (unsigned n_queued = 0; n_queued < pool->conf.queue_depth; n_queued++) {
		for (unsigned i = 0; i < pool->conf.n_workers; i++) {
			struct worker_proc *p = &pool->procs[i];

			if (proc_can_take(p, w, n_queued, fresh) && proc_send(p, w) == 0)
				return true;
		}
	}
	return false;
}

static void again_send(struct worker_pool *pool)
{
	while (!list_empty(&pool->again)) {
		struct list *l = list_pop(&pool->again);

		if (!work_send(pool, container_of(l, struct work, list), true)) {
			list_add_first(&pool->again, l);
			return;
		}
	}
}

/* In order: a large work is not overtaken for ever by small ones. */
static void waiting_send(struct worker_pool *pool)
{
	while (pool->waiting.n) {
		struct work *w = container_of(pool->waiting.root, struct work, waiting);

		if (!work_send(pool, w, false))
			return;
		heap_del(&pool->waiting, &w->waiting);
	}
}

/* Works that nobody is busy with, as far as workers that are being started will not take them. */
static size_t n_unserved(const struct worker_pool *pool)
{
	size_t n = MIN(pool->waiting.n, pool->conf.n_workers), n_starting = 0;

	for (const struct list *l = pool->again.next; l != &pool->again && n < pool->conf.n_workers; l = l->next)
		n++;
	for (unsigned i = 0; i < pool->conf.n_workers; i++) {
		n_starting += pool->procs[i].state == PROC_STARTING;
		n += pool->procs[i].n_queued > 1 ? pool->procs[i].n_queued - 1 : 0;
	}
	return n > n_starting ? n - n_starting : 0;
}

static void start_workers(struct worker_pool *pool)
{
	size_t n = n_unserved(pool);

	for (unsigned i = 0; n > 0 && i < pool->conf.n_workers; i++) {
		struct worker_proc *p = &pool->procs[i];
		struct err e = {0};
		int r;

		if (p->state != PROC_NONE)
			continue;
		n--;
		r = proc_start(p, &e);
		if (r < 0)
			start_failed(pool, p, err_words(&e, r));
	}
}

void pool_deliver(struct worker_pool *pool)
{
	pool->delivering = true;
	for (struct list *l; (l = list_pop(&pool->ended));) {
		struct work *w = container_of(l, struct work, list);

		w->done(w);
	}
	pool->delivering = false;
}

static void tell_room(struct worker_pool *pool)
{
	if (!pool->room_free)
		return;
	pool->room_free = pool->room_refused = false;
	if (pool->on_room)
		pool->on_room(pool->on_room_ctx);
}

void pool_turn(struct timer *t)
{
	struct worker_pool *pool = container_of(t, struct worker_pool, turn);

	pool_deliver(pool);
	again_send(pool);
	waiting_send(pool);
	start_workers(pool);
	tell_room(pool);
}
