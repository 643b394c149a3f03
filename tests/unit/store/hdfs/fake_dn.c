/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_dn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "wire/hadoop/packet.h"
#include "wire/hadoop/pb.h"

#define IN_MAX (1u << 20)
#define OUT_MAX (64u << 20)

struct fake_dn {
	struct loop *loop;
	struct fake_net *net;
	char host[64];
	uint16_t port;
	enum crc_kind kind;
	uint32_t chunk_bytes, packet_bytes;
	struct fake_replica replicas[FAKE_DN_MAX_REPLICAS];
	unsigned n_replicas, n_reads, n_ended;
	bool stopped;
	struct list links;
};

struct link {
	struct fake_dn *dn;
	struct conn *conn;
	struct list list;
	struct buf in, out;
	size_t out_at;
	bool in_read;		/* packets were sent: the reader's status is to come */
};

static void link_close(struct link *l)
{
	list_del(&l->list);
	conn_close(l->conn);
	buf_release(&l->in);
	buf_release(&l->out);
	free(l);
}

static struct fake_replica *find(struct fake_dn *dn, uint64_t id)
{
	for (unsigned i = 0; i < dn->n_replicas; i++)
		if (dn->replicas[i].id == id)
			return &dn->replicas[i];
	return NULL;
}

static struct pb field_of(struct pb p, uint32_t field)
{
	struct pb found = pb_of(NULL, 0);

	while (pb_next(&p))
		if (p.field == field)
			found = pb_of(p.bytes.p, p.bytes.n);
	return found;
}

static uint64_t number_of(struct pb p, uint32_t field)
{
	uint64_t found = 0;

	while (pb_next(&p))
		if (p.field == field)
			found = p.value;
	return found;
}

static void put_delimited(struct buf *b, const struct buf *m)
{
	buf_varint(b, m->n);
	buf_add(b, m->ptr, m->n);
}

static void put_refusal(struct link *l, const char *words)
{
	AUTO_BUF struct buf m;

	buf_init(&m, 1000);
	buf_pb_u64(&m, 1, 1);
	buf_pb_str(&m, 5, words);
	put_delimited(&l->out, &m);
}

static void put_answer(struct link *l, uint64_t offset)
{
	AUTO_BUF struct buf sum, info, m;

	buf_init(&sum, 1000);
	buf_init(&info, 1000);
	buf_init(&m, 1000);
	buf_pb_u64(&sum, 1, l->dn->kind);
	buf_pb_u64(&sum, 2, l->dn->chunk_bytes);
	buf_pb_bytes(&info, 1, sum.ptr, sum.n);
	buf_pb_u64(&info, 2, offset);
	buf_pb_u64(&m, 1, 0);
	buf_pb_bytes(&m, 4, info.ptr, info.n);
	put_delimited(&l->out, &m);
}

static void put_packet(struct link *l, const struct fake_replica *r, uint64_t at, uint32_t n, int64_t seqno)
{
	uint8_t head[PACKET_LENGTHS + PACKET_HEADER_MAX];
	uint32_t chunk = l->dn->chunk_bytes, n_sums = l->dn->kind == CRC_NONE ? 0 : (n + chunk - 1) / chunk * 4;
	struct packet pk = {.offset = at, .seqno = seqno, .n_data = n, .n_sums = n_sums, .last = n == 0};

	uint8_t *sums;

	buf_add(&l->out, head, packet_put(&pk, head));
	sums = n_sums ? buf_grow(&l->out, n_sums) : NULL;
	if (sums)
		crc_fill(l->dn->kind, chunk, r->bytes + at, n, sums);
	/* Short of memory: the link ends. */
	if (buf_add(&l->out, r->bytes + at, n) < 0)
		return;
	if (r->bad_at >= (int64_t)at && r->bad_at < (int64_t)(at + n))
		l->out.ptr[l->out.n - n + ((uint64_t)r->bad_at - at)] ^= 0x10;
}

static void put_read(struct link *l, const struct fake_replica *r, uint64_t offset, uint64_t n)
{
	uint32_t chunk = l->dn->chunk_bytes, most = MAX(l->dn->packet_bytes / chunk * chunk, chunk);
	uint64_t at = offset / chunk * chunk, end = MIN((offset + n + chunk - 1) / chunk * chunk, r->n);
	int64_t seqno = 0;

	put_answer(l, at);
	while (at < end) {
		uint32_t part = (uint32_t)MIN(end - at, most);

		put_packet(l, r, at, part, seqno++);
		at += part;
	}
	put_packet(l, r, at, 0, seqno);
	l->in_read = true;
}

static void on_read(struct link *l, struct str message)
{
	struct pb op = pb_of(message.p, message.n);
	struct pb block = field_of(field_of(field_of(op, 1), 1), 1);
	uint64_t offset = number_of(op, 2), n = number_of(op, 3);
	struct fake_replica *r = find(l->dn, number_of(block, 2));

	l->dn->n_reads++;
	if (!r)
		put_refusal(l, "Replica not found");
	else if (offset > r->n || n > r->n - offset)
		put_refusal(l, "Offset and length don't match the block");
	else
		put_read(l, r, offset, n);
}

