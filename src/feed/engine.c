/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: the policy's decisions made into deeds. */
#include "feed/engine_int.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "feed/program.h"
#include "net/capacity.h"

#define WORKER_TIME_NS (60 * NS_PER_S)
#define WORKER_QUEUE 2
/* Its channel, its end, its memory. */
#define WORKER_FDS 3
/* A sample over which so many workers ended stops the job: some may have been killed for other reasons. */
#define WORKER_ATTEMPTS 5
/* Also when no field is an image. */
#define WORKER_MIN_BYTES 65536u
/* Beyond the pixels themselves: libraries, tables, progressive JPEG's coefficients. */
#define WORKER_BASE_BYTES (512ull << 20)
/* Room for the largest image of a field of no fixed size is only touched when such an image comes. */
#define MAX_CHANNELS 4

static uint64_t or_default(uint64_t asked, uint64_t usual, uint64_t most)
{
	return asked ? asked : MAX(MIN(usual, most), 1);
}

void engine_limits_default(struct engine_limits *l, unsigned n_workers, uint64_t memory_bytes)
{
	l->slot_bytes = or_default(l->slot_bytes, 512ull << 20, memory_bytes / 8);
	l->max_bytes = or_default(l->max_bytes, 4ull << 30, memory_bytes / 2);
	l->batch_bytes = or_default(l->batch_bytes, UINT64_MAX, memory_bytes / 2);
	l->read_bytes = or_default(l->read_bytes, 128ull << 20, memory_bytes / 32);
	l->need_bytes = or_default(l->need_bytes, UINT64_MAX, memory_bytes / 4);
	l->max_ahead = l->max_ahead ? l->max_ahead : 64;
	l->n_items = l->n_items ? l->n_items : MIN(256 + 32 * n_workers, 2048u);
}

/* Decisions into deeds. */

static void view_stream(struct stream *s, struct policy_stream *v)
{
	unsigned lead = 0;
	struct item *it = stream_peek(s, &lead);

	*v = (struct policy_stream){.open = !s->at_end && s->r == 0 && !s->closed, .wanted = s->wanted && !s->refused,
		.n_ahead = s->n_ahead, .max_ahead = pace_ahead(&s->pace), .n_held = s->n_held, .next_bytes = s->next_bytes,
		.has_item = it != NULL, .item_lead = lead, .item_bytes = it ? it->n_bytes : 0};
	/* Nothing is opened behind a batch that failed. */
	LIST_EACH(e, &s->opened)
		v->open = v->open && container_of(e, struct batch_work, list)->r == 0;
}

static struct policy_action look(struct engine *g)
{
	struct policy_state state = {.limits = g->limits, .streams = g->views, .n_streams = g->n_streams,
		.first = g->first, .slot_bytes = g->slot_bytes, .read_bytes = g->read_bytes, .n_items = g->n_items,
		.stalled = !list_empty(&g->stalled)};

	state.full = g->full = policy_is_full(&state, g->full);

	/* Only what changed: on a host with hundreds of ranks a look at all of them is dearer than the deed. */
	for (unsigned i = 0; i < g->n_streams; i++) {
		struct stream *s = g->streams[i];

		if (!s->changed)
			continue;
		s->changed = false;
		view_stream(s, &g->views[i]);
	}
	return policy_next(&state);
}

static void obey(struct engine *g, struct policy_action a)
{
	struct stream *s = g->streams[a.stream];

	s->changed = true;
	if (a.verb == POLICY_OPEN)
		stream_open_batch(s);
	else if (a.verb == POLICY_REFUSE)
		stream_refuse(s);
	else
		stream_start(s);
	g->first = g->n_streams ? (a.stream + 1) % g->n_streams : 0;
}

static void pump(struct engine *g)
{
	struct policy_action a;

	items_unpark(g);
	items_unstall(g);
	while (!g->closing && (a = look(g)).verb != POLICY_WAIT)
		obey(g, a);
	reads_submit(g);
}

