/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/write_packets.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MAX_CHUNK (1u << 20)
#define HEAD_ROOM (PACKET_LENGTHS + PACKET_HEADER_MAX)
/* What Java takes for the header when it reckons how many chunks fit. */
#define HEAD_BYTES 33u

static uint32_t chunks_of(const struct packets *q, uint32_t n)
{
	return (n + q->bytes_per_sum - 1) / q->bytes_per_sum;
}

static uint32_t sum_bytes(const struct packets *q, uint32_t n_data)
{
	return q->kind == CRC_NONE ? 0 : 4 * chunks_of(q, n_data);
}

/* Where the chunk begins that q->at lies in; at a boundary: there. */
static uint32_t in_chunk(const struct packets *q, uint64_t at)
{
	return (uint32_t)(at % q->bytes_per_sum);
}

int packets_init(struct packets *q, enum crc_kind kind, uint32_t bytes_per_sum, uint32_t packet_bytes, uint64_t block_bytes,
	uint64_t at)
{
	uint32_t room = packet_bytes > HEAD_BYTES ? MIN(packet_bytes, PACKET_MAX / 2) - HEAD_BYTES : 0, n_chunks;

	*q = (struct packets){.kind = kind, .bytes_per_sum = bytes_per_sum, .block_bytes = block_bytes, .at = at};
	list_init(&q->to_send);
	list_init(&q->sent);
	list_init(&q->free);
	if (!bytes_per_sum || bytes_per_sum > MAX_CHUNK || !block_bytes || block_bytes % bytes_per_sum || at >= block_bytes)
		return -EINVAL;
	n_chunks = MAX(room / (bytes_per_sum + 4), 1u);
	q->max_data = n_chunks * bytes_per_sum;
	q->max_slots = MAX(PACKETS_MEMORY / (q->max_data + 4 * n_chunks), PACKETS_MIN_SLOTS);
	q->tail = mem_alloc(bytes_per_sum);
	return q->tail ? 0 : -ENOMEM;
}

static void slots_free(struct list *l)
{
	for (struct list *e = list_pop(l); e; e = list_pop(l))
		mem_free(container_of(e, struct slot, list));
}

void packets_release(struct packets *q)
{
	slots_free(&q->to_send);
	slots_free(&q->sent);
	slots_free(&q->free);
	mem_free(TAKE(q->filling));
	mem_free(TAKE(q->tail));
}

static struct slot *slot_new(struct packets *q)
{
	uint32_t head = HEAD_ROOM + sum_bytes(q, q->max_data);
	struct slot *s = mem_alloc(sizeof(*s) + head + q->max_data);

	if (!s)
		return NULL;
	*s = (struct slot){.data = s->bytes + head};
	list_init(&s->list);
	q->n_slots++;
	return s;
}

/* A slot for what begins at q->at, the chunk's bytes that were flushed before in it. 1, 0: all are full, -ENOMEM. */
static int fill_begin(struct packets *q)
{
	struct list *e = list_pop(&q->free);
	struct slot *s = e ? container_of(e, struct slot, list) : NULL;

	if (!s && q->n_slots >= q->max_slots)
		return 0;
	if (!s)
		s = slot_new(q);
	if (!s)
		return -ENOMEM;
	s->packet = (struct packet){.offset = q->at - q->n_tail, .n_data = q->n_tail};
	s->n_fresh = 0;
	memcpy(s->data, q->tail, q->n_tail);
	q->n_tail = 0;
	q->filling = s;
	return 1;
}

/* How much data the packet that is being filled may hold. */
static uint32_t fill_max(const struct packets *q)
{
	uint64_t offset = q->filling->packet.offset;
	uint32_t start = in_chunk(q, offset);

	if (start)
		return q->bytes_per_sum - start;
	return (uint32_t)MIN((uint64_t)q->max_data, q->block_bytes - offset);
}

