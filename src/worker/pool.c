/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool: which worker decodes what, and how often. Whatever happens (a work comes, a worker is ready, answers, is gone,
 * room becomes free) only changes lists and kicks the turn: one timer in which all that follows from it is done. So no
 * caller is ever called back from inside its own call.
 */
#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/scope.h"
#include "worker/launch.h"
#include "worker/pool_int.h"

#define DEFAULT_QUEUE_DEPTH 2
#define MAX_QUEUE_DEPTH 64
#define DEFAULT_ATTEMPTS 3
#define DEFAULT_TIME_LIMIT_NS (60 * NS_PER_S)
#define MAX_WORKERS 1024
#define RECIPE_MAX_ENCODED (1u << 20)
/* A worker that cannot be started is tried again after 10 ms, 20 ms, ... about a second. */
#define REST_MIN_NS (10 * NS_PER_MS)
#define REST_MAX_DOUBLINGS 7

void pool_kick(struct worker_pool *pool)
{
	/* Reserved: cannot fail. */
	if (!pool->closing && !timer_armed(&pool->turn))
		(void)timer_set(&pool->turn, loop_now(pool->conf.loop));
}

/* The end of works. */

static void work_drop_room(struct work *w)
{
	if (!w->out)
		return;
	slab_free(&w->out->slab, w->out_offset, w->out_bytes);
	out_unref(TAKE(w->out));
}

/* w is in no list. Its room is kept for a result only. */
static void work_end(struct worker_pool *pool, struct work *w, int r)
{
	w->r = r;
	if (r < 0)
		work_drop_room(w);
	pool->counts.n_done += r == 0;
	pool->counts.n_bad += r == E_BAD_SAMPLE || r == E_REFUSED_SAMPLE || r == E_LIMIT;
	list_add(&pool->ended, &w->list);
	pool_kick(pool);
}

