/* SPDX-License-Identifier: Apache-2.0 */
#include "slow_worker.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/scope.h"
#include "wire/workmsg.h"

struct slow_worker {
	struct slow_workers *all;
	const uint8_t *in;
	uint8_t *out;
	struct conn *conn;
	struct timer timer;	/* armed: busy, until then */
	struct workmsg at_work;
};

static void send(struct slow_worker *w, const struct workmsg *m)
{
	uint8_t bytes[WORKMSG_BYTES];
	ssize_t n;

	workmsg_encode(m, bytes);
	n = conn_send(w->conn, bytes, sizeof(bytes), NULL, 0);
	assert(n == sizeof(bytes));
}

static void slow_can_read(struct conn *c, unsigned can, void *ctx);

/* What it has not come to yet lies in the pipe, as a real worker's does in its socket. */
static void listen_to(struct slow_worker *w, bool on)
{
	int r = conn_want(w->conn, on ? CONN_READ : 0, slow_can_read, w);

	assert(r == 0);
}

static void slow_can_read(struct conn *c, unsigned can, void *ctx)
{
	struct slow_worker *w = ctx;
	struct slow_workers *all = w->all;
	struct slow_work *work = &all->works[all->n_works];
	uint8_t bytes[WORKMSG_BYTES];
	ssize_t n = conn_recv(c, bytes, sizeof(bytes), NULL, NULL);
	int r;

	if (n == -EAGAIN)
		return;
	r = workmsg_decode(bytes, (size_t)n, &w->at_work);
	assert(r == 0 && all->n_works < SLOW_MAX_WORKS);
	all->n_works++;
	work->position = w->at_work.position;
	work->from_ns = loop_now(c->loop);
	work->to_ns = work->from_ns + all->cost_ns(w->in + w->at_work.in_offset, w->at_work.in_length);
	r = timer_set(&w->timer, work->to_ns);
	assert(r == 0);
	listen_to(w, false);
}

static void finish(struct timer *t)
{
	struct slow_worker *w = container_of(t, struct slow_worker, timer);
	size_t n = (size_t)w->all->h * w->all->w * w->all->c;
	struct workmsg m = {.type = WORKMSG_DONE, .seq = w->at_work.seq, .h = w->all->h, .w = w->all->w, .c = w->all->c};

	memset(w->out + w->at_work.out_offset, (int)(w->at_work.position & 255), n);
	m.checksum = xxh3_of(w->out + w->at_work.out_offset, n);
	send(w, &m);
	listen_to(w, true);
}

int slow_worker_spawn(void *ctx, struct loop *loop, const struct recipe *recipe, const uint8_t *in, size_t in_bytes,
	uint8_t *out, size_t out_bytes, struct conn *end, void **ret_worker)
{
	struct slow_worker *w = mem_zalloc(sizeof(*w));

	assert(w);
	*w = (struct slow_worker){.all = ctx, .in = in, .out = out, .conn = end};
	timer_init(&w->timer, loop, finish);
	send(w, &(struct workmsg){.type = WORKMSG_READY, .version = WORKMSG_VERSION});
	listen_to(w, true);
	*ret_worker = w;
	return 0;
}

void slow_worker_kill(void *ctx, void *worker)
{
	struct slow_worker *w = worker;

	timer_clear(&w->timer);
	conn_close(w->conn);
	mem_free(w);
}