static void tell_streams(struct engine *g)
{
	/* ready() may close streams, also others, but opens none behind our back that it would need to be told of. */
	for (unsigned i = 0; i < g->n_streams; i++) {
		struct stream *s = g->streams[i];

		if (!s->tell)
			continue;
		s->tell = false;
		if (s->conf.ready)
			s->conf.ready(s->conf.ctx);
		if (i >= g->n_streams || g->streams[i] != s)
			i = UINT32_MAX; /* the array moved: look through it again */
	}
}

static void engine_free(struct engine *g)
{
	worker_pool_free(g->pool);
	mem_free(g);
}

static bool finish_closing(struct engine *g)
{
	void (*closed)(void *) = g->closed;
	void *ctx = g->closed_ctx;

	if (!g->closing || g->n_items > 0)
		return false;
	engine_free(g);
	closed(ctx);
	return true;
}

static void pump_task(struct task *t)
{
	struct engine *g = container_of(t, struct engine, task);

	g->task_posted = false;
	loop_drop(g->loop);
	pump(g);
	if (g->task_posted || !finish_closing(g))
		tell_streams(g);
}

void engine_pump_later(struct engine *g)
{
	if (g->task_posted)
		return;
	g->task_posted = true;
	g->task.fn = pump_task;
	/* So that loop_run() does not end between here and there. */
	loop_hold(g->loop);
	loop_post(g->loop, &g->task);
}

void engine_stream_changed(struct stream *s)
{
	s->changed = true;
	engine_pump_later(s->engine);
}

void engine_remove_stream(struct engine *g, struct stream *s)
{
	for (unsigned i = 0; i < g->n_streams; i++) {
		if (g->streams[i] != s)
			continue;
		memmove(g->streams + i, g->streams + i + 1, (g->n_streams - i - 1) * sizeof(*g->streams));
		memmove(g->views + i, g->views + i + 1, (g->n_streams - i - 1) * sizeof(*g->views));
		g->n_streams--;
		break;
	}
	g->first = g->n_streams ? g->first % g->n_streams : 0;
}

bool engine_count_bad(struct engine *g, bool bad)
{
	g->n_bad_now += bad;
	g->n_bad_now -= g->bad[g->bad_at];
	g->bad[g->bad_at] = bad;
	g->bad_at = (g->bad_at + 1) % ENGINE_BAD_WINDOW;
	g->counts.n_bad += bad;
	return bad && (uint64_t)g->n_bad_now * 1000000 > (uint64_t)g->stop_above_ppm * ENGINE_BAD_WINDOW;
}

void engine_counts_get(const struct engine *g, struct engine_counts *ret)
{
	*ret = g->counts;
	ret->slot_bytes = g->slot_bytes;
	worker_pool_counts(g->pool, &ret->workers);
}

/* Making one. */

static void field_init(struct engine_field *f, const struct recipe_field *rf, bool uncollated)
{
	f->recipe = rf;
	f->collate = rf->collate;
	if (rf->kind == FIELD_INT || rf->kind == FIELD_FLOAT) {
		f->fixed = true;
		f->sample_bytes = dtype_bytes(rf->dtype);
	}
	if (rf->kind != FIELD_IMAGE)
		return;
	finish_init(&f->finish, rf);
	f->fixed = rf->collate == COLLATE_STACK && recipe_fixed_shape(rf, &f->h, &f->w, &f->c);
	if (f->fixed)
		f->sample_bytes = (uint64_t)f->h * f->w * f->c * dtype_bytes(rf->dtype);
	else if (uncollated)
		f->collate = COLLATE_RAGGED;
}

/* Which of the plan's fields it is: the number in the spec stays with a field, wherever it is put. */
static int member_find(const struct recipe *plans, const struct recipe_field *rf, unsigned *ret, struct err *e)
{
	for (unsigned n = 0; n < plans->n_fields; n++) {
		if (plans->fields[n].index != rf->index)
			continue;
		*ret = n;
		return 0;
	}
	return err_set(e, -EINVAL, "the plan has no field %s", rf->name);
}

