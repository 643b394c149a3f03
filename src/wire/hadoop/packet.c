/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hadoop/packet.h"

#include <endian.h>
#include <string.h>

#include "base/err.h"
#include "wire/hadoop/pb.h"

#define DELIMITED_MAX (1u << 20)
#define DELIMITED_MAX_LENGTH_BYTES 5u	/* one more than it needs: some writers pad */

int transfer_put_op(struct buf *b, enum transfer_op op, const void *message, size_t n)
{
	const uint8_t head[] = {0, TRANSFER_VERSION, (uint8_t)op};

	buf_add(b, head, sizeof(head));
	buf_varint(b, n);
	return buf_add(b, message, n);
}

int64_t transfer_delimited(const void *p, size_t n, struct str *ret)
{
	const uint8_t *at = p;
	uint64_t length = 0;
	size_t i = 0;

	for (; i < n && i < DELIMITED_MAX_LENGTH_BYTES; i++) {
		length |= (uint64_t)(at[i] & 0x7f) << (7 * i);
		if (at[i] < 0x80)
			break;
	}
	if (i == DELIMITED_MAX_LENGTH_BYTES || length > DELIMITED_MAX)
		return E_PROTOCOL;
	if (i == n || length > n - i - 1)
		return 0;
	*ret = (struct str){(const char *)at + i + 1, (size_t)length};
	return (int64_t)(i + 1 + length);
}

/* The message in the head, without checking it against the frame. */
static int header_parse(const void *p, size_t n, struct packet *ret)
{
	enum { HAS_OFFSET = 1, HAS_SEQNO = 2, HAS_LAST = 4, HAS_LENGTH = 8, HAS_ALL = 15 };
	struct pb pb = pb_of(p, n);
	unsigned has = 0;

	while (pb_next(&pb))
		switch (pb_tag(&pb)) {
		case PB_TAG(1, PB_FIXED64):
			ret->offset = pb.value;
			has |= HAS_OFFSET;
			break;
		case PB_TAG(2, PB_FIXED64):
			ret->seqno = (int64_t)pb.value;
			has |= HAS_SEQNO;
			break;
		case PB_TAG(3, PB_VARINT):
			ret->last = pb.value != 0;
			has |= HAS_LAST;
			break;
		case PB_TAG(4, PB_FIXED32):
			ret->n_data = (uint32_t)pb.value;
			has |= HAS_LENGTH;
			break;
		case PB_TAG(5, PB_VARINT):
			ret->sync = pb.value != 0;
			break;
		}
	return pb.rd.bad || has != HAS_ALL ? E_PROTOCOL : 0;
}

int packet_parse(const void *p, size_t n, struct packet *ret)
{
	struct rd r = rd_of(p, n);
	uint32_t n_frame = rd_be32(&r), n_header = rd_be16(&r);
	struct packet pk = {.n_head = PACKET_LENGTHS + n_header};
	const uint8_t *header;
	int e;

	if (r.bad)
		return 0;
	if (n_frame < sizeof(n_frame) || n_frame > PACKET_MAX || n_header > PACKET_HEADER_MAX)
		return E_PROTOCOL;
	header = rd_bytes(&r, n_header);
	if (!header)
		return 0;
	e = header_parse(header, n_header, &pk);
	if (e < 0)
		return e;
	n_frame -= (uint32_t)sizeof(n_frame);
	if (pk.n_data > n_frame || pk.offset > INT64_MAX - PACKET_MAX || (pk.last && pk.n_data > 0))
		return E_PROTOCOL;
	pk.n_sums = n_frame - pk.n_data;
	if (pk.n_sums % sizeof(uint32_t))
		return E_PROTOCOL;
	*ret = pk;
	return (int)pk.n_head;
}

static uint8_t *put_fixed(uint8_t *at, uint32_t field, enum pb_type type, uint64_t v)
{
	size_t n = type == PB_FIXED64 ? 8 : type == PB_FIXED32 ? 4 : 1;

	*at++ = (uint8_t)PB_TAG(field, type);
	for (size_t i = 0; i < n; i++)
		*at++ = (uint8_t)(v >> (8 * i));
	return at;
}

unsigned packet_put(const struct packet *pk, uint8_t out[PACKET_LENGTHS + PACKET_HEADER_MAX])
{
	uint8_t *at = out + PACKET_LENGTHS;
	uint32_t n_frame = htobe32((uint32_t)sizeof(n_frame) + pk->n_sums + pk->n_data);
	uint16_t n_header;

	at = put_fixed(at, 1, PB_FIXED64, pk->offset);
	at = put_fixed(at, 2, PB_FIXED64, (uint64_t)pk->seqno);
	at = put_fixed(at, 3, PB_VARINT, pk->last);
	at = put_fixed(at, 4, PB_FIXED32, pk->n_data);
	if (pk->sync)
		at = put_fixed(at, 5, PB_VARINT, 1);
	n_header = htobe16((uint16_t)(at - out - PACKET_LENGTHS));
	memcpy(out, &n_frame, sizeof(n_frame));
	memcpy(out + sizeof(n_frame), &n_header, sizeof(n_header));
	return (unsigned)(at - out);
}
