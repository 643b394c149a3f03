/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/dn/block_read.h"

#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "wire/hadoop/pb.h"

#define OP_MAX_BYTES (1u << 20)
#define READS_A_TURN 4u

/* ClientReadStatusProto, delimited: CHECKSUM_OK. */
static const uint8_t READ_STATUS[] = {2, 8, 6};

static void read_begin(struct block_read *b, bool fresh);

/* OpReadBlockProto, with what goes before it. */
static int put_op(struct block_read *b)
{
	AUTO_BUF struct buf op;

	buf_init(&op, OP_MAX_BYTES);
	buf_hdfs_base(&op, 1, b->block, b->token);
	buf_pb_str(&op, 2, b->client);
	buf_pb_delimit(&op, 1, 0);
	buf_pb_u64(&op, 2, b->offset);
	buf_pb_u64(&op, 3, b->length);
	buf_pb_u64(&op, 4, 1);
	return op.r < 0 ? op.r : transfer_put_op(&b->op, TRANSFER_READ_BLOCK, op.ptr, op.n);
}

/* Lets go of everything; b->flow's results stay. */
static void read_release(struct block_read *b, bool clean)
{
	if (b->timer.reserved)
		timer_unreserve(&b->timer);
	if (b->leased)
		dn_give(&b->lease, clean);
	b->leased = false;
	buf_release(&b->op);
	flow_release(&b->flow);
}

static void read_end(struct block_read *b, int r)
{
	read_release(b, r == 0);
	b->done(b, r);
}

/* A connection that was open may have been ended by the node before it saw the operation. */
static void read_broke(struct block_read *b, int r)
{
	if (b->lease.reused && !b->latency_ns) {
		timer_clear(&b->timer);
		dn_give(&b->lease, false);
		b->leased = false;
		read_begin(b, true);
		return;
	}
	b->unreachable = true;
	if (r == -ETIMEDOUT)
		err_set(&b->flow.err, r, "nothing came for %llu ms", (unsigned long long)(b->timeout_ns / NS_PER_MS));
	else if (r == -EPIPE && !b->latency_ns)
		err_set(&b->flow.err, r, "it ended the connection without an answer");
	else
		err_set(&b->flow.err, r, "%s", err_text(r));
	read_end(b, r);
}

static void read_late(struct timer *t)
{
	struct block_read *b = container_of(t, struct block_read, timer);

	if (b->heard_ns + b->timeout_ns > loop_now(b->loop))
		timer_set(&b->timer, b->heard_ns + b->timeout_ns);
	else
		read_broke(b, -ETIMEDOUT);
}

/* The end of the flow, which is right: what the node waits for, and then the connection is anybody's. */
static void read_finish(struct block_read *b)
{
	bool clean = conn_send(b->lease.conn, READ_STATUS, sizeof(READ_STATUS), NULL, 0) == sizeof(READ_STATUS);

	read_release(b, clean);
	b->done(b, 0);
}

static void read_heard(struct block_read *b)
{
	b->heard_ns = loop_now(b->loop);
	if (!b->latency_ns)
		b->latency_ns = MAX(b->heard_ns - b->sent_ns, 1);
}

/* 0: go on; else b has ended and is another's. */
static int read_receive(struct block_read *b)
{
	size_t room = 0;
	ssize_t n;
	int r;

	flow_layout(&b->flow);
	for (unsigned i = 0; i < b->flow.n_iov; i++)
		room += b->flow.iov[i].iov_len;
	n = conn_recvv(b->lease.conn, b->flow.iov, b->flow.n_iov);
	if (n == -EAGAIN)
		return 1;
	if (n <= 0) {
		read_broke(b, n ? (int)n : -EPIPE);
		return 1;
	}
	read_heard(b);
	r = flow_took(&b->flow, (size_t)n);
	if (r == 1)
		read_finish(b);
	else if (r < 0)
		read_end(b, r);
	return r != 0 || (size_t)n < room;
}

static int read_send(struct block_read *b)
{
	ssize_t n = conn_send(b->lease.conn, b->op.ptr + b->n_sent, b->op.n - b->n_sent, NULL, 0);

	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	b->n_sent += (size_t)n;
	return 0;
}

static void read_ready(struct conn *c, unsigned can, void *ctx);

static int read_want(struct block_read *b)
{
	return conn_want(b->lease.conn, CONN_READ | (b->n_sent < b->op.n ? CONN_WRITE : 0u), read_ready, b);
}

static void read_ready(struct conn *c, unsigned can, void *ctx)
{
	struct block_read *b = ctx;
	int r = 0;

	(void)c;
	if (can & CONN_WRITE && b->n_sent < b->op.n) {
		r = read_send(b);
		if (r == 0)
			r = read_want(b);
		if (r < 0) {
			read_broke(b, r);
			return;
		}
	}
	if (can & CONN_READ)
		for (unsigned i = 0; i < READS_A_TURN && read_receive(b) == 0; i++)
			;
}

static void read_leased(struct dn_lease *l, int r)
{
	struct block_read *b = container_of(l, struct block_read, lease);

	b->leased = r == 0;
	if (r < 0) {
		b->unreachable = true;
		err_set(&b->flow.err, r, "it cannot be reached: %s", err_text(r));
		read_end(b, r);
		return;
	}
	b->sent_ns = b->heard_ns = loop_now(b->loop);
	b->n_sent = 0;
	r = read_send(b);
	if (r == 0)
		r = read_want(b);
	if (r < 0)
		read_broke(b, r);
	else
		timer_set(&b->timer, b->heard_ns + b->timeout_ns);
}

static void read_begin(struct block_read *b, bool fresh)
{
	b->lease.done = read_leased;
	dn_take(b->dns, &b->lease, b->node, fresh);
}

static int read_prepare(struct block_read *b)
{
	int r = flow_init(&b->flow, b->offset, b->length, b->segs, b->n_segs);

	if (r == 0)
		r = timer_reserve(&b->timer);
	return r < 0 ? r : put_op(b);
}

int block_read_start(struct block_read *b)
{
	int r;

	b->latency_ns = b->n_sent = 0;
	b->leased = b->unreachable = false;
	b->lease = (struct dn_lease){0};
	b->heard_ns = b->sent_ns = loop_now(b->loop);
	timer_init(&b->timer, b->loop, read_late);
	buf_init(&b->op, OP_MAX_BYTES);
	r = read_prepare(b);
	if (r < 0)
		read_release(b, false);
	else
		read_begin(b, false);
	return r;
}

void block_read_cancel(struct block_read *b)
{
	if (!b->leased)
		dn_cancel(&b->lease);
	read_release(b, false);
}
