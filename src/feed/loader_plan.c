/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and engines that ranks share: opened by the first who asks, closed with the last who leaves. */
#include "feed/loader_int.h"

#include <string.h>

#define MAX_WARNING_BYTES (1u << 16)

static void plan_free_if_unused(struct shared_plan *p)
{
	if (p->n_refs > 0 || p->opening)
		return;
	list_del(&p->list);
	plan_free(p->plan);
	for (unsigned i = 0; p->paths && i < p->n_paths; i++)
		mem_free(p->paths[i]);
	mem_free(p->paths);
	buf_release(&p->warnings);
	mem_free(p);
}

static int key_of(const struct rankmsg *open, uint8_t ret[SHA256_BYTES])
{
	AUTO(sha256) struct sha256 *h = sha256_new();

	if (!h)
		return -ENOMEM;
	for (uint32_t i = 0; i < open->n_paths; i++)
		sha256_add_str(h, open->paths[i], strlen(open->paths[i]));
	sha256_finish(h, ret);
	return 0;
}

static struct shared_plan *plan_find(struct loader *l, const uint8_t key[SHA256_BYTES])
{
	LIST_EACH(e, &l->plans) {
		struct shared_plan *p = container_of(e, struct shared_plan, list);

		if (memcmp(p->key, key, SHA256_BYTES) == 0)
			return p;
	}
	return NULL;
}

/* On a thread of the pool, as is open_work(). */
static void keep_warning(void *ctx, const char *words)
{
	struct shared_plan *p = ctx;

	buf_add(&p->warnings, words, strlen(words) + 1);
}

static void open_work(struct job *job)
{
	struct shared_plan *p = container_of(job, struct shared_plan, job);
	struct plan_conf conf = {.warn = keep_warning, .ctx = p};

	p->r = plan_open_any((const char *const *)p->paths, p->n_paths, &conf, &p->plan, &p->err);
}

static void open_done(struct job *job)
{
	struct shared_plan *p = container_of(job, struct shared_plan, job);
	struct list *e;

	p->opening = false;
	p->loader->n_opening--;
	/* What could not be opened is looked at anew by the next who asks. */
	if (p->r < 0)
		list_del(&p->list);
	/* Those that leave while they are told must not take the plan with them. */
	p->n_refs++;
	while ((e = list_pop(&p->waiting)))
		rank_plan_ready(container_of(e, struct rank, waiting));
	p->n_refs--;
	plan_free_if_unused(p);
}

static int copy_paths(struct shared_plan *p, const struct rankmsg *open)
{
	p->paths = mem_calloc(open->n_paths, sizeof(*p->paths));
	if (!p->paths)
		return -ENOMEM;
	p->n_paths = open->n_paths;
	for (uint32_t i = 0; i < open->n_paths; i++) {
		p->paths[i] = mem_strdup(open->paths[i]);
		if (!p->paths[i])
			return -ENOMEM;
	}
	return 0;
}

static int plan_begin(struct loader *l, const struct rankmsg *open, const uint8_t key[SHA256_BYTES],
	struct shared_plan **ret)
{
	struct shared_plan *p = mem_zalloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	memcpy(p->key, key, SHA256_BYTES);
	p->loader = l;
	list_init(&p->list);
	list_init(&p->waiting);
	buf_init(&p->warnings, MAX_WARNING_BYTES);
	if (copy_paths(p, open) < 0) {
		plan_free_if_unused(p);
		return -ENOMEM;
	}
	list_add(&l->plans, &p->list);
	p->opening = true;
	l->n_opening++;
	p->job.work = open_work;
	p->job.done = open_done;
	pool_submit(l->pool, l->loop, &p->job);
	*ret = p;
	return 0;
}

int plan_join(struct rank *r)
{
	uint8_t key[SHA256_BYTES];
	struct shared_plan *p;
	int e = key_of(&r->open, key);

	if (e < 0)
		return e;
	p = plan_find(r->loader, key);
	if (!p && (e = plan_begin(r->loader, &r->open, key, &p)) < 0)
		return e;
	p->n_refs++;
	r->plan = p;
	if (p->opening)
		list_add(&p->waiting, &r->waiting);
	else
		rank_plan_ready(r);
	return 0;
}

void plan_leave(struct rank *r)
{
	struct shared_plan *p = r->plan;

	list_del(&r->waiting);
	if (!p)
		return;
	r->plan = NULL;
	p->n_refs--;
	plan_free_if_unused(p);
}

/* Engines. */

static struct shared_engine *engine_find(const struct rank *r, const uint8_t fields_id[SHA256_BYTES])
{
	LIST_EACH(e, &r->loader->engines) {
		struct shared_engine *s = container_of(e, struct shared_engine, list);

		if (s->plan == r->plan && s->n_refs > 0 && memcmp(s->fields_id, fields_id, SHA256_BYTES) == 0)
			return s;
	}
	return NULL;
}

static int engine_begin(struct rank *r, struct shared_engine **ret, struct err *e)
{
	struct engine_conf conf = {.loop = r->loader->loop, .plan = r->plan->plan, .spec = r->spec,
		.n_workers = MIN(r->open.n_workers, 1024u), .limits = {.max_bytes = r->open.max_bytes}};
	struct shared_engine *s = mem_zalloc(sizeof(*s));
	int x;

	if (!s)
		return err_set(e, -ENOMEM, "no memory for an engine");
	if (r->open.max_bytes)
		conf.limits.slot_bytes = MAX(1, r->open.max_bytes / 2);
	x = engine_new(&conf, &s->engine, e);
	if (x < 0) {
		mem_free(s);
		return x;
	}
	s->plan = r->plan;
	s->plan->n_refs++;
	list_init(&s->list);
	list_add(&r->loader->engines, &s->list);
	*ret = s;
	return 0;
}

int engine_join(struct rank *r, struct err *e)
{
	uint8_t fields_id[SHA256_BYTES];
	struct shared_engine *s;
	int x = spec_fields_id(r->spec, fields_id);

	if (x < 0)
		return err_set(e, x, "the identity of the fields: %s", err_text(x));
	s = engine_find(r, fields_id);
	if (!s && (x = engine_begin(r, &s, e)) < 0)
		return x;
	memcpy(s->fields_id, fields_id, sizeof(fields_id));
	s->n_refs++;
	r->shared = s;
	return 0;
}

static void engine_closed(void *ctx)
{
	struct shared_engine *s = ctx;

	s->plan->n_refs--;
	plan_free_if_unused(s->plan);
	list_del(&s->list);
	mem_free(s);
}

void engine_leave(struct rank *r)
{
	struct shared_engine *s = r->shared;

	r->shared = NULL;
	if (s && --s->n_refs == 0)
		engine_close(s->engine, engine_closed, s);
}
