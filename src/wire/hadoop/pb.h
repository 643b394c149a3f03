/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers by hand, for what is read or written so often that generated code would be most of its cost: packet
 * headers, file statuses and listings, response headers. Everything else uses the messages that protoc-c makes of
 * hadoop.proto.
 *
 *	struct pb p = pb_of(bytes, n);
 *	while (pb_next(&p))
 *		switch (pb_tag(&p)) {
 *		case PB_TAG(1, PB_VARINT): length = p.value; break;
 *		case PB_TAG(2, PB_BYTES): name = p.bytes; break;
 *		}
 *	if (p.rd.bad) ..
 *
 * Unknown fields, and known ones of another type, are stepped over. Source of the encoding:
 * protobuf.dev/programming-guides/encoding.
 */
#ifndef OLDDOG_WIRE_HADOOP_PB_H
#define OLDDOG_WIRE_HADOOP_PB_H

#include "base/buf.h"
#include "base/rd.h"
#include "base/str.h"

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb {
	struct rd rd;
	uint32_t field;
	enum pb_type type;
	uint64_t value;		/* of a varint or a fixed one; 0 for bytes */
	struct str bytes;	/* in place; empty unless PB_BYTES */
};

struct pb pb_of(const void *p, size_t n);
/* The next field; false at the end, and when what follows is none (rd.bad). Groups are bad. */
bool pb_next(struct pb *p);
/* A varint of at most 10 bytes. */
uint64_t rd_varint(struct rd *r);
/* A varint-delimited message in place. */
struct str rd_delimited(struct rd *r);

#define PB_TAG(field, type) ((uint64_t)(field) << 3 | (type))

static inline uint64_t pb_tag(const struct pb *p)
{
	return PB_TAG(p->field, p->type);
}

static inline int64_t pb_zigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

size_t pb_varint_bytes(uint64_t v);
int buf_varint(struct buf *b, uint64_t v);
int buf_pb_u64(struct buf *b, uint32_t field, uint64_t v);
int buf_pb_sint(struct buf *b, uint32_t field, int64_t v);
int buf_pb_bytes(struct buf *b, uint32_t field, const void *p, size_t n);
int buf_pb_str(struct buf *b, uint32_t field, const char *s);
/* Makes what was added from b->n == at on a message: its length goes in front of it, of the second also the tag. */
int buf_delimit(struct buf *b, size_t at);
int buf_pb_delimit(struct buf *b, uint32_t field, size_t at);

#endif