/* Sums and head go right before the data: one run of bytes to send. */
static void finish(struct packets *q, bool sync, bool last)
{
	struct slot *s = TAKE(q->filling);
	uint8_t head[HEAD_ROOM];
	unsigned n;

	s->packet.n_sums = sum_bytes(q, s->packet.n_data);
	s->packet.sync = sync;
	s->packet.last = last;
	s->packet.seqno = q->seqno++;
	crc_fill(q->kind, q->bytes_per_sum, s->data, s->packet.n_data, s->data - s->packet.n_sums);
	n = packet_put(&s->packet, head);
	s->head = s->data - s->packet.n_sums - n;
	memcpy(s->head, head, n);
	s->n_wire = n + s->packet.n_sums + s->packet.n_data;
	list_add(&q->to_send, &s->list);
}

/* An unfinished packet with nothing new in it goes back. */
static void unfill(struct packets *q)
{
	struct slot *s = TAKE(q->filling);

	assert(s->n_fresh == 0);
	q->n_tail = s->packet.n_data;
	memcpy(q->tail, s->data, q->n_tail);
	list_add(&q->free, &s->list);
}

int packets_end(struct packets *q)
{
	int r;

	if (q->filling && q->filling->n_fresh)
		finish(q, false, false);
	else if (q->filling)
		unfill(q);
	if (q->at == 0)
		return 0;
	q->n_tail = 0;
	r = fill_begin(q);
	if (r <= 0)
		return r < 0 ? r : -EAGAIN;
	finish(q, q->sync_last, true);
	q->at = 0;
	return 0;
}

/* Bytes into the packet that is being filled, which is finished when it is full. */
static uint64_t fill(struct packets *q, const void *p, uint64_t n)
{
	struct slot *s = q->filling;
	uint32_t max = fill_max(q), part = (uint32_t)MIN(n, (uint64_t)(max - s->packet.n_data));

	memcpy(s->data + s->packet.n_data, p, part);
	s->packet.n_data += part;
	s->n_fresh += part;
	q->at += part;
	if (s->packet.n_data == max)
		finish(q, false, false);
	return part;
}

int64_t packets_put(struct packets *q, const void *p, uint64_t n)
{
	uint64_t done = 0;
	int r = 0;

	while (done < n) {
		if (q->at == q->block_bytes) {
			r = packets_end(q);
			if (r < 0)
				break;
		}
		if (!q->filling) {
			r = fill_begin(q);
			if (r <= 0)
				break;
		}
		done += fill(q, (const uint8_t *)p + done, n - done);
	}
	return done || r >= 0 || r == -EAGAIN ? (int64_t)done : r;
}

/* The chunk that is not full yet goes into the next packet too, from its beginning: so DataNodes need not read it back. */
static void keep_tail(struct packets *q, const struct slot *s)
{
	uint32_t start = in_chunk(q, s->packet.offset), n = in_chunk(q, q->at);

	if (start && s->packet.offset / q->bytes_per_sum == q->at / q->bytes_per_sum)
		n -= start;
	q->n_tail = n;
	memcpy(q->tail, s->data + s->packet.n_data - n, n);
}

int packets_flush(struct packets *q, bool sync, int64_t *ret_seqno)
{
	struct slot *s;
	int r;

	if (!q->filling && sync && q->at > 0) {
		r = fill_begin(q);
		if (r <= 0)
			return r < 0 ? r : -EAGAIN;
	}
	s = q->filling;
	if (s && !s->n_fresh && !sync) {
		unfill(q);
	} else if (s) {
		finish(q, sync, false);
		if (s->packet.n_data)
			keep_tail(q, s);
	}
	q->sync_last |= sync;
	*ret_seqno = q->seqno - 1;
	return !list_empty(&q->to_send) || !list_empty(&q->sent);
}

void packets_were_sent(struct packets *q)
{
	list_add(&q->sent, list_pop(&q->to_send));
}

void packets_were_acked(struct packets *q)
{
	list_add(&q->free, list_pop(&q->sent));
}

/* In front of the others, in their order. */
void packets_replay(struct packets *q)
{
	while (!list_empty(&q->sent)) {
		struct list *e = q->sent.prev;

		list_del(e);
		list_add(q->to_send.next, e);
	}
}
