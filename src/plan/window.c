/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of shards and windows of samples, found by search in prefix sums. */
#include "plan/window.h"

#include <errno.h>
#include <string.h>

#include "plan/perm.h"

#define N_EPOCHS 2			/* so that going back and forth over an epoch's end is cheap */
#define N_POOLS 4			/* a block of the mixture seldom touches more windows of a source */

/* The shards of one epoch in their order, and where each group of them begins. */
struct epoch {
	uint64_t epoch, used;		/* used: 0 when it holds nothing */
	uint32_t *shards;
	uint64_t *group_first;		/* n_groups + 1 */
};

/* Samples that are permuted among themselves: slots 0..n-1, piece by piece. The whole source has no pieces. */
struct pool {
	uint64_t epoch, used;		/* used: 0 when it holds nothing */
	uint64_t begin, n;		/* in the epoch */
	struct perm perm;
	uint32_t n_pieces;
	uint32_t *shard;		/* of each piece */
	uint64_t *start;		/* of each piece in its shard */
	uint64_t *first;		/* n_pieces + 1 prefix sums */
};

struct window_order {
	struct window_conf conf;
	struct philox_key key_shards, key_samples;
	uint32_t n_groups;
	uint64_t clock;			/* of uses */
	struct epoch epochs[N_EPOCHS];
	struct pool pools[N_POOLS];
};

/* One group of an epoch and its windows. */
struct group {
	const uint64_t *first;		/* of all shards, as given */
	const uint32_t *shards;
	uint32_t n_shards;
	uint64_t n, n_windows;
};

/* floor(a b / c), for a b / c below 2^64. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t product;

	/* A wide division costs ten times a narrow one. */
	if (!__builtin_mul_overflow(a, b, &product))
		return product / c;
	return (uint64_t)((unsigned __int128)a * b / c);
}

/* The last i with first[i] <= x, for first[0] <= x < first[n]: never an empty one. */
static uint32_t find(const uint64_t *first, uint32_t n, uint64_t x)
{
	uint32_t lo = 0, hi = n - 1;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;

		if (first[mid] <= x)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* Keys differ by epoch and source, so that a tweak need only tell apart what is inside one epoch. */
static struct philox_key epoch_key(const struct window_order *w, struct philox_key key, uint64_t epoch)
{
	uint32_t words[4];

	philox(key, epoch, w->conf.source, 0, words);
	return (struct philox_key){{words[0], words[1]}};
}

struct window_order *window_order_new(const struct window_conf *conf)
{
	struct window_order *w = mem_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->conf = *conf;
	w->key_shards = philox_key_of(conf->seed, "order/shards");
	w->key_samples = philox_key_of(conf->seed, "order/samples");
	if (conf->kind == ORDER_WINDOW)
		w->n_groups = (uint32_t)(((uint64_t)conf->n_shards + conf->group - 1) / conf->group);
	return w;
}

void window_order_free(struct window_order *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < N_EPOCHS; i++) {
		mem_free(w->epochs[i].shards);
		mem_free(w->epochs[i].group_first);
	}
	for (unsigned i = 0; i < N_POOLS; i++) {
		mem_free(w->pools[i].shard);
		mem_free(w->pools[i].start);
		mem_free(w->pools[i].first);
	}
	mem_free(w);
}

static uint64_t shard_len(const uint64_t *first, uint32_t shard)
{
	return first[shard + 1] - first[shard];
}

/* Walks all shards, once for an epoch. */
static int epoch_fill(const struct window_order *w, struct epoch *e, uint64_t epoch)
{
	uint32_t n = w->conf.n_shards, group = w->conf.group;
	struct perm perm;
	uint64_t sum = 0;

	if (!e->shards)
		e->shards = mem_calloc(n, sizeof(*e->shards));
	if (!e->group_first)
		e->group_first = mem_calloc((size_t)w->n_groups + 1, sizeof(*e->group_first));
	if (!e->shards || !e->group_first)
		return -ENOMEM;
	perm_init(&perm, n, epoch_key(w, w->key_shards, epoch), 0);
	for (uint32_t i = 0; i < n; i++) {
		if (i % group == 0)
			e->group_first[i / group] = sum;
		e->shards[i] = (uint32_t)perm_at(&perm, i);
		sum += shard_len(w->conf.first, e->shards[i]);
	}
	e->group_first[w->n_groups] = sum;
	e->epoch = epoch;
	return 0;
}

static int epoch_get(struct window_order *w, uint64_t epoch, const struct epoch **ret)
{
	struct epoch *e = &w->epochs[0];
	int r;

	for (unsigned i = 0; i < N_EPOCHS; i++) {
		struct epoch *other = &w->epochs[i];

		if (other->used && other->epoch == epoch) {
			e = other;
			break;
		}
		if (other->used < e->used)
			e = other;
	}
	if (!e->used || e->epoch != epoch) {
		e->used = 0;
		r = epoch_fill(w, e, epoch);
		if (r < 0)
			return r;
	}
	e->used = ++w->clock;
	*ret = e;
	return 0;
}

/* How many samples windows 0..k-1 of the group have. */
static uint64_t windows_len(const struct group *g, uint64_t k)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->n_shards; i++)
		sum += scale(shard_len(g->first, g->shards[i]), k, g->n_windows);
	return sum;
}

/*
 * The window that holds sample x of the group: the last k with windows_len(k) <= x. Each shard rounds down by less than
 * one sample, so that windows_len(k) is in (N k / K - n_shards, N k / K], which leaves few k to look at.
 */
