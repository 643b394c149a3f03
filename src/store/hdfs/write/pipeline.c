/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/pipeline.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

/* Packets that one call sends. */
#define SEND_IOV 16u

void pipeline_release(struct pipeline *p)
{
	if (!p->in)
		return;
	pipeline_stop(p);
	timer_unreserve(&p->timer);
	buf_release(&p->out);
	mem_free(TAKE(p->in));
}

void pipeline_stop(struct pipeline *p)
{
	if (p->leasing)
		dn_cancel(&p->lease);
	else if (p->conn)
		dn_give(&p->lease, false);
	p->leasing = p->is_up = p->kicked = p->beating = p->failed = false;
	p->conn = NULL;
	p->n_out_sent = p->n_slot_sent = p->n_in = 0;
	p->want = 0;
	buf_clear(&p->out);
	timer_clear(&p->timer);
}

static void fire(struct timer *t);

int pipeline_init(struct pipeline *p)
{
	int r;

	p->in = mem_alloc(PIPELINE_IN_BYTES);
	buf_init(&p->out, MESSAGE_MAX);
	p->acked_seqno = p->beat_behind = -1;
	timer_init(&p->timer, p->loop, fire);
	r = p->in ? timer_reserve(&p->timer) : -ENOMEM;
	if (r < 0)
		mem_free(TAKE(p->in));
	return r;
}

static void timer_at(struct pipeline *p, uint64_t at_ns)
{
	if (!timer_armed(&p->timer) || p->timer.at_ns > at_ns)
		timer_set(&p->timer, at_ns); /* reserved */
}

/* Told from the timer: whoever called may be in the middle of something. */
static void fail(struct pipeline *p, int bad, int r)
{
	if (p->failed)
		return;
	p->failed = true;
	p->bad = bad;
	p->r = r;
	if (p->conn)
		conn_want(p->conn, 0, NULL, NULL);
	timer_at(p, loop_now(p->loop));
}

/* Time. */

static bool outstanding(const struct pipeline *p)
{
	return !p->is_up || p->beating || p->n_slot_sent || p->n_out_sent < p->out.n || p->r < 0 ||
		!list_empty(&p->packets->sent);
}

static uint64_t patience_ns(const struct pipeline *p)
{
	return p->conf->socket_timeout_ms * NS_PER_MS + WRITE_ACK_PER_NODE_NS * p->n_nodes;
}

static uint64_t beat_ns(const struct pipeline *p)
{
	return p->conf->socket_timeout_ms * NS_PER_MS / 2;
}

/* Not between the halves of a packet, and not while one is unanswered. */
static bool may_beat(const struct pipeline *p)
{
	return p->is_up && p->kicked && !p->beating && !p->n_slot_sent && p->n_out_sent == p->out.n;
}

static void arm(struct pipeline *p)
{
	if (p->leasing)
		return;
	if (outstanding(p))
		timer_at(p, p->heard_ns + patience_ns(p));
	if (may_beat(p))
		timer_at(p, p->sent_ns + beat_ns(p));
	if (p->quiet_until_ns > loop_now(p->loop))
		timer_at(p, p->quiet_until_ns);
}

/* Sending. */

static void want(struct pipeline *p, unsigned what);

/* The head of what is not sent of out. 1: all of it went, 0: no more goes now, < 0. */
static int send_out(struct pipeline *p)
{
	ssize_t n;

	while (p->n_out_sent < p->out.n) {
		n = conn_send(p->conn, p->out.ptr + p->n_out_sent, p->out.n - p->n_out_sent, NULL, 0);
		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		p->n_out_sent += (size_t)n;
		p->sent_ns = loop_now(p->loop);
	}
	return 1;
}

/*
 * The last packet of a block waits for the acknowledgement of all others: only then can a failure of it be mended. What is
 * behind it is of another block.
 */
static unsigned gather(struct pipeline *p, struct iovec *iov)
{
	struct slot *first = packets_first(&p->packets->sent);
	unsigned n = 0;

	if (p->ended || (first && first->packet.last))
		return 0;
	LIST_EACH(e, &p->packets->to_send) {
		struct slot *s = container_of(e, struct slot, list);

		if (n == SEND_IOV || (s->packet.last && (n || !list_empty(&p->packets->sent))))
			break;
		iov[n++] = (struct iovec){s->head, s->n_wire};
		if (s->packet.last)
			break;
	}
	if (n) {
		iov[0].iov_base = (uint8_t *)iov[0].iov_base + p->n_slot_sent;
		iov[0].iov_len -= p->n_slot_sent;
	}
	return n;
}

