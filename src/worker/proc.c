/* SPDX-License-Identifier: Apache-2.0 */
/* One worker: started, spoken with, judged, ended, reaped. Nothing that it says is believed without a look. */
#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "worker/channel.h"
#include "worker/launch.h"
#include "worker/pool_int.h"

/*
 * A limit is so many ticks of a timer, each of an eighth at most. An owner that was stopped for an hour comes back to one
 * tick that is late, not to a worker that is: before each judgement the channel is read.
 */
#define TICKS_OF_LIMIT 8
#define START_LIMIT_NS (10 * NS_PER_S)

static void proc_end(struct worker_proc *p, int why, const char *words);

static uint64_t proc_limit_ns(const struct worker_proc *p)
{
	uint64_t limit_ns = p->pool->conf.time_limit_ns;

	return p->state == PROC_STARTING ? MAX(limit_ns, START_LIMIT_NS) : limit_ns;
}

static uint64_t proc_tick_ns(const struct worker_proc *p)
{
	return MIN(proc_limit_ns(p) / TICKS_OF_LIMIT + 1, STALL_LOOK_NS);
}

void proc_arm(struct worker_proc *p)
{
	/* Reserved: cannot fail. */
	(void)timer_set(&p->timer, loop_now(p->pool->conf.loop) + proc_tick_ns(p));
}

/* Another work is under way, or none. */
static void proc_next(struct worker_proc *p)
{
	p->n_ticks = 0;
	p->stall = (struct stall){0};
	if (list_empty(&p->queue))
		timer_clear(&p->timer);
	else
		proc_arm(p);
}

static struct work *proc_first(struct worker_proc *p)
{
	return list_empty(&p->queue) ? NULL : container_of(p->queue.next, struct work, list);
}

static int take_ready(struct worker_proc *p, const struct workmsg *m)
{
	struct worker_pool *pool = p->pool;

	if (p->state != PROC_STARTING || m->version != WORKMSG_VERSION)
		return E_PROTOCOL;
	p->state = PROC_READY;
	pool->n_failed_starts = 0;
	memcpy(pool->fingerprint, m->fingerprint, sizeof(pool->fingerprint));
	proc_next(p);
	pool_kick(pool);
	return 0;
}

/* What a worker may say of a sample; anything else would be spoken in its owner's name. */
static bool status_is_a_workers(int status)
{
	return status == 0 || status == E_BAD_SAMPLE || status == E_REFUSED_SAMPLE || status == E_LIMIT || status == -ENOSPC;
}

static int take_done(struct worker_proc *p, const struct workmsg *m)
{
	struct work *w = proc_first(p);

	if (!w || m->seq != w->seq)
		return E_PROTOCOL;
	if (m->status == -ENOMEM)
		return -ENOMEM;
	if (!status_is_a_workers(m->status) ||
		(m->status == 0 && (uint64_t)m->h * m->w * m->c > w->out_bytes))
		return E_PROTOCOL;
	list_del(&w->list);
	p->n_queued--;
	p->queued_us -= w->cost_us;
	p->need_bytes -= w->need_bytes;
	proc_next(p);
	pool_work_done(p->pool, w, m);
	return 0;
}

static int take_message(struct worker_proc *p, const uint8_t *bytes, size_t n)
{
	struct workmsg m;
	int r = workmsg_decode(bytes, n, &m);

	if (r < 0)
		return r;
	switch (m.type) {
	case WORKMSG_READY:
		return take_ready(p, &m);
	case WORKMSG_DONE:
		return take_done(p, &m);
	default:
		return E_PROTOCOL;
	}
}

static void proc_refuse(struct worker_proc *p, int r)
{
	if (r == -ENOMEM)
		proc_end(p, -ENOMEM, "passed its memory limit");
	else
		proc_end(p, E_WORKER_DIED, "broke the protocol");
}

/* Ends: each message must answer a work, and there are at most queue_depth of those. */
static void proc_read(struct worker_proc *p)
{
	while (p->conn) {
		uint8_t bytes[WORKMSG_BYTES];
		ssize_t n = conn_recv(p->conn, bytes, sizeof(bytes), NULL, NULL);
		int r;

		if (n == -EAGAIN)
			return;
		if (n == 0 || n == -EPIPE) {
			proc_end(p, E_WORKER_DIED, NULL);
			return;
		}
		r = n < 0 ? (int)n : take_message(p, bytes, (size_t)n);
		if (r < 0)
			proc_refuse(p, r);
	}
}

void proc_can_read(struct conn *c, unsigned can, void *ctx)
{
	proc_read(ctx);
}

/* One that starts may wait for its program's pages, on a file system that takes its time. */
static bool proc_is_stalled(struct worker_proc *p)
{
	struct stall_look look = {.now_ns = loop_now(p->pool->conf.loop)};
	enum stall_verdict verdict;

	if (!p->pid)
		return false;
	look.cpu_ns = launch_cpu_ns(p->pid);
	look.state = launch_state(p->pid);
	verdict = stall_look(&p->stall, &look);
	if (verdict == STALL_IS_STOPPED)
		proc_end(p, E_WORKER_TIMEOUT, "was stopped (SIGSTOP, or a debugger)");
	else if (verdict == STALL_IS_IDLE && p->state == PROC_READY)
		proc_end(p, E_WORKER_TIMEOUT, "did nothing for ten seconds");
	return !p->conn;
}

