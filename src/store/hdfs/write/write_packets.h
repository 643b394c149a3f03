/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file has yet to send, and what was sent and may have to be sent again: packets as the wire has them, each in a slot
 * of memory that is used again. Bounded: when all slots are full, nothing more is taken. No I/O.
 *
 * A block is data packets and one empty last packet. Packets begin where a chunk begins (of an appended block: where its
 * last chunk ends, and then they hold no more than the rest of that chunk); a chunk that was flushed half full is in the next
 * packet again, whole.
 */
#ifndef OLDDOG_STORE_HDFS_WRITE_WRITE_PACKETS_H
#define OLDDOG_STORE_HDFS_WRITE_WRITE_PACKETS_H

#include "base/list.h"
#include "wire/hadoop/crc.h"
#include "wire/hadoop/packet.h"

#define PACKETS_MEMORY (8u << 20)	/* of one file, in slots */
#define PACKETS_MIN_SLOTS 4u

struct slot {
	struct list list;
	struct packet packet;
	uint32_t n_fresh;	/* of n_data: the others were sent before, in a chunk that was flushed half full */
	uint8_t *data;		/* in bytes[]; sums and head stand right before it, once the packet is finished */
	uint8_t *head;		/* of a finished one: where what is sent begins, n_wire bytes */
	size_t n_wire;
	uint8_t bytes[];
};

struct packets {
	/* Set by packets_init(). */
	enum crc_kind kind;
	uint32_t bytes_per_sum, max_data;
	uint64_t block_bytes;
	/* Read by the user. */
	struct list to_send, sent;	/* finished ones, in order */
	uint64_t at;			/* in the block that is being filled: where the next byte goes */
	bool sync_last;			/* last packets are to be synced: the file was, once */
	/* Its own. */
	struct list free;
	unsigned n_slots, max_slots;
	struct slot *filling;		/* not in a list; NULL: none */
	uint8_t *tail;			/* of the chunk that was flushed half full; bytes_per_sum of room */
	uint32_t n_tail;
	int64_t seqno;			/* of the next packet */
};

/*
 * at: where the first byte goes, in a block that has bytes already; 0 of a new one. -ENOMEM; -EINVAL when bytes_per_sum is 0,
 * above 1 MiB, or no divisor of block_bytes.
 */
int packets_init(struct packets *q, enum crc_kind kind, uint32_t bytes_per_sum, uint32_t packet_bytes, uint64_t block_bytes,
	uint64_t at);
void packets_release(struct packets *q);
/* Takes up to n bytes; how many, 0 when there is no room, -ENOMEM. A block that gets full is ended. */
int64_t packets_put(struct packets *q, const void *p, uint64_t n);
/*
 * What was put becomes a packet; with sync it is to be on disk, and then there is one even when nothing is new. 1 and the
 * number to wait for; 0: nothing is to be waited for (or a number, when something is under way). -EAGAIN: no room now.
 */
int packets_flush(struct packets *q, bool sync, int64_t *ret_seqno);
/* Ends the block that is being filled; nothing when no block is. -EAGAIN: no room now. */
int packets_end(struct packets *q);
/* The first to send was sent. */
void packets_were_sent(struct packets *q);
/* The first that was sent is acknowledged; its slot is free again. */
void packets_were_acked(struct packets *q);
/* All that was sent is to be sent again. */
void packets_replay(struct packets *q);

static inline struct slot *packets_first(const struct list *l)
{
	return list_empty(l) ? NULL : container_of(l->next, struct slot, list);
}

#endif
