/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hadoop/pb.h"

#include <string.h>

#include "base/err.h"

#define VARINT_MAX 10u

struct pb pb_of(const void *p, size_t n)
{
	return (struct pb){.rd = rd_of(p, n)};
}

static uint64_t varint_long(struct rd *r)
{
	size_t n = rd_left(r) < VARINT_MAX ? rd_left(r) : VARINT_MAX;
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		/* Bits past 64 go nowhere, as in every decoder of the format. */
		v |= (uint64_t)(r->at[i] & 0x7f) << (7 * i);
		if (r->at[i] < 0x80) {
			r->at += i + 1;
			return v;
		}
	}
	r->bad = true;
	r->at = r->end;
	return 0;
}

/* Nearly all tags, and most numbers, are of one byte. */
static inline uint64_t varint(struct rd *r)
{
	if (r->at < r->end && *r->at < 0x80)
		return *r->at++;
	return varint_long(r);
}

uint64_t rd_varint(struct rd *r)
{
	return varint(r);
}

static struct str delimited(struct rd *r)
{
	uint64_t n = varint(r);
	struct str s = {(const char *)r->at, (size_t)n};

	if (n > rd_left(r)) {
		r->bad = true;
		r->at = r->end;
	}
	if (r->bad)
		return (struct str){0};
	if (n)
		r->at += n;
	return s;
}

struct str rd_delimited(struct rd *r)
{
	return delimited(r);
}

bool pb_next(struct pb *p)
{
	uint64_t tag;

	if (p->rd.bad || p->rd.at == p->rd.end)
		return false;
	tag = varint(&p->rd);
	p->field = (uint32_t)(tag >> 3);
	p->type = (enum pb_type)(tag & 7);
	p->value = 0;
	p->bytes = (struct str){0};
	switch (tag & 7) {
	case PB_VARINT:
		p->value = varint(&p->rd);
		break;
	case PB_BYTES:
		p->bytes = delimited(&p->rd);
		break;
	case PB_FIXED64:
		p->value = rd_u64(&p->rd);
		break;
	case PB_FIXED32:
		p->value = rd_u32(&p->rd);
		break;
	default:
		p->rd.bad = true;
	}
	if (p->field == 0 || tag > UINT32_MAX)
		p->rd.bad = true;
	return !p->rd.bad;
}

size_t pb_varint_bytes(uint64_t v)
{
	size_t n = 1;

	for (; v >= 0x80; v >>= 7)
		n++;
	return n;
}

static size_t varint_put(uint8_t out[VARINT_MAX], uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)v | 0x80;
	out[n++] = (uint8_t)v;
	return n;
}

int buf_varint(struct buf *b, uint64_t v)
{
	uint8_t bytes[VARINT_MAX];

	return buf_add(b, bytes, varint_put(bytes, v));
}

static int buf_tag(struct buf *b, uint32_t field, enum pb_type type)
{
	return buf_varint(b, (uint64_t)field << 3 | type);
}

int buf_pb_u64(struct buf *b, uint32_t field, uint64_t v)
{
	buf_tag(b, field, PB_VARINT);
	return buf_varint(b, v);
}

int buf_pb_sint(struct buf *b, uint32_t field, int64_t v)
{
	return buf_pb_u64(b, field, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

int buf_pb_bytes(struct buf *b, uint32_t field, const void *p, size_t n)
{
	buf_tag(b, field, PB_BYTES);
	buf_varint(b, n);
	return buf_add(b, p, n);
}

int buf_pb_str(struct buf *b, uint32_t field, const char *s)
{
	return buf_pb_bytes(b, field, s, strlen(s));
}

/* Moves what lies from `at` on behind the n bytes of head. */
static int buf_insert(struct buf *b, size_t at, const uint8_t *head, size_t n)
{
	size_t n_behind;

	if (b->r < 0)
		return b->r;
	n_behind = b->n - at;
	if (!buf_grow(b, n))
		return b->r;
	memmove(b->ptr + at + n, b->ptr + at, n_behind);
	memcpy(b->ptr + at, head, n);
	return 0;
}

int buf_delimit(struct buf *b, size_t at)
{
	uint8_t head[VARINT_MAX];

	return buf_insert(b, at, head, varint_put(head, b->n - at));
}

int buf_pb_delimit(struct buf *b, uint32_t field, size_t at)
{
	uint8_t head[2 * VARINT_MAX];
	size_t n = varint_put(head, (uint64_t)field << 3 | PB_BYTES);

	n += varint_put(head + n, b->n - at);
	return buf_insert(b, at, head, n);
}