static void end_all(struct worker_pool *pool, struct list *works, int r, const char *words)
{
	for (struct list *l; (l = list_pop(works));) {
		struct work *w = container_of(l, struct work, list);

		snprintf(w->words, sizeof(w->words), "%s", words);
		work_end(pool, w, r);
	}
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
		list_add_first(w->attempts ? &pool->again : &pool->waiting, last);
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

static bool any_ready(const struct worker_pool *pool)
{
	for (unsigned i = 0; i < pool->conf.n_workers; i++) {
		if (pool->procs[i].state == PROC_READY)
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
	if (n < pool->conf.max_attempts || any_ready(pool))
		return;
	snprintf(words, sizeof(words), "no decoding process could be started, %u times; the last: %s", n, why);
	end_all(pool, &pool->again, E_WORKER_DIED, words);
	end_all(pool, &pool->waiting, E_WORKER_DIED, words);
}

void pool_proc_gone(struct worker_pool *pool, struct worker_proc *p)
{
	if (p->why == E_WORKER_TIMEOUT)
		pool->counts.n_killed_time++;
	else if (!list_empty(&p->queue) || !p->was_ready)
		pool->counts.n_died++;
	take_back(pool, p);
	p->n_queued = 0;
	if (!p->was_ready)
		start_failed(pool, p, p->words);
	pool_kick(pool);
}

/* The turn. */

static bool proc_can_take(const struct worker_proc *p, unsigned n_queued, bool fresh)
{
	return p->state == PROC_READY && p->n_queued == n_queued && (!fresh || p->n_sent == 0);
}

/* To the worker that has least to do and room for the result. */
static bool work_send(struct worker_pool *pool, struct work *w, bool fresh)
{
	for (unsigned n_queued = 0; n_queued < pool->conf.queue_depth; n_queued++) {
		for (unsigned i = 0; i < pool->conf.n_workers; i++) {
			struct worker_proc *p = &pool->procs[i];

			if (proc_can_take(p, n_queued, fresh) && proc_send(p, w) == 0)
				return true;
		}
	}
	return false;
}

/* In order: a large work is not overtaken for ever by small ones. */
static void list_send(struct worker_pool *pool, struct list *works, bool fresh)
{
	while (!list_empty(works)) {
		struct list *l = list_pop(works);

		if (!work_send(pool, container_of(l, struct work, list), fresh)) {
			list_add_first(works, l);
			return;
		}
	}
}

/* Works that nobody is busy with, as far as workers that are being started will not take them. */
static size_t n_unserved(const struct worker_pool *pool)
{
	size_t n = 0, n_starting = 0;

	for (const struct list *l = pool->again.next; l != &pool->again && n < MAX_WORKERS; l = l->next)
		n++;
	for (const struct list *l = pool->waiting.next; l != &pool->waiting && n < MAX_WORKERS; l = l->next)
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

static void deliver(struct worker_pool *pool)
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

static void pool_turn(struct timer *t)
{
	struct worker_pool *pool = container_of(t, struct worker_pool, turn);

	deliver(pool);
	list_send(pool, &pool->again, true);
	list_send(pool, &pool->waiting, false);
	start_workers(pool);
	tell_room(pool);
}

/* The life of a pool. */

static int conf_check(const struct worker_conf *c, struct err *e)
{
	if (c->n_workers < 1 || c->n_workers > MAX_WORKERS)
		return err_set(e, -EINVAL, "%u workers; it can be 1 to %u", c->n_workers, MAX_WORKERS);
	if (c->in_bytes < SLAB_GRANULE || c->out_bytes < SLAB_GRANULE)
		return err_set(e, -EINVAL, "workers need %u bytes of input and of output memory at least", SLAB_GRANULE);
	if (c->queue_depth > MAX_QUEUE_DEPTH)
		return err_set(e, -EINVAL, "%u works inside one worker; at most %u", c->queue_depth, MAX_QUEUE_DEPTH);
	return 0;
}

static void pool_init(struct worker_pool *pool, const struct worker_conf *conf)
{
	pool->conf = *conf;
	pool->conf.queue_depth = conf->queue_depth ?: DEFAULT_QUEUE_DEPTH;
	pool->conf.max_attempts = conf->max_attempts ?: DEFAULT_ATTEMPTS;
	pool->conf.time_limit_ns = conf->time_limit_ns ?: DEFAULT_TIME_LIMIT_NS;
	pool->recipe = *conf->recipe;
	pool->conf.recipe = &pool->recipe;
	pool->in.fd = pool->recipe_bytes.fd = -1;
	list_init(&pool->outs);
	list_init(&pool->waiting);
	list_init(&pool->again);
	list_init(&pool->ended);
	timer_init(&pool->turn, conf->loop, pool_turn);
}

static int pool_share(struct worker_pool *pool, struct err *e)
{
	struct buf AUTO_BUF bytes = {.max = RECIPE_MAX_ENCODED};
	int r = recipe_encode(&pool->recipe, &bytes);

	if (r == 0)
		r = shared_copy(bytes.ptr, bytes.n, &pool->recipe_bytes, e);
	if (r == 0)
		r = slab_init(&pool->in_slab, pool->conf.in_bytes);
	return r < 0 ? r : shared_new(SHARED_IN, pool->conf.in_bytes, &pool->in, e);
}

static int pool_init_procs(struct worker_pool *pool)
{
	int r;

	pool->program = pool->conf.program ? mem_strdup(pool->conf.program) : launch_default_program();
	pool->procs = mem_calloc(pool->conf.n_workers, sizeof(*pool->procs));
	if (!pool->program || !pool->procs)
		return -ENOMEM;
	r = timer_reserve(&pool->turn);
	for (unsigned i = 0; r == 0 && i < pool->conf.n_workers; i++)
		r = proc_init(&pool->procs[i], pool);
	return r;
}

int worker_pool_new(const struct worker_conf *conf, struct worker_pool **ret_pool, struct err *e)
{
	AUTO(worker_pool) struct worker_pool *pool = NULL;
	int r = conf_check(conf, e);

	if (r < 0)
		return r;
	pool = mem_zalloc(sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	pool_init(pool, conf);
	r = pool_init_procs(pool);
	if (r == 0)
		r = pool_share(pool, e);
	/* The first one now: so a program that is missing is found here, and the fingerprint comes without work. */
	if (r == 0)
		r = proc_start(&pool->procs[0], e);
	if (r < 0)
		return r;
	*ret_pool = TAKE(pool);
	return 0;
}

static void pool_cancel(struct worker_pool *pool)
{
	for (unsigned i = 0; pool->procs && i < pool->conf.n_workers; i++) {
		if (!pool->procs[i].pool)
			continue;
		proc_release(&pool->procs[i]);
		end_all(pool, &pool->procs[i].queue, -ECANCELED, "the pool of workers was closed");
	}
	end_all(pool, &pool->again, -ECANCELED, "the pool of workers was closed");
	end_all(pool, &pool->waiting, -ECANCELED, "the pool of workers was closed");
	deliver(pool);
}

void worker_pool_free(struct worker_pool *pool)
{
	if (!pool)
		return;
	assert(!pool->delivering);
	pool->closing = true;
	timer_unreserve(&pool->turn);
	pool_cancel(pool);
	while (!list_empty(&pool->outs)) {
		struct worker_out *out = container_of(pool->outs.next, struct worker_out, list);

		out->n_refs = 1;
		out_unref(out);
	}
	shared_release(&pool->in);
	shared_release(&pool->recipe_bytes);
	slab_release(&pool->in_slab);
	mem_free(pool->program);
	mem_free(pool->procs);
	mem_free(pool);
}

/* What callers do. */

int worker_in_alloc(struct worker_pool *pool, size_t n, struct worker_in *ret)
{
	uint64_t offset;
	int r = slab_alloc(&pool->in_slab, n, &offset);

	if (r == -EAGAIN)
		pool->room_refused = true;
	if (r < 0)
		return r;
	*ret = (struct worker_in){.p = pool->in.p + offset, .n = n, .offset = offset};
	return 0;
}

void worker_in_free(struct worker_pool *pool, struct worker_in *in)
{
	slab_free(&pool->in_slab, in->offset, in->n);
	*in = (struct worker_in){0};
	if (!pool->room_refused)
		return;
	pool->room_free = true;
	pool_kick(pool);
}

void worker_on_room(struct worker_pool *pool, void (*fn)(void *ctx), void *ctx)
{
	pool->on_room = fn;
	pool->on_room_ctx = ctx;
}

void worker_submit(struct worker_pool *pool, struct work *w)
{
	assert(w->done && w->field < pool->recipe.n_fields && pool->recipe.fields[w->field].kind == FIELD_IMAGE);
	assert(w->in.p == pool->in.p + w->in.offset);
	w->r = 0;
	w->pixels = NULL;
	w->attempts = 0;
	w->words[0] = '\0';
	w->out = NULL;
	if (pool->closing || w->out_bytes > pool->conf.out_bytes) {
		snprintf(w->words, sizeof(w->words), "a result of %llu bytes; a worker has room for %zu",
			(unsigned long long)w->out_bytes, pool->conf.out_bytes);
		work_end(pool, w, pool->closing ? -ECANCELED : -E2BIG);
		return;
	}
	list_add(&pool->waiting, &w->list);
	pool_kick(pool);
}

void worker_release(struct worker_pool *pool, struct work *w)
{
	if (!w->out)
		return;
	w->pixels = NULL;
	work_drop_room(w);
	if (!list_empty(&pool->waiting))
		pool_kick(pool);
}

bool worker_check(const struct work *w, const void *copy)
{
	return xxh64_of(copy, (size_t)w->h * w->w * w->c) == w->checksum;
}

void worker_pool_counts(struct worker_pool *pool, struct worker_counts *ret)
{
	*ret = pool->counts;
	for (unsigned i = 0; i < pool->conf.n_workers; i++) {
		if (pool->procs[i].pid)
			ret->cpu_ns += launch_cpu_ns(pool->procs[i].pid);
	}
}

void worker_pool_fingerprint(const struct worker_pool *pool, uint8_t ret[32])
{
	memcpy(ret, pool->fingerprint, sizeof(pool->fingerprint));
}
