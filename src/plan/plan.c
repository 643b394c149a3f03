/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: making, opening, and what is at a position. */
#include "plan/plan.h"

#include <string.h>

#include "base/scope.h"
#include "plan/cache.h"
#include "plan/fields.h"
#include "plan/index.h"
#include "plan/plan_dir.h"
#include "plan/plan_own.h"
#include "plan/segment.h"

void plan_free(struct plan *p)
{
	if (!p)
		return;
	order_free(p->order);
	cache_release(&p->cache);
	index_free(p->index);
	spec_free(p->spec);
	mem_free(p->first);
	mem_free(p);
}

/* Prefix sums of kept samples, for each source its own, one after the other in p->first. */
static int first_fill(struct plan *p)
{
	const struct index *x = p->index;
	uint64_t *at;

	p->first = mem_calloc(x->shards.n + x->n_sources + 1, sizeof(*p->first));
	if (!p->first)
		return -ENOMEM;
	at = p->first;
	for (unsigned k = 0; k < x->n_sources; k++) {
		*at++ = 0;
		for (uint32_t i = 0; i < x->sources[k].n; i++, at++) {
			const struct shard *s = &x->shards.ptr[x->sources[k].first + i];

			*at = at[-1] + s->n_samples - s->n_removed;
		}
		p->n_samples += at[-1];
	}
	return 0;
}

static int order_make(struct plan *p, struct err *e)
{
	const struct spec *spec = p->spec;
	struct order_source sources[SPEC_MAX_SOURCES];
	struct order_conf conf = {sources, spec->n_sources, spec->order, spec->window, spec->group, spec->seed};
	const uint64_t *first = p->first;

	for (unsigned k = 0; k < spec->n_sources; k++) {
		const struct index_source *source = &p->index->sources[k];

		sources[k] = (struct order_source){first, source->n, spec->sources[k].weight, spec->sources[k].on_end};
		if (first[source->n] == 0)
			return err_set(e, E_SPEC, "source %u (%s) has no samples%s", k + 1, spec->sources[k].data[0],
				p->index->stats.n_found > 0 ? " with all fields that the spec asks for" : "");
		first += source->n + 1;
	}
	return order_new(&conf, &p->order, e);
}

int plan_settle(struct plan *p, struct err *e)
{
	int r = first_fill(p);

	if (r == 0)
		r = cache_init(&p->cache, p->index, CACHE_MAX_BYTES);
	if (r == 0)
		r = order_make(p, e);
	if (r == 0)
		r = spec_fields_id(p->spec, p->fields_id);
	return r;
}

/* Places for segments: x's parts and binds. */
static int parts_make(struct index *x, const char *to, struct err *e)
{
	int r = to ? parts_create(to, "part", &x->parts, e) : parts_new_memory(&x->parts);

	if (r < 0)
		return r;
	return to ? parts_create(to, "bind", &x->binds, e) : parts_new_memory(&x->binds);
}

static int plan_make_in(struct plan *p, const char *to, const struct plan_conf *conf, struct err *e)
{
	int r = parts_make(p->index, to, e);

	if (r == 0)
		r = index_make(p->index, p->spec, conf, e);
	if (r == 0 && p->spec->recipe.n_fields == 0)
		r = index_infer_fields(p->index, p->spec, e);
	if (r == 0)
		r = index_remove_missing(p->index, p->spec, e);
	if (r == 0)
		r = plan_settle(p, e);
	if (r == 0)
		r = index_order_id(p->index, p->spec, p->order_id, e);
	if (r == 0 && to)
		r = plan_dir_write(p, to, e);
	if (r < 0 && to)
		parts_leave(p->index->parts, p->index->binds, to);
	return r;
}

int plan_make(struct spec *spec, const char *to, const struct plan_conf *conf, struct plan **ret, struct err *e)
{
	AUTO(spec) struct spec *owned = spec;
	AUTO(plan) struct plan *p = plan_new();
	int r;

	if (!p)
		return -ENOMEM;
	p->spec = TAKE(owned);
	r = plan_make_in(p, to, conf, e);
	if (r < 0)
		return r;
	*ret = TAKE(p);
	return 0;
}

struct plan *plan_new(void)
{
	AUTO(plan) struct plan *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	list_init(&p->cache.used);
	p->index = index_new();
	return p->index ? TAKE(p) : NULL;
}

int plan_open(const char *dir, struct plan **ret, struct err *e)
{
	AUTO(plan) struct plan *p = plan_new();
	int r;

	if (!p)
		return -ENOMEM;
	r = plan_dir_read(p, dir, e);
	if (r == 0)
		r = plan_settle(p, e);
	if (r < 0)
		return r;
	*ret = TAKE(p);
	return 0;
}

const struct spec *plan_spec(const struct plan *p)
{
	return p->spec;
}

const struct plan_stats *plan_stats(const struct plan *p)
{
	return &p->index->stats;
}

const uint8_t *plan_order_id(const struct plan *p)
{
	return p->order_id;
}

const uint8_t *plan_fields_id(const struct plan *p)
{
	return p->fields_id;
}

uint64_t plan_n_samples(const struct plan *p)
{
	return p->n_samples;
}

