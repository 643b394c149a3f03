/* SPDX-License-Identifier: Apache-2.0 */
/* The rig's DataNodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "write_rig.h"

#include "wire/hadoop/crc.h"
#include "wire/hadoop/packet.h"
#include "wire/hadoop/pb.h"

struct session {
	struct conn *conn;
	struct buf in;
	bool streaming, stalled;
	unsigned n_nodes, nodes[RIG_NODES];
	unsigned id;
	uint32_t max_bytes;
	struct timer late;
};

static void session_end(struct session *s)
{
	conn_close(TAKE(s->conn));
	buf_release(&s->in);
	rig->n_live--;
	free(s);
}

static struct rig_replica *replica(struct session *s, unsigned i)
{
	return &rig->nodes[s->nodes[i]].replicas[s->id];
}

static void answer(struct session *s, const struct buf *message)
{
	AUTO_BUF struct buf out;
	ssize_t n = 1;

	buf_init(&out, 1 << 16);
	buf_varint(&out, message->n);
	buf_add(&out, message->ptr, message->n);
	/* The pipes hold far more than this; but the other side may be gone. */
	for (size_t at = 0; n > 0 && at < out.n; at += (size_t)n)
		n = conn_send(s->conn, out.ptr + at, out.n - at, NULL, 0);
	assert_true(n > 0 || n == -EPIPE || n == -ENOMEM);
}

static void say_op(struct session *s, uint32_t status, int bad)
{
	AUTO_BUF struct buf m;
	char link[32];

	buf_init(&m, 1 << 16);
	buf_pb_u64(&m, 1, status);
	snprintf(link, sizeof(link), "10.0.0.1:%u", bad < 0 ? 0 : 1000 + s->nodes[bad]);
	if (bad > 0)
		buf_pb_str(&m, 2, link);
	answer(s, &m);
}

static void say_ack(struct session *s, int64_t seqno, uint32_t status, unsigned bad)
{
	unsigned n = status ? bad + 1 : s->n_nodes;
	uint32_t ecn = rig_happens(rig, rig->faults.congested_ppm) ? 3u << 5 : 0;
	AUTO_BUF struct buf m, flags;

	buf_init(&m, 1 << 16);
	buf_init(&flags, 1 << 16);
	buf_pb_sint(&m, 1, seqno);
	for (unsigned i = 0; i < n; i++) {
		uint32_t st = status && i == bad ? status : 0;

		buf_pb_u64(&m, 2, st);
		buf_varint(&flags, st | ecn);
	}
	buf_pb_u64(&m, 3, 12345);
	buf_pb_bytes(&m, 4, flags.ptr, flags.n);
	answer(s, &m);
}

/* 0, or how a node takes the block up again. */
static bool take_up(struct session *s, unsigned i, unsigned stage, uint64_t stamp, uint32_t min_bytes, uint32_t max_bytes)
{
	struct rig_replica *r = replica(s, i);

	switch (stage) {
	case 6:
		assert_false(r->is);
		*r = (struct rig_replica){.is = true, .bytes = calloc(1, RIG_BLOCK_MAX)};
		assert_non_null(r->bytes);
		break;
	case 0:
	case 1:
		if (!r->is || r->n != min_bytes)
			return false;
		r->finalized = false;
		r->n_acked = r->n;
		break;
	case 3:
		if (!r->is || r->finalized || r->n < min_bytes || r->n > max_bytes || r->n_acked > r->n)
			return false;
		r->n = MAX(r->n_acked, min_bytes);
		break;
	case 5:
		if (!r->is || r->n != min_bytes)
			return false;
		r->finalized = true;
		break;
	default:
		fail_msg("stage %u", stage);
	}
	r->stamp = stamp;
	return true;
}

static int first_refusal(struct session *s, unsigned stage, uint64_t stamp, uint32_t min_bytes, uint32_t max_bytes)
{
	int harmed = rig_fails(rig, rig->faults.setup_ppm) ? (int)rig_below(rig, s->n_nodes) : -1;

	for (unsigned i = 0; i < s->n_nodes; i++)
		if (rig->nodes[s->nodes[i]].dead || harmed == (int)i || !take_up(s, i, stage, stamp, min_bytes, max_bytes))
			return (int)i;
	return -1;
}

static void do_write(struct session *s, struct str message)
{
	struct pb p = pb_of(message.p, message.n), head, base;
	unsigned stage = 99, size = 0;
	uint64_t stamp = 0, min_bytes = 0, max_bytes = 0;
	int bad;

	while (pb_next(&p))
		switch (p.field) {
		case 1:
			head = pb_of(p.bytes.p, p.bytes.n);
			assert_true(pb_next(&head));
			base = pb_of(head.bytes.p, head.bytes.n);
			assert_true(pb_next(&base));
			s->id = (unsigned)rig_ref_of(base.bytes).id;
			break;
		case 2:
			s->nodes[s->n_nodes++] = rig_node_of(p.bytes);
			break;
		case 4:
			stage = (unsigned)p.value;
			break;
		case 5:
			size = (unsigned)p.value;
			break;
		case 6:
			min_bytes = p.value;
			break;
		case 7:
			max_bytes = p.value;
			break;
		case 8:
			stamp = p.value;
			break;
		}
	assert_false(p.rd.bad);
	assert_int_equal(size, s->n_nodes);
	rig->n_setups++;
	bad = first_refusal(s, stage, stamp, (uint32_t)min_bytes, (uint32_t)max_bytes);
	s->streaming = bad < 0;
	say_op(s, bad < 0 ? 0 : 1, bad);
}

