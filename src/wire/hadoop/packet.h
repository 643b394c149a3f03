/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data transfer, version 28: what opens an operation, its answer's frame, and packets. Packet headers are by hand: their
 * numbers are fixed-width little-endian in a big-endian frame:
 *
 *	PLEN be32 = 4 + checksums + data | HLEN be16 | header | checksums, be32 each | data
 */
#ifndef OLDDOG_WIRE_HADOOP_PACKET_H
#define OLDDOG_WIRE_HADOOP_PACKET_H

#include "base/buf.h"
#include "base/str.h"

#define TRANSFER_VERSION 28
#define PACKET_LENGTHS 6u		/* PLEN and HLEN */
#define PACKET_HEADER_MAX 64u		/* HLEN: 25 or 27 of today's; a longer one is E_PROTOCOL */
#define PACKET_MAX (16u << 20)		/* PLEN; PacketReceiver's own limit */
#define PACKET_HEARTBEAT (-1)

enum transfer_op {
	TRANSFER_WRITE_BLOCK = 80, TRANSFER_READ_BLOCK = 81, TRANSFER_BLOCK_CHECKSUM = 85, TRANSFER_TRANSFER_BLOCK = 86,
	TRANSFER_SHORT_CIRCUIT_FDS = 87,
};

/* Version, operation, and the delimited message (serialised by the caller). */
int transfer_put_op(struct buf *b, enum transfer_op op, const void *message, size_t n);
/*
 * The delimited message at p: its bytes with the length in front, and where it lies. 0: more bytes are needed.
 * E_PROTOCOL when it is longer than 1 MiB.
 */
int64_t transfer_delimited(const void *p, size_t n, struct str *ret);

struct packet {
	uint64_t offset;	/* in the block */
	int64_t seqno;
	uint32_t n_data, n_sums;	/* bytes */
	uint32_t n_head;	/* bytes before the checksums */
	bool last, sync;
};

/* Bytes of the head at p when all of it is there, 0 while it is not, E_PROTOCOL. */
int packet_parse(const void *p, size_t n, struct packet *ret);
/* Writes the head of pk (n_data, n_sums, offset, seqno, last, sync) to out; its bytes. */
unsigned packet_put(const struct packet *pk, uint8_t out[PACKET_LENGTHS + PACKET_HEADER_MAX]);

#endif
