/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/write_ask.h"

#define READ_BYTES 4096u

static void fire(struct timer *t);
static void ready(struct conn *c, unsigned can, void *ctx);

int ask_init(struct write_ask *a, struct loop *loop, struct dn_pool *dns)
{
	a->loop = loop;
	a->dns = dns;
	buf_init(&a->out, MESSAGE_MAX);
	buf_init(&a->in, ASK_MAX_ANSWER);
	timer_init(&a->timer, loop, fire);
	return timer_reserve(&a->timer);
}

void ask_cancel(struct write_ask *a)
{
	if (a->leasing)
		dn_cancel(&a->lease);
	else if (a->conn)
		dn_give(&a->lease, false);
	a->conn = NULL;
	a->leasing = a->busy = false;
	timer_clear(&a->timer);
}

void ask_release(struct write_ask *a)
{
	ask_cancel(a);
	timer_unreserve(&a->timer);
	buf_release(&a->out);
	buf_release(&a->in);
}

static void ask_end(struct write_ask *a, int r)
{
	struct conn *c = TAKE(a->conn);

	if (c && r == 0)
		conn_want(c, 0, NULL, NULL);
	if (c)
		dn_give(&a->lease, r == 0);
	timer_clear(&a->timer);
	a->busy = false;
	a->r = r;
	a->done(a);
}

static void take_answer(struct write_ask *a)
{
	struct str message;
	int64_t n = transfer_delimited(a->in.ptr, a->in.n, &message);
	char words[200];
	int r;

	if (n == 0)
		return;
	r = n < 0 ? (int)n : op_answer_parse(message, &a->answer);
	if (r == 0 && a->answer.status != TRANSFER_SUCCESS)
		r = err_set(&a->err, -EIO, "%s said status %u%s%s", a->node->host, a->answer.status, a->answer.words.n ? ": " : "",
			str_printable(a->answer.words, words, sizeof(words)));
	ask_end(a, r);
}

/* A connection that was kept may have ended at the other side just then: that says nothing of the node. */
static void broken(struct write_ask *a, int r)
{
	if (a->lease.reused && !a->heard) {
		dn_give(&a->lease, false);
		a->conn = NULL;
		a->n_sent = 0;
		a->leasing = true;
		dn_take(a->dns, &a->lease, a->node, true);
		return;
	}
	ask_end(a, r);
}

static void receive(struct write_ask *a)
{
	uint8_t bytes[READ_BYTES];
	ssize_t n = conn_recv(a->conn, bytes, sizeof(bytes), NULL, NULL);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		broken(a, -EPIPE);
		return;
	}
	a->heard = true;
	if (buf_add(&a->in, bytes, (size_t)n) < 0)
		ask_end(a, a->in.r == -E2BIG ? E_PROTOCOL : a->in.r);
	else
		take_answer(a);
}

static void send_more(struct write_ask *a)
{
	ssize_t n = 1;

	while (n > 0 && a->n_sent < a->out.n) {
		n = conn_send(a->conn, a->out.ptr + a->n_sent, a->out.n - a->n_sent, NULL, 0);
		if (n > 0)
			a->n_sent += (size_t)n;
	}
	if (n < 0 && n != -EAGAIN)
		broken(a, (int)n);
	else if (conn_want(a->conn, CONN_READ | (n < 0 ? CONN_WRITE : 0u), ready, a) < 0)
		ask_end(a, -ENOMEM);
}

static void ready(struct conn *c, unsigned can, void *ctx)
{
	struct write_ask *a = ctx;

	if (can & CONN_WRITE)
		send_more(a);
	else if (can & CONN_READ)
		receive(a);
}

static void connected(struct dn_lease *l, int r)
{
	struct write_ask *a = container_of(l, struct write_ask, lease);

	a->leasing = false;
	if (r < 0) {
		ask_end(a, r);
		return;
	}
	a->conn = l->conn;
	send_more(a);
}

static void fire(struct timer *t)
{
	struct write_ask *a = container_of(t, struct write_ask, timer);

	if (a->leasing)
		dn_cancel(&a->lease);
	a->leasing = false;
	ask_end(a, a->out.r < 0 ? a->out.r : -ETIMEDOUT);
}

void ask_start(struct write_ask *a)
{
	a->busy = true;
	a->heard = false;
	a->n_sent = 0;
	a->err = (struct err){0};
	buf_clear(&a->in);
	if (a->out.r < 0) {
		timer_set(&a->timer, loop_now(a->loop));
		return;
	}
	timer_set(&a->timer, loop_now(a->loop) + a->patience_ns);
	a->leasing = true;
	a->lease = (struct dn_lease){.done = connected, .ctx = a};
	dn_take(a->dns, &a->lease, a->node, false);
}