static void do_transfer(struct session *s, struct str message)
{
	struct pb p = pb_of(message.p, message.n), head, base;
	struct rig_replica *from, *to;
	unsigned target = 0;

	while (pb_next(&p))
		switch (p.field) {
		case 1:
			head = pb_of(p.bytes.p, p.bytes.n);
			assert_true(pb_next(&head));
			base = pb_of(head.bytes.p, head.bytes.n);
			assert_true(pb_next(&base));
			s->id = (unsigned)rig_ref_of(base.bytes).id;
			break;
		case 2:
			target = rig_node_of(p.bytes);
			break;
		}
	from = replica(s, 0);
	to = &rig->nodes[target].replicas[s->id];
	if (rig->nodes[target].dead || !from->is || from->finalized || rig_fails(rig, rig->faults.setup_ppm)) {
		say_op(s, 1, -1);
		return;
	}
	if (!to->bytes)
		to->bytes = calloc(1, RIG_BLOCK_MAX);
	*to = (struct rig_replica){.is = true, .stamp = from->stamp, .n = from->n_acked, .n_acked = from->n_acked,
		.bytes = to->bytes};
	memcpy(to->bytes, from->bytes, to->n);
	say_op(s, 0, -1);
}

static void do_checksum(struct session *s, struct str message)
{
	struct pb p = pb_of(message.p, message.n), base;
	AUTO_BUF struct buf m;
	struct rig_replica *r;
	uint32_t crc;
	size_t at, options;

	buf_init(&m, 1 << 16);
	assert_true(pb_next(&p));
	base = pb_of(p.bytes.p, p.bytes.n);
	assert_true(pb_next(&base));
	s->id = (unsigned)rig_ref_of(base.bytes).id;
	r = replica(s, 0);
	if (!r->is || rig_fails(rig, rig->faults.setup_ppm)) {
		say_op(s, 1, -1);
		return;
	}
	assert_int_equal(rig_ref_of(base.bytes).n_bytes, r->n);
	crc = htobe32(crc_of(CRC_C, 0, r->bytes, r->n));
	buf_pb_u64(&m, 1, 0);
	at = m.n;
	buf_pb_u64(&m, 1, 512);
	buf_pb_u64(&m, 2, 1);
	buf_pb_bytes(&m, 3, &crc, sizeof(crc));
	buf_pb_u64(&m, 4, rig->conf.checksum_kind);
	options = m.n;
	buf_pb_u64(&m, 1, 2);
	buf_pb_delimit(&m, 5, options);
	buf_pb_delimit(&m, 3, at);
	answer(s, &m);
}

/* What one node does with a packet. False: its bytes are not what their checksums say. */
static bool take_packet(struct session *s, unsigned i, const struct packet *pk, const uint8_t *p)
{
	struct rig_replica *r = replica(s, i);
	const uint8_t *sums = p + pk->n_head, *data = sums + pk->n_sums;
	uint32_t end = (uint32_t)pk->offset + pk->n_data;

	assert_int_equal(pk->n_sums, 4 * ((pk->n_data + 511) / 512));
	if (crc_check(CRC_C, 512, data, pk->n_data, sums) >= 0)
		return false;
	/* No holes; what does not begin with a chunk ends with it. */
	assert_true(pk->offset <= r->n);
	assert_true(end <= rig->conf.block_bytes);
	if (pk->offset % 512)
		assert_true(pk->offset % 512 + pk->n_data <= 512);
	else if (pk->n_data && pk->n_data % 512 == 0)
		assert_int_equal(pk->offset % 512, 0);
	if (end > r->n) {
		memcpy(r->bytes + pk->offset, data, pk->n_data);
		r->n = end;
	}
	if (pk->last) {
		assert_int_equal(pk->offset, r->n);
		r->finalized = true;
	}
	return true;
}

static void stall_over(struct timer *t)
{
	session_end(container_of(t, struct session, late));
}

static void stall(struct session *s)
{
	s->stalled = true;
	conn_want(s->conn, 0, NULL, NULL);
	timer_init(&s->late, rig->loop, stall_over);
	timer_set(&s->late, loop_now(rig->loop) + 300 * NS_PER_S);
}