static int fields_init(struct engine *g, bool uncollated, struct err *e)
{
	int r = 0;

	g->n_fields = g->recipe.n_fields;
	if (g->n_fields > RECIPE_MAX_FIELDS || g->n_fields == 0)
		return err_set(e, -EINVAL, "%u fields; there must be 1 to %d", g->n_fields, RECIPE_MAX_FIELDS);
	for (unsigned k = 0; k < g->n_fields && r == 0; k++) {
		field_init(&g->fields[k], &g->recipe.fields[k], uncollated);
		r = member_find(&plan_spec(g->plan)->recipe, &g->recipe.fields[k], &g->fields[k].member, e);
	}
	return r;
}

/* Room in a worker for what is decoded, and for the works that wait in it. */
static uint64_t worker_room(const struct engine *g)
{
	uint64_t most = WORKER_MIN_BYTES;

	for (unsigned k = 0; k < g->n_fields; k++) {
		const struct engine_field *f = &g->fields[k];

		if (f->recipe->kind == FIELD_IMAGE)
			most = MAX(most, f->fixed ? (uint64_t)f->h * f->w * f->c : g->recipe.max_pixels * MAX_CHANNELS);
	}
	return most;
}

static void on_room(void *ctx)
{
	engine_pump_later(ctx);
}

static int workers_start(struct engine *g, const struct engine_conf *conf, unsigned n_workers, struct err *e)
{
	AUTO_FREE char *program = NULL;
	struct worker_conf wc = {.loop = g->loop, .recipe = &g->recipe, .n_workers = n_workers,
		.in_bytes = MAX(2 * g->limits.read_bytes, g->recipe.max_bytes), .out_bytes = g->out_bytes * (WORKER_QUEUE + 1),
		.time_limit_ns = conf->worker_time_ns ? conf->worker_time_ns : WORKER_TIME_NS,
		.memory_limit_bytes = WORKER_BASE_BYTES + 4 * MAX_CHANNELS * g->recipe.max_pixels,
		.queue_depth = WORKER_QUEUE, .max_attempts = WORKER_ATTEMPTS, .need_bytes = g->limits.need_bytes,
		.spawn = conf->spawn, .kill = conf->kill, .spawn_ctx = conf->spawn_ctx,
		.faults = conf->faults};
	int r = conf->spawn || conf->worker_program ? 0 : program_find("olddog-worker", &program, e);

	if (r < 0)
		return r;
	wc.program = conf->worker_program ? conf->worker_program : program;
	r = worker_pool_new(&wc, &g->pool, e);
	if (r == 0)
		worker_on_room(g->pool, on_room, g);
	return r;
}

/* Half of the descriptors are for what is read and for batches. */
static unsigned workers_allowed(unsigned n)
{
	uint64_t most = descriptors_available() / 2 / WORKER_FDS;

	return (unsigned)MIN((uint64_t)n, MAX(most, 1));
}

int engine_new(const struct engine_conf *conf, struct engine **ret, struct err *e)
{
	const struct spec *spec = plan_spec(conf->plan);
	unsigned n_workers = workers_allowed(conf->n_workers ? conf->n_workers : processors_available());
	struct engine *g = mem_zalloc(sizeof(*g));
	int r;

	if (!g)
		return err_set(e, -ENOMEM, "no memory for an engine");
	g->loop = conf->loop;
	g->plan = conf->plan;
	g->through = conf->through;
	g->recipe = conf->spec ? conf->spec->recipe : spec->recipe;
	g->on_bad = spec->on_bad;
	g->stop_above_ppm = spec->stop_above_ppm;
	g->limits = conf->limits;
	list_init(&g->stalled);
	list_init(&g->parked);
	list_init(&g->to_read);
	engine_limits_default(&g->limits, n_workers, memory_available());
	r = fields_init(g, conf->uncollated, e);
	if (r == 0) {
		g->out_bytes = worker_room(g);
		r = workers_start(g, conf, n_workers, e);
	}
	if (r < 0) {
		mem_free(g);
		return r;
	}
	*ret = g;
	return 0;
}

void engine_close(struct engine *g, void (*closed)(void *ctx), void *ctx)
{
	g->closing = true;
	g->closed = closed;
	g->closed_ctx = ctx;
	while (g->n_streams)
		stream_close(g->streams[g->n_streams - 1]);
	engine_pump_later(g);
}