static void proc_tick(struct timer *t)
{
	struct worker_proc *p = container_of(t, struct worker_proc, timer);

	if (p->state == PROC_RESTING) {
		p->state = PROC_NONE;
		pool_kick(p->pool);
		return;
	}
	proc_read(p);
	/* What was read may have ended the worker, or armed the timer for another work, or for none. */
	if (!p->conn || timer_armed(t) || (p->state == PROC_READY && list_empty(&p->queue)))
		return;
	if (proc_is_stalled(p))
		return;
	if (++p->n_ticks * proc_tick_ns(p) > proc_limit_ns(p) + proc_tick_ns(p))
		proc_end(p, E_WORKER_TIMEOUT, "passed its time limit");
	else
		proc_arm(p);
}

/* Sending. */

int proc_send(struct worker_proc *p, struct work *w)
{
	struct workmsg m = {.type = WORKMSG_DECODE, .seq = ++p->pool->seq, .position = w->position, .field = w->field,
		.in_offset = w->in.offset, .in_length = w->in.n, .out_capacity = w->out_bytes};
	uint8_t bytes[WORKMSG_BYTES];
	int r = slab_alloc(&p->out->slab, w->out_bytes, &m.out_offset);

	if (r < 0)
		return r;
	workmsg_encode(&m, bytes);
	if (conn_send(p->conn, bytes, sizeof(bytes), NULL, 0) != sizeof(bytes)) {
		slab_free(&p->out->slab, m.out_offset, w->out_bytes);
		proc_end(p, E_WORKER_DIED, NULL);
		return -EAGAIN;
	}
	w->out = p->out;
	w->out->n_refs++;
	w->out_offset = m.out_offset;
	w->seq = m.seq;
	list_add(&p->queue, &w->list);
	p->n_queued++;
	p->queued_us += w->cost_us;
	p->need_bytes += w->need_bytes;
	p->n_sent++;
	if (p->n_queued == 1)
		proc_next(p);
	return 0;
}

void proc_rest(struct worker_proc *p, uint64_t until_ns)
{
	p->state = PROC_RESTING;
	(void)timer_set(&p->timer, until_ns);
}

/* Ending. */

static void proc_gone(struct worker_proc *p)
{
	p->state = PROC_NONE;
	pool_proc_gone(p->pool, p);
}

static void proc_reap(struct worker_proc *p)
{
	uint64_t cpu_ns;
	char words[64];

	launch_reap(p->pid, words, sizeof(words), &cpu_ns);
	p->pool->counts.cpu_ns += cpu_ns;
	if (!p->words[0])
		snprintf(p->words, sizeof(p->words), "%s", words);
	p->pid = 0;
	fd_closep(&p->pid_fd);
	p->pid_fd = -1;
}

static void proc_has_exited(struct watch *w, uint32_t events)
{
	struct worker_proc *p = container_of(w, struct worker_proc, exit_watch);

	watch_stop(w);
	proc_reap(p);
	proc_gone(p);
}

static void proc_close(struct worker_proc *p)
{
	timer_clear(&p->timer);
	conn_close(TAKE(p->conn));
	if (p->served)
		p->pool->conf.kill(p->pool->conf.spawn_ctx, TAKE(p->served));
	if (p->pid)
		pidfd_send_signal(p->pid_fd, SIGKILL, NULL, 0);
	if (p->out)
		out_unref(TAKE(p->out));
}

/* words NULL: it ended by itself, and reaping will tell how. */
static void proc_end(struct worker_proc *p, int why, const char *words)
{
	p->was_ready = p->state == PROC_READY;
	p->why = why;
	snprintf(p->words, sizeof(p->words), "%s", words ? words : p->pid ? "" : "ended");
	proc_close(p);
	p->state = PROC_ENDING;
	if (!p->pid) {
		proc_gone(p);
		return;
	}
	if (watch_start(&p->exit_watch, p->pool->conf.loop, p->pid_fd, EPOLLIN, proc_has_exited) < 0) {
		/* No memory to wait by the way: it was killed, so this does not take long. */
		proc_reap(p);
		proc_gone(p);
	}
}

int proc_init(struct worker_proc *p, struct worker_pool *pool)
{
	*p = (struct worker_proc){.pool = pool, .pid_fd = -1};
	list_init(&p->queue);
	timer_init(&p->timer, pool->conf.loop, proc_tick);
	return timer_reserve(&p->timer);
}

void proc_release(struct worker_proc *p)
{
	watch_stop(&p->exit_watch);
	proc_close(p);
	if (p->pid)
		proc_reap(p);
	p->state = PROC_NONE;
	timer_unreserve(&p->timer);
}