static void were_sent(struct pipeline *p, size_t n)
{
	struct slot *s = packets_first(&p->packets->to_send);

	p->sent_ns = loop_now(p->loop);
	for (n += p->n_slot_sent; s && n >= s->n_wire; s = packets_first(&p->packets->to_send)) {
		n -= s->n_wire;
		p->sent_bytes = MAX(p->sent_bytes, s->packet.offset + s->packet.n_data);
		packets_were_sent(p->packets);
		if (!n)
			break;
	}
	p->n_slot_sent = n;
	s = packets_first(&p->packets->to_send);
	/* Of a packet that is half sent a replica may already have a part. */
	if (n)
		p->sent_bytes = MAX(p->sent_bytes, s->packet.offset + s->packet.n_data);
}

static int send_packets(struct pipeline *p)
{
	struct iovec iov[SEND_IOV];
	ssize_t n;

	while (p->kicked && (p->n_slot_sent || loop_now(p->loop) >= p->quiet_until_ns)) {
		unsigned n_iov = gather(p, iov);

		if (!n_iov)
			break;
		n = conn_sendv(p->conn, iov, n_iov);
		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		were_sent(p, (size_t)n);
	}
	return 1;
}

static void send_more(struct pipeline *p)
{
	int r;

	if (!p->conn || p->failed)
		return;
	if (!outstanding(p))
		p->heard_ns = loop_now(p->loop);
	r = send_out(p);
	if (r > 0)
		r = send_packets(p);
	if (r == -EPIPE) {
		/* What it still had to say may name the node that failed: that comes first, if it comes. */
		p->r = r;
		p->kicked = false;
	} else if (r < 0) {
		fail(p, -1, r);
		return;
	}
	want(p, CONN_READ | (r == 0 ? CONN_WRITE : 0u));
	arm(p);
}

void pipeline_kick(struct pipeline *p)
{
	if (!p->is_up)
		return;
	if (!p->kicked)
		p->sent_ns = loop_now(p->loop);
	p->kicked = true;
	/* What waits for the socket goes when that is ready. */
	if (!(p->want & CONN_WRITE))
		send_more(p);
}

static void beat(struct pipeline *p)
{
	const struct packet pk = {.seqno = PACKET_HEARTBEAT};
	const struct list *sent = &p->packets->sent;
	uint8_t head[PACKET_LENGTHS + PACKET_HEADER_MAX];
	unsigned n = packet_put(&pk, head);

	if (!outstanding(p))
		p->heard_ns = loop_now(p->loop);
	buf_clear(&p->out);
	p->n_out_sent = 0;
	if (buf_add(&p->out, head, n) < 0)
		return;
	p->beating = true;
	p->beat_behind = list_empty(sent) ? p->acked_seqno : container_of(sent->prev, struct slot, list)->packet.seqno;
}

/* Receiving. */

static void take_setup(struct pipeline *p, struct str message, const struct hdfs_located *at)
{
	struct op_answer a;
	char words[200];

	if (op_answer_parse(message, &a) < 0) {
		fail(p, 0, E_PROTOCOL);
		return;
	}
	if (a.status == TRANSFER_SUCCESS) {
		p->is_up = true;
		return;
	}
	p->restarts = a.status == TRANSFER_OOB_RESTART;
	err_set(&p->err, -EIO, "status %u%s%s", a.status, a.words.n ? ": " : "", str_printable(a.words, words, sizeof(words)));
	fail(p, a.bad_link.n ? located_find_address(at, a.bad_link) : 0, -EIO);
}

/* The first that was sent, and nothing else, may be acknowledged, by all nodes. */
static int ack_matches(struct pipeline *p, const struct write_ack *a)
{
	struct slot *s = packets_first(&p->packets->sent);

	if (a->bad >= 0) {
		p->restarts = a->status == TRANSFER_OOB_RESTART;
		err_set(&p->err, -EIO, "node %d of %u said status %u", a->bad, p->n_nodes, a->status);
		return -EIO;
	}
	if (a->seqno == PACKET_HEARTBEAT && p->acked_seqno >= p->beat_behind)
		return 0;
	/* Nodes answer in order: the packet's own answer is lost, and with heartbeats answered nobody would ever miss it. */
	if (a->seqno == PACKET_HEARTBEAT)
		return err_set(&p->err, E_PROTOCOL, "a heartbeat sent behind packet %lld was answered, and that packet was not",
			(long long)p->beat_behind);
	if (!s || a->seqno != s->packet.seqno || a->n_replies != p->n_nodes)
		return err_set(&p->err, E_PROTOCOL, "an acknowledgement of packet %lld by %u nodes came, but %lld by %u was due",
			(long long)a->seqno, a->n_replies, s ? (long long)s->packet.seqno : -1, p->n_nodes);
	return 1;
}

static void congestion(struct pipeline *p, bool congested)
{
	uint64_t now_ns = loop_now(p->loop);

	if (!congested)
		p->backoff_ns = 0;
	if (!congested || p->quiet_until_ns > now_ns)
		return;
	p->backoff_ns = write_backoff_ns(p->backoff_ns, (uint32_t)((now_ns ^ now_ns >> 20) * 2654435761u));
	p->quiet_until_ns = now_ns + p->backoff_ns;
}

