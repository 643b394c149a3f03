/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include "base/clock.h"
#include "chain.h"
#include "worker/serve.h"

struct worker_conf rig_conf(struct rig *rig, bool on_virtual, const char *program_variable)
{
	struct worker_conf conf = {.loop = rig->loop, .recipe = &rig->recipe, .n_workers = 2, .in_bytes = 8u << 20,
		.out_bytes = 8u << 20, .time_limit_ns = 60 * NS_PER_S, .memory_limit_bytes = 512u << 20,
		.program = getenv(program_variable)};

	assert_non_null(conf.program);
	if (on_virtual) {
		conf.spawn = worker_serve_spawn;
		conf.kill = worker_serve_kill;
	}
	return conf;
}

void rig_init(struct rig *rig, bool on_virtual, const char *chain)
{
	memset(rig, 0, sizeof(*rig));
	assert_int_equal(on_virtual ? loop_new_virtual(&rig->loop) : loop_new(&rig->loop), 0);
	assert_int_equal(chain_parse(chain, 11, &rig->recipe), 0);
}

void rig_open(struct rig *rig, const struct worker_conf *conf)
{
	struct err e = {0};

	if (worker_pool_new(conf, &rig->pool, &e) < 0)
		fail_msg("%s", e.words);
}

void rig_close(struct rig *rig)
{
	worker_pool_free(rig->pool);
	loop_free(rig->loop);
	rig->pool = NULL;
}

static void work_done(struct work *w)
{
	struct rig_work *rw = w->ctx;
	struct rig *rig = rw->rig;

	rw->n_done++;
	rig->n_ended++;
	rig->all_ended = rig->n_ended == rig->n_works;
	if (rig->on_done)
		rig->on_done(rig, rw);
}

struct rig_work *rig_submit(struct rig *rig, uint64_t position, const void *p, size_t n, uint64_t out_bytes)
{
	struct rig_work *rw = &rig->works[rig->n_works++];

	assert_true(rig->n_works <= RIG_MAX_WORKS);
	*rw = (struct rig_work){.rig = rig, .work = {.position = position, .out_bytes = out_bytes, .done = work_done, .ctx = rw}};
	assert_int_equal(worker_in_alloc(rig->pool, n, &rw->work.in), 0);
	memcpy(rw->work.in.p, p, n);
	rig->all_ended = false;
	worker_submit(rig->pool, &rw->work);
	assert_int_equal(rw->n_done, 0);
	return rw;
}

void rig_run(struct rig *rig)
{
	assert_int_equal(loop_run_until(rig->loop, &rig->all_ended), 0);
}

void rig_release(struct rig *rig, struct rig_work *w)
{
	worker_release(rig->pool, &w->work);
	worker_in_free(rig->pool, &w->work.in);
}

unsigned rig_children(pid_t *ret, unsigned max)
{
	char path[64];
	FILE *f;
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "r");
	assert_non_null(f);
	while (n < max && fscanf(f, "%d", &ret[n]) == 1)
		n++;
	fclose(f);
	return n;
}