/* Bytes of the operation, or status, that in begins with; 0: not all of it is there. < 0: it is none. */
static int64_t on_bytes(struct link *l)
{
	struct str message;
	int64_t n;

	if (l->in_read) {
		n = transfer_delimited(l->in.ptr, l->in.n, &message);
		if (n > 0) {
			l->dn->n_ended += number_of(pb_of(message.p, message.n), 1) == 6;
			l->in_read = false;
		}
		return n;
	}
	if (l->in.n < 3)
		return 0;
	if (l->in.ptr[0] != 0 || l->in.ptr[1] != TRANSFER_VERSION || l->in.ptr[2] != TRANSFER_READ_BLOCK)
		return -1;
	n = transfer_delimited(l->in.ptr + 3, l->in.n - 3, &message);
	if (n <= 0)
		return n;
	on_read(l, message);
	return n + 3;
}

static int link_send(struct link *l)
{
	if (l->out.r < 0)
		return l->out.r;
	while (l->out_at < l->out.n) {
		ssize_t n = conn_send(l->conn, l->out.ptr + l->out_at, l->out.n - l->out_at, NULL, 0);

		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return (int)n;
		l->out_at += (size_t)n;
	}
	buf_clear(&l->out);
	l->out_at = 0;
	return 0;
}

static int link_receive(struct link *l)
{
	uint8_t bytes[4096];
	ssize_t n = conn_recv(l->conn, bytes, sizeof(bytes), NULL, NULL);
	int64_t used;

	if (n == -EAGAIN)
		return 0;
	if (n <= 0 || buf_add(&l->in, bytes, (size_t)n) < 0)
		return -EPIPE;
	while ((used = on_bytes(l)) > 0) {
		memmove(l->in.ptr, l->in.ptr + used, l->in.n - (size_t)used);
		l->in.n -= (size_t)used;
	}
	return (int)used;
}

static void link_ready(struct conn *c, unsigned can, void *ctx)
{
	struct link *l = ctx;
	int r = can & CONN_READ ? link_receive(l) : 0;

	if (r == 0)
		r = link_send(l);
	if (r < 0) {
		link_close(l);
		return;
	}
	conn_want(c, CONN_READ | (l->out_at < l->out.n ? CONN_WRITE : 0u), link_ready, l);
}

static void link_wake(struct link *l)
{
	if (l->dn->stopped)
		conn_want(l->conn, 0, NULL, NULL);
	else
		conn_want(l->conn, CONN_READ | CONN_WRITE, link_ready, l);
}

static void on_accept(void *ctx, struct conn *conn)
{
	struct fake_dn *dn = ctx;
	struct link *l = calloc(1, sizeof(*l));

	assert(l);
	l->dn = dn;
	l->conn = conn;
	buf_init(&l->in, IN_MAX);
	buf_init(&l->out, OUT_MAX);
	list_add(&dn->links, &l->list);
	link_wake(l);
}

struct fake_dn *fake_dn_new(struct loop *loop, struct fake_net *net, const char *host, uint16_t port)
{
	struct fake_dn *dn = mem_zalloc(sizeof(*dn));

	assert(dn);
	*dn = (struct fake_dn){.loop = loop, .net = net, .port = port, .kind = CRC_C, .chunk_bytes = 512,
		.packet_bytes = 65536};
	snprintf(dn->host, sizeof(dn->host), "%s", host);
	list_init(&dn->links);
	fake_net_listen(net, host, port, on_accept, dn);
	return dn;
}

static void close_all(struct fake_dn *dn)
{
	while (!list_empty(&dn->links))
		link_close(container_of(dn->links.next, struct link, list));
}

void fake_dn_free(struct fake_dn *dn)
{
	close_all(dn);
	mem_free(dn);
}

void fake_dn_how(struct fake_dn *dn, enum crc_kind kind, uint32_t chunk_bytes, uint32_t packet_bytes)
{
	dn->kind = kind;
	dn->chunk_bytes = chunk_bytes;
	dn->packet_bytes = packet_bytes;
}

void fake_dn_put(struct fake_dn *dn, const struct fake_replica *r)
{
	struct fake_replica *there = find(dn, r->id);

	assert(there || dn->n_replicas < FAKE_DN_MAX_REPLICAS);
	*(there ? there : &dn->replicas[dn->n_replicas++]) = *r;
}

void fake_dn_remove(struct fake_dn *dn, uint64_t id)
{
	struct fake_replica *r = find(dn, id);

	if (r)
		*r = dn->replicas[--dn->n_replicas];
}

void fake_dn_kill(struct fake_dn *dn)
{
	fake_net_set(dn->net, dn->host, dn->port, FAKE_REFUSES);
	close_all(dn);
}

void fake_dn_start(struct fake_dn *dn)
{
	fake_net_set(dn->net, dn->host, dn->port, FAKE_LISTENS);
}

void fake_dn_stop(struct fake_dn *dn, bool stopped)
{
	dn->stopped = stopped;
	LIST_EACH(e, &dn->links)
		link_wake(container_of(e, struct link, list));
}

unsigned fake_dn_n_reads(const struct fake_dn *dn)
{
	return dn->n_reads;
}

unsigned fake_dn_n_ended(const struct fake_dn *dn)
{
	return dn->n_ended;
}