/* 1: something new is acknowledged. */
static int take_ack(struct pipeline *p, struct str message)
{
	struct write_ack a;
	struct slot *s;
	int r = write_ack_parse(message, &a);

	if (r == 0)
		r = ack_matches(p, &a);
	if (r < 0) {
		fail(p, r == -EIO ? a.bad : 0, r);
		return 0;
	}
	congestion(p, a.congested);
	if (r == 0) {
		p->beating = false;
		return 0;
	}
	s = packets_first(&p->packets->sent);
	p->acked_seqno = s->packet.seqno;
	p->acked_bytes = MAX(p->acked_bytes, s->packet.offset + s->packet.n_data);
	p->n_acked_fresh += s->n_fresh;
	p->ended = s->packet.last;
	packets_were_acked(p->packets);
	return 1;
}

static void take_all(struct pipeline *p, const struct hdfs_located *at, bool *ret_up, bool *ret_acked)
{
	size_t done = 0;
	struct str message;
	int64_t n = 1;

	while (!p->failed && !*ret_up) {
		n = transfer_delimited(p->in + done, p->n_in - done, &message);
		if (n <= 0)
			break;
		done += (size_t)n;
		if (p->is_up) {
			*ret_acked |= take_ack(p, message) > 0;
		} else {
			take_setup(p, message, at);
			*ret_up = p->is_up;
		}
	}
	if (n < 0 || (n == 0 && p->n_in - done >= ACK_MAX_BYTES))
		fail(p, 0, E_PROTOCOL);
	memmove(p->in, p->in + done, p->n_in - done);
	p->n_in -= done;
}

static void receive(struct pipeline *p)
{
	bool is_up = false, acked = false;
	ssize_t n = conn_recv(p->conn, p->in + p->n_in, PIPELINE_IN_BYTES - p->n_in, NULL, NULL);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		fail(p, -1, p->r < 0 ? p->r : -EPIPE);
		return;
	}
	p->heard_ns = loop_now(p->loop);
	p->n_in += (size_t)n;
	take_all(p, p->at, &is_up, &acked);
	/* Either may stop the pipeline, and start it again. */
	if (is_up)
		p->up(p);
	else if (acked)
		p->acked(p);
}

static void ready(struct conn *c, unsigned can, void *ctx)
{
	struct pipeline *p = ctx;

	if (can & CONN_READ)
		receive(p);
	if (p->conn == c && can & CONN_WRITE && !p->failed)
		send_more(p);
	else if (p->conn == c && p->is_up && p->kicked && !p->failed && !(p->want & CONN_WRITE))
		send_more(p);
}

static void want(struct pipeline *p, unsigned what)
{
	int r;

	if (p->want == what)
		return;
	p->want = what;
	r = conn_want(p->conn, what, ready, p);
	if (r < 0)
		fail(p, -1, r);
}

/* The beginning. */

static void fire(struct timer *t)
{
	struct pipeline *p = container_of(t, struct pipeline, timer);
	uint64_t now_ns = loop_now(p->loop);

	if (!p->failed && outstanding(p) && now_ns >= p->heard_ns + patience_ns(p)) {
		err_set(&p->err, -ETIMEDOUT, "nothing was heard for %llu s", (unsigned long long)(patience_ns(p) / NS_PER_S));
		fail(p, -1, -ETIMEDOUT);
	}
	if (p->failed) {
		pipeline_stop(p);
		p->broke(p);
		return;
	}
	if (may_beat(p) && now_ns >= p->sent_ns + beat_ns(p))
		beat(p);
	if (!(p->want & CONN_WRITE))
		send_more(p);
	arm(p);
}

static void connected(struct dn_lease *l, int r)
{
	struct pipeline *p = container_of(l, struct pipeline, lease);

	p->leasing = false;
	if (r < 0) {
		fail(p, 0, r);
		return;
	}
	p->conn = l->conn;
	p->heard_ns = loop_now(p->loop);
	send_more(p);
	arm(p);
}

void pipeline_start(struct pipeline *p, const struct write_setup *s)
{
	pipeline_stop(p);
	p->at = s->at;
	p->n_nodes = s->at->n_nodes;
	p->r = 0;
	p->bad = -1;
	p->restarts = p->ended = false;
	p->err = (struct err){0};
	p->quiet_until_ns = 0;
	p->sent_bytes = MAX(p->sent_bytes, s->max_bytes);
	if (put_op_write(&p->out, s) < 0) {
		fail(p, -1, -ENOMEM);
		return;
	}
	p->leasing = true;
	p->lease = (struct dn_lease){.done = connected, .ctx = p};
	dn_take(p->dns, &p->lease, &s->at->nodes[0], true);
}
