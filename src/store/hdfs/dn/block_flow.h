/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a DataNode sends for one READ_BLOCK, without I/O: where the next bytes are to be received, and what they were.
 * Packets are foretold (64 KiB each, until one of the node's differs), so that one call receives several, each byte of the
 * file straight where it belongs; what comes otherwise than foretold is moved. A chunk's bytes count when its checksum was
 * right.
 */
#ifndef OLDDOG_STORE_HDFS_DN_BLOCK_FLOW_H
#define OLDDOG_STORE_HDFS_DN_BLOCK_FLOW_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/hadoop/crc.h"
#include "wire/hadoop/packet.h"

#define BLOCK_MAX_CHUNK (1u << 20)	/* bytes under one checksum; more is E_PROTOCOL */
#define FLOW_MAX_IOV 128u
#define FLOW_RECV_BYTES (512u << 10)	/* of one layout: what is verified while it is still in the cache */
#define FLOW_MAX_ANSWER 65536u
#define FLOW_SINK_BYTES (64u << 10)
#define FLOW_META_BYTES (32u << 10)
#define FLOW_USUAL_CHUNK 512u

/* A piece of the caller's memory, in the order of the block's bytes. buf NULL: bytes that nobody wants. */
struct block_seg {
	uint8_t *buf;
	uint64_t n;
};

enum flow_phase { FLOW_ANSWER, FLOW_HEAD, FLOW_SUMS, FLOW_DATA, FLOW_END };

struct block_flow {
	/* Set by flow_init(). */
	uint64_t offset, length;	/* what was asked for, in the block */
	const struct block_seg *segs;
	unsigned n_segs;
	/* Results. */
	uint64_t n_done;		/* bytes from offset on that are right */
	struct err err;			/* words, when something was wrong */
	/* Its own. */
	enum flow_phase phase;
	struct buf answer, sums;
	uint8_t head[PACKET_LENGTHS + PACKET_HEADER_MAX];
	unsigned n_head;		/* of the bytes of this packet's head that are there */
	enum crc_kind kind;
	uint32_t chunk_bytes;
	int64_t seqno;			/* of the next packet */
	struct packet packet;
	uint64_t pos;			/* in the block, of the next byte of data */
	uint32_t data_left;		/* of the packet */
	uint32_t chunk_have, chunk_crc, chunk_index;
	unsigned seg;			/* the one that pos is in, and how far */
	uint64_t seg_at;
	uint32_t usual_head, usual_data;	/* what is foretold */
	uint8_t *scratch;		/* heads and checksums, then what nobody wants */
	unsigned n_iov;
	struct iovec iov[FLOW_MAX_IOV];
	bool is_data[FLOW_MAX_IOV];
};

int flow_init(struct block_flow *f, uint64_t offset, uint64_t length, const struct block_seg *segs, unsigned n_segs);
void flow_release(struct block_flow *f);
/* Fills f->iov and f->n_iov: at least one byte, unless the flow is at its end. In block_layout.c. */
void flow_layout(struct block_flow *f);
/*
 * n bytes were received there. 1: the end, all is right. 0: more is to come. E_PROTOCOL, -EBADMSG (a checksum),
 * -EACCES (the token), -EREMOTEIO (the node says no), -ENODATA (its replica is shorter), -ENOMEM.
 */
int flow_took(struct block_flow *f, size_t n);

/* For block_layout.c. Where data of the node's ends at the latest: with the chunk of the last byte that was asked for. */
uint64_t flow_end(const struct block_flow *f);
/* Bytes of the checksums of so many of data. */
uint32_t flow_sums(const struct block_flow *f, uint64_t n_data);

#endif
