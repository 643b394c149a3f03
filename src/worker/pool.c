/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: its life, and what callers do with it. turn.c does what follows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cpu.h"
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
	pool->waiting.before = work_before;
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
	enum cpu_set asked;
	int r = conf_check(conf, e);

	/* Workers would fall back in silence, and a comparison of two sets would be of one with itself. */
	if (r == 0)
		r = cpu_choose(getenv(CPU_VARIABLE), &asked, e);
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
		works_end(pool, &pool->procs[i].queue, -ECANCELED, "the pool of workers was closed");
	}
	works_end(pool, &pool->again, -ECANCELED, "the pool of workers was closed");
	works_waiting_end(pool, -ECANCELED, "the pool of workers was closed");
	pool_deliver(pool);
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
	w->waiting = (struct heap_node){NULL};
	if (pool->closing || w->out_bytes > pool->conf.out_bytes) {
		snprintf(w->words, sizeof(w->words), "a result of %llu bytes; a worker has room for %zu",
			(unsigned long long)w->out_bytes, pool->conf.out_bytes);
		work_end(pool, w, pool->closing ? -ECANCELED : -E2BIG);
		return;
	}
	w->order = pool->order++;
	heap_add(&pool->waiting, &w->waiting);
	pool_kick(pool);
}

void worker_set_due(struct worker_pool *pool, struct work *w, uint64_t due)
{
	if (!heap_has(&w->waiting)) {
		w->due = due;
		return;
	}
	heap_del(&pool->waiting, &w->waiting);
	w->due = due;
	heap_add(&pool->waiting, &w->waiting);
}

void worker_release(struct worker_pool *pool, struct work *w)
{
	if (!w->out)
		return;
	w->pixels = NULL;
	work_drop_room(w);
	if (pool->waiting.n)
		pool_kick(pool);
}

bool worker_check(const struct work *w, const void *copy)
{
	return xxh3_of(copy, (size_t)w->h * w->w * w->c) == w->checksum;
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