/* Nodes up to the one that fails have the packet, and perhaps those behind it. True: the session is over. */
static bool harm(struct session *s, const struct packet *pk, const uint8_t *p)
{
	unsigned bad = rig_below(rig, s->n_nodes), how = rig->faults.how ? rig->faults.how - 1 : rig_below(rig, N_HARMS);
	unsigned n_have = how == HARM_MUTE ? s->n_nodes : rig_below(rig, s->n_nodes + 1);

	for (unsigned i = 0; i < n_have; i++)
		take_packet(s, i, pk, p);
	if (rig_happens(rig, rig->faults.kill_ppm))
		rig->nodes[s->nodes[how == HARM_ERROR || how == HARM_CLOSE || how == HARM_STALL ? bad : 0]].dead = true;
	switch (how) {
	case HARM_ERROR:
		say_ack(s, pk->seqno, 1, bad);
		break;
	case HARM_BAD_ACK:
		say_ack(s, pk->seqno + 1, 0, 0);
		break;
	case HARM_RESTART:
		say_ack(s, -2, 8, 0);
		break;
	case HARM_STALL:
		stall(s);
		return true;
	case HARM_MUTE:
		return false;
	}
	session_end(s);
	return true;
}

static bool do_packet(struct session *s, const struct packet *pk, const uint8_t *p)
{
	if (pk->seqno == PACKET_HEARTBEAT) {
		rig->n_beats++;
		say_ack(s, -1, 0, 0);
		return false;
	}
	if (rig_fails(rig, rig->faults.packet_ppm))
		return harm(s, pk, p);
	for (unsigned i = 0; i < s->n_nodes; i++) {
		assert_true(take_packet(s, i, pk, p));
		replica(s, i)->n_acked = MAX(replica(s, i)->n_acked, (uint32_t)pk->offset + pk->n_data);
	}
	say_ack(s, pk->seqno, 0, 0);
	return false;
}

/* Takes one operation or packet. 1: there was one, 0: more bytes are needed, -1: the session is over. */
static int session_step(struct session *s)
{
	const uint8_t *p = s->in.ptr;
	struct packet pk;
	struct str message;
	int64_t n;

	if (s->streaming) {
		n = packet_parse(p, s->in.n, &pk);
		assert_true(n >= 0);
		if (n == 0 || s->in.n < (size_t)n + pk.n_sums + pk.n_data)
			return 0;
		n += pk.n_sums + pk.n_data;
		if (do_packet(s, &pk, p))
			return -1;
	} else {
		if (s->in.n < 3)
			return 0;
		n = transfer_delimited(p + 3, s->in.n - 3, &message);
		if (n == 0)
			return 0;
		assert_true(n > 0);
		n += 3;
		if (p[2] == TRANSFER_WRITE_BLOCK)
			do_write(s, message);
		else if (p[2] == TRANSFER_BLOCK_CHECKSUM)
			do_checksum(s, message);
		else
			do_transfer(s, message);
	}
	memmove(s->in.ptr, s->in.ptr + n, s->in.n - (size_t)n);
	s->in.n -= (size_t)n;
	return 1;
}

static void session_ready(struct conn *c, unsigned can, void *ctx)
{
	struct session *s = ctx;
	uint8_t bytes[4096];
	ssize_t n = conn_recv(c, bytes, sizeof(bytes), NULL, NULL);
	int r = 1;

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		session_end(s);
		return;
	}
	if (buf_add(&s->in, bytes, (size_t)n) < 0) {
		session_end(s);
		return;
	}
	while (r > 0)
		r = session_step(s);
}

static void connect_late(struct timer *t)
{
	struct dn_lease *l = container_of(t, struct dn_lease, dial.timer);
	unsigned i = (unsigned)(uintptr_t)l->info;
	struct pipe_faults faults = rig->faults.wire;
	struct session *s;

	if (rig->nodes[i].dead) {
		l->done(l, -ECONNREFUSED);
		return;
	}
	faults.seed = rig_draw(rig);
	if (rig_fails(rig, rig->faults.cut_ppm))
		faults.cut_after = 1 + rig_below(rig, 40);
	s = calloc(1, sizeof(*s));
	assert_non_null(s);
	if (conn_pipe(rig->loop, false, 16384, &faults, &l->conn, &s->conn) < 0) {
		free(s);
		l->done(l, -ENOMEM);
		return;
	}
	buf_init(&s->in, 1 << 20);
	s->nodes[s->n_nodes++] = i;
	rig->n_live++;
	assert_int_equal(conn_want(s->conn, CONN_READ, session_ready, s), 0);
	l->done(l, 0);
}

void dn_take(struct dn_pool *p, struct dn_lease *l, const struct hdfs_node *node, bool fresh)
{
	l->info = (struct dn_info *)(uintptr_t)(node->xfer_port - 1000u);
	timer_init(&l->dial.timer, rig->loop, connect_late);
	rig_timer_set(&l->dial.timer, loop_now(rig->loop) + 1 + rig_below(rig, NS_PER_MS));
}

void dn_cancel(struct dn_lease *l)
{
	timer_clear(&l->dial.timer);
}

void dn_give(struct dn_lease *l, bool clean)
{
	conn_close(TAKE(l->conn));
}

struct dn_info *dn_info_of(struct dn_pool *p, const struct hdfs_node *node)
{
	return NULL;
}

void dn_failed(struct dn_pool *p, struct dn_info *info)
{
}