static uint64_t window_of(const struct group *g, uint64_t x)
{
	uint64_t lo = scale(x, g->n_windows, g->n), hi = g->n_windows - 1;

	if (x + g->n_shards < g->n)
		hi = MIN(hi, scale(x + g->n_shards, g->n_windows, g->n));
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo + 1) / 2;

		if (windows_len(g, mid) <= x)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static int pool_room(const struct window_order *w, struct pool *p)
{
	size_t n = MIN(w->conf.group, w->conf.n_shards);

	if (!p->shard)
		p->shard = mem_calloc(n, sizeof(*p->shard));
	if (!p->start)
		p->start = mem_calloc(n, sizeof(*p->start));
	if (!p->first)
		p->first = mem_calloc(n + 1, sizeof(*p->first));
	return p->shard && p->start && p->first ? 0 : -ENOMEM;
}

/* Window k of the group that begins at group_begin. */
static void pool_take(struct pool *p, const struct group *g, uint64_t k, uint64_t group_begin)
{
	p->begin = group_begin + windows_len(g, k);
	p->n_pieces = g->n_shards;
	p->first[0] = 0;
	for (uint32_t i = 0; i < g->n_shards; i++) {
		uint64_t len = shard_len(g->first, g->shards[i]);

		p->shard[i] = g->shards[i];
		p->start[i] = scale(len, k, g->n_windows);
		p->first[i + 1] = p->first[i] + scale(len, k + 1, g->n_windows) - p->start[i];
	}
	p->n = p->first[g->n_shards];
}

static int pool_fill_window(struct window_order *w, struct pool *p, uint64_t epoch, uint64_t index)
{
	struct group g = {.first = w->conf.first};
	const struct epoch *e;
	uint32_t number;
	uint64_t begin;
	int r = pool_room(w, p);

	if (r < 0)
		return r;
	r = epoch_get(w, epoch, &e);
	if (r < 0)
		return r;
	number = find(e->group_first, w->n_groups, index);
	begin = e->group_first[number];
	g.shards = e->shards + (size_t)number * w->conf.group;
	g.n_shards = MIN(w->conf.group, w->conf.n_shards - number * w->conf.group);
	g.n = e->group_first[number + 1] - begin;
	g.n_windows = (g.n - 1) / w->conf.window + 1;
	pool_take(p, &g, window_of(&g, index - begin), begin);
	return 0;
}

static int pool_fill(struct window_order *w, struct pool *p, uint64_t epoch, uint64_t index)
{
	int r;

	p->used = 0;
	p->begin = 0;
	p->n = w->conf.first[w->conf.n_shards];
	if (w->conf.kind == ORDER_WINDOW) {
		r = pool_fill_window(w, p, epoch, index);
		if (r < 0)
			return r;
	}
	p->epoch = epoch;
	/* Where a window begins tells it from the others of its epoch. */
	if (w->conf.kind != ORDER_SEQUENTIAL)
		perm_init(&p->perm, p->n, epoch_key(w, w->key_samples, epoch), p->begin);
	return 0;
}

static int pool_get(struct window_order *w, uint64_t epoch, uint64_t index, const struct pool **ret)
{
	struct pool *p = &w->pools[0];
	int r;

	for (unsigned i = 0; i < N_POOLS; i++) {
		struct pool *other = &w->pools[i];

		if (other->used && other->epoch == epoch && index >= other->begin && index - other->begin < other->n) {
			other->used = ++w->clock;
			*ret = other;
			return 0;
		}
		if (other->used < p->used)
			p = other;
	}
	r = pool_fill(w, p, epoch, index);
	if (r < 0)
		return r;
	p->used = ++w->clock;
	*ret = p;
	return 0;
}

static void source_place(const struct window_order *w, uint64_t number, struct window_place *ret)
{
	ret->shard = find(w->conf.first, w->conf.n_shards, number);
	ret->sample = number - w->conf.first[ret->shard];
}

static void pool_place(const struct window_order *w, const struct pool *p, uint64_t slot, struct window_place *ret)
{
	uint32_t i;

	if (w->conf.kind != ORDER_WINDOW) {
		source_place(w, slot, ret);
		return;
	}
	i = find(p->first, p->n_pieces, slot);
	ret->shard = p->shard[i];
	ret->sample = p->start[i] + (slot - p->first[i]);
}

/* One of 0..n-1 that is not own (n > 1); attempts below n have different ones. */
static uint64_t other_of(const struct window_other *o, uint64_t n, uint64_t own)
{
	struct perm perm;
	uint64_t i;

	perm_init(&perm, n - 1, o->key, o->tweak);
	i = perm_at(&perm, (o->attempt - 1) % (n - 1));
	return i + (i >= own);
}

/* Among the pool's others first; when they are used up, and were bad too, among all of the source. */
static void place_other(const struct window_order *w, const struct pool *p, uint64_t slot, const struct window_other *o,
	struct window_place *ret)
{
	uint64_t n = w->conf.first[w->conf.n_shards];

	if (o->attempt < p->n) {
		pool_place(w, p, other_of(o, p->n, slot), ret);
		return;
	}
	pool_place(w, p, slot, ret);
	if (n > 1)
		source_place(w, other_of(o, n, w->conf.first[ret->shard] + ret->sample), ret);
}

int window_order_at(struct window_order *w, uint64_t epoch, uint64_t index, const struct window_other *other,
	struct window_place *ret)
{
	const struct pool *p;
	uint64_t slot;
	int r = pool_get(w, epoch, index, &p);

	if (r < 0)
		return r;
	slot = index - p->begin;
	if (w->conf.kind != ORDER_SEQUENTIAL)
		slot = perm_at(&p->perm, slot);
	if (other)
		place_other(w, p, slot, other, ret);
	else
		pool_place(w, p, slot, ret);
	return 0;
}
