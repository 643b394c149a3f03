/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of segments. */
#include "plan/cache.h"

#include <string.h>

#include "base/scope.h"

int cache_init(struct cache *c, struct index *x, size_t max_bytes)
{
	*c = (struct cache){.index = x, .max_bytes = max_bytes};
	list_init(&c->used);
	/* Zero pages until they are touched. */
	c->by_shard = mem_calloc(x->shards.n + 1, sizeof(*c->by_shard));
	return c->by_shard ? 0 : -ENOMEM;
}

static void cached_free(struct cached *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < N_ELEMS(s->bytes); i++)
		mem_free(s->bytes[i]);
	mem_free(s);
}
DEFINE_AUTO(cached);

static void cache_drop(struct cache *c, struct cached *s)
{
	list_del(&s->used);
	c->by_shard[s->shard] = NULL;
	c->n_bytes -= s->n_bytes;
	cached_free(s);
}

void cache_release(struct cache *c)
{
	while (c->by_shard && !list_empty(&c->used))
		cache_drop(c, container_of(c->used.next, struct cached, used));
	mem_free(TAKE(c->by_shard));
}

static int load(struct parts *parts, const struct part_ref *ref, void **ret_bytes, struct segment *ret, struct err *e)
{
	int r = parts_read(parts, ref, ret_bytes, e);

	if (r < 0)
		return r;
	r = segment_open(*ret_bytes, ref->n_bytes, ret);
	return r < 0 ? parts_broken(parts, ref, e) : 0;
}

/* Segments that do not belong together are as bad as broken ones. */
static bool fits(const struct shard *shard, const struct cached *s)
{
	bool tar = s->members.kind == SEGMENT_TAR;

	return (tar || s->members.kind == SEGMENT_FILES) && s->members.n_samples == shard->n_samples &&
	       s->versions.kind == SEGMENT_VERSIONS && s->versions.n_members == (tar ? 1 : s->members.n_members) &&
	       (!s->has_removed || (s->removed.kind == SEGMENT_REMOVED && s->removed.n_samples == shard->n_removed)) &&
	       memcmp(s->members.identity, shard->identity, SHA256_BYTES) == 0;
}

static int cached_load(struct index *x, uint32_t number, struct cached **ret, struct err *e)
{
	const struct shard *shard = &x->shards.ptr[number];
	AUTO(cached) struct cached *s = mem_zalloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->shard = number;
	s->has_removed = shard->n_removed > 0;
	r = load(x->parts, &shard->members, &s->bytes[0], &s->members, e);
	if (r == 0)
		r = load(x->binds, &shard->versions, &s->bytes[1], &s->versions, e);
	if (r == 0 && s->has_removed)
		r = load(x->parts, &shard->removed, &s->bytes[2], &s->removed, e);
	if (r < 0)
		return r;
	if (!fits(shard, s))
		return err_set(e, E_FORMAT, "the plan's files do not belong together: make the plan again");
	s->n_bytes = (size_t)shard->members.n_bytes + shard->versions.n_bytes + shard->removed.n_bytes;
	*ret = TAKE(s);
	return 0;
}

int cache_get(struct cache *c, uint32_t shard, const struct cached **ret, struct err *e)
{
	struct cached *s = c->by_shard[shard];
	int r;

	if (!s) {
		r = cached_load(c->index, shard, &s, e);
		if (r < 0)
			return r;
		while (!list_empty(&c->used) && c->n_bytes + s->n_bytes > c->max_bytes)
			cache_drop(c, container_of(c->used.next, struct cached, used));
		c->by_shard[shard] = s;
		c->n_bytes += s->n_bytes;
		list_init(&s->used);
	}
	list_del(&s->used);
	list_add(&c->used, &s->used);
	*ret = s;
	return 0;
}