uint64_t plan_epoch_len(const struct plan *p)
{
	return order_epoch_len(p->order);
}

void plan_sample_release(struct plan_sample *s)
{
	mem_free(TAKE(s->paths));
}

/* One sample being looked up. */
struct lookup {
	const struct plan *p;
	const struct shard *shard;
	const struct cached *c;
	struct str key;
	struct buf paths;	/* NUL-terminated, in the order of fields */
	struct plan_sample *ret;
	struct err *e;
};

/* The store path of a member's file. */
static int path_add(struct lookup *l, struct str ext)
{
	const struct base *base = &l->p->index->bases.all.ptr[l->shard->base];
	char name[STORE_NAME_MAX], path[STORE_NAME_MAX];
	struct str file = str_of(shard_name(l->p->index, l->shard));
	int r;

	if (l->c->members.kind == SEGMENT_FILES) {
		if (l->key.n + ext.n >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, l->key.p, l->key.n);
		memcpy(name + l->key.n, ext.p, ext.n);
		file = (struct str){name, l->key.n + ext.n};
	}
	r = base_path(base, file, path, sizeof(path));
	return r < 0 ? r : buf_add(&l->paths, path, strlen(path) + 1);
}

static int range_fill(struct lookup *l, const struct field_place *place, struct plan_member *ret)
{
	bool tar = l->c->members.kind == SEGMENT_TAR;
	const struct segment_member *m = &place->at;

	ret->store = l->p->index->bases.all.ptr[l->shard->base].store;
	ret->file.length = tar ? l->shard->length : m->length;
	ret->offset = m->offset;
	ret->length = m->length;
	if (m->offset > ret->file.length || m->length > ret->file.length - m->offset)
		return E_FORMAT;
	if (segment_version(&l->c->versions, tar ? 0 : place->member, ret->file.version, STORE_VERSION_MAX) < 0)
		return E_FORMAT;
	return path_add(l, m->ext);
}

static int fields_fill(struct lookup *l, const struct segment_sample *sample)
{
	const struct spec *spec = l->p->spec;
	struct field_place place;
	int r = 0;

	l->ret->n_fields = spec->recipe.n_fields;
	for (unsigned i = 0; i < spec->recipe.n_fields && r == 0; i++) {
		struct plan_member *m = &l->ret->fields[i];

		*m = (struct plan_member){.kind = MEMBER_NONE};
		r = field_find(&l->c->members, sample, &spec->fields[i], &place);
		if (r < 0)
			return r;
		m->kind = place.kind;
		if (place.kind == MEMBER_INLINE)
			m->value = place.class_no;
		else if (place.kind == MEMBER_RANGE)
			r = range_fill(l, &place, m);
	}
	return r;
}

/* Paths have moved to their last place: now members can point to them. */
static void paths_settle(struct lookup *l)
{
	char *at;

	mem_free(l->ret->paths);
	at = l->ret->paths = buf_take(&l->paths, &(size_t){0});
	for (unsigned i = 0; i < l->ret->n_fields && at; i++) {
		if (l->ret->fields[i].kind != MEMBER_RANGE)
			continue;
		l->ret->fields[i].path = at;
		at += strlen(at) + 1;
	}
}

static int lookup_fill(struct lookup *l, uint32_t number)
{
	char key[SEGMENT_KEY_MAX + 1];
	struct segment_sample sample;
	size_t n, n_kept;
	int r = segment_sample(&l->c->members, number, &sample);

	if (r == 0)
		r = segment_key(&l->c->members, number, key, &n);
	if (r < 0)
		return r;
	l->key = (struct str){key, n};
	n_kept = MIN(n, sizeof(l->ret->key) - 1);
	memcpy(l->ret->key, key, n_kept);
	l->ret->key[n_kept] = '\0';
	return fields_fill(l, &sample);
}

static int item_fill(struct plan *p, struct plan_sample *ret, struct err *e)
{
	uint32_t number = p->index->sources[ret->item.source].first + ret->item.shard;
	struct lookup l = {.p = p, .shard = &p->index->shards.ptr[number], .ret = ret, .e = e};
	int r = cache_get(&p->cache, number, &l.c, e);

	if (r < 0)
		return r;
	buf_init(&l.paths, RECIPE_MAX_FIELDS * STORE_NAME_MAX);
	r = lookup_fill(&l, segment_kept(l.c->has_removed ? &l.c->removed : NULL, (uint32_t)ret->item.sample));
	if (r == 0)
		paths_settle(&l);
	else
		memset(ret->fields, 0, sizeof(ret->fields)); /* their paths are nowhere yet */
	buf_release(&l.paths);
	/* -EINVAL: its numbers name a sample or member that it does not have. */
	if (r == E_FORMAT || r == -EINVAL)
		return err_set(e, E_FORMAT, "the plan's segment of %s is broken: make the plan again",
			shard_title(p->index, l.shard));
	return r;
}

int plan_sample(struct plan *p, uint64_t position, unsigned attempt, struct plan_sample *ret, struct err *e)
{
	int r = attempt == 0 ? order_at(p->order, position, &ret->item)
			     : order_substitute(p->order, position, attempt, &ret->item);

	return r < 0 ? r : item_fill(p, ret, e);
}
