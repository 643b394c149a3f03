/* SPDX-License-Identifier: Apache-2.0 */
/* A worker is started: its memory, its channel, its process, or what a test has in place of one. */
#include <assert.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/scope.h"
#include "worker/channel.h"
#include "worker/launch.h"
#include "worker/pool_int.h"

/* More than both directions ever hold: a pipe is never the reason why a send fails. */
#define PIPE_BYTES ((64 + 2) * WORKMSG_BYTES)

void out_unref(struct worker_out *out)
{
	if (--out->n_refs > 0)
		return;
	list_del(&out->list);
	shared_release(&out->mem);
	slab_release(&out->slab);
	mem_free(out);
}

static int out_new(struct worker_pool *pool, struct worker_out **ret, struct err *e)
{
	struct worker_out *out = mem_zalloc(sizeof(*out));
	int r;

	if (!out)
		return err_set(e, -ENOMEM, "no memory for a worker");
	out->n_refs = 1;
	out->mem.fd = -1;
	list_init(&out->list);
	list_add(&pool->outs, &out->list);
	r = slab_init(&out->slab, pool->conf.out_bytes);
	if (r == 0)
		r = shared_new(SHARED_OUT, pool->conf.out_bytes, &out->mem, e);
	if (r < 0) {
		out_unref(out);
		return r;
	}
	*ret = out;
	return 0;
}

static int start_process(struct worker_proc *p, const struct worker_out *out, struct conn **ret_conn, struct err *e)
{
	struct worker_pool *pool = p->pool;
	AUTO_CLOSE int theirs = -1;
	struct launch l = {.program = pool->program, .memory_limit_bytes = pool->conf.memory_limit_bytes,
		.recipe_fd = pool->recipe_bytes.fd, .in_fd = pool->in.fd, .out_fd = out->mem.fd};
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(e, -errno, "cannot make a worker's channel: %s", err_text(-errno));
	theirs = fd_above(fds[1]);
	r = conn_of_fd(pool->conf.loop, fds[0], ret_conn);
	if (r == 0 && theirs < 0)
		r = theirs;
	l.channel_fd = theirs;
	return r < 0 ? r : launch_start(&l, &p->pid, &p->pid_fd, e);
}

static int start_behind_pipe(struct worker_proc *p, const struct worker_out *out, struct conn **ret_conn)
{
	struct worker_pool *pool = p->pool;
	const struct worker_conf *conf = &pool->conf;
	struct pipe_faults faults = conf->faults;
	struct conn *theirs;
	int r;

	faults.seed += pool->counts.n_spawned;
	r = conn_pipe(conf->loop, true, PIPE_BYTES, &faults, ret_conn, &theirs);
	if (r < 0)
		return r;
	return conf->spawn(conf->spawn_ctx, conf->loop, &pool->recipe, pool->in.p, pool->in.n, out->mem.p, out->mem.n, theirs,
		&p->served);
}

/* Nobody has heard of this worker yet. */
static void unstart(struct worker_proc *p)
{
	uint64_t cpu_ns;

	if (p->served)
		p->pool->conf.kill(p->pool->conf.spawn_ctx, TAKE(p->served));
	if (p->pid) {
		kill(p->pid, SIGKILL);
		launch_reap(p->pid, p->words, sizeof(p->words), &cpu_ns);
		p->pid = 0;
	}
	fd_closep(&p->pid_fd);
	p->pid_fd = -1;
}

int proc_start(struct worker_proc *p, struct err *e)
{
	struct worker_pool *pool = p->pool;
	struct conn *AUTO_CONN conn = NULL;
	struct worker_out *out = NULL;
	int r;

	assert(p->state == PROC_NONE && list_empty(&p->queue));
	r = out_new(pool, &out, e);
	if (r < 0)
		return r;
	r = pool->conf.spawn ? start_behind_pipe(p, out, &conn) : start_process(p, out, &conn, e);
	if (r == 0)
		r = conn_want(conn, CONN_READ, proc_can_read, p);
	if (r < 0) {
		unstart(p);
		out_unref(out);
		return r;
	}
	pool->counts.n_spawned++;
	p->conn = TAKE(conn);
	p->out = out;
	p->state = PROC_STARTING;
	p->n_queued = p->n_ticks = 0;
	p->stall = (struct stall){0};
	p->queued_us = p->need_bytes = 0;
	p->n_sent = 0;
	proc_arm(p);
	return 0;
}
