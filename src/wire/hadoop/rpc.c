/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hadoop/rpc.h"

#include <endian.h>
#include <string.h>

#include "base/err.h"
#include "wire/hadoop/pb.h"

enum { RPC_VERSION = 9, KIND_PROTOCOL_BUFFER = 2, OP_FINAL_PACKET = 0, PROTOCOL_VERSION = 1 };

/* The frame's length, which frame_end() fills in. */
static size_t frame_begin(struct buf *b)
{
	size_t at = b->n;

	buf_u32(b, 0);
	return at;
}

static int frame_end(struct buf *b, size_t at)
{
	uint32_t n;

	if (b->r < 0)
		return b->r;
	n = htobe32((uint32_t)(b->n - at - sizeof(n)));
	memcpy(b->ptr + at, &n, sizeof(n));
	return 0;
}

static void put_header(struct buf *b, const struct rpc_head *head)
{
	size_t at = b->n, context;

	buf_pb_u64(b, 1, KIND_PROTOCOL_BUFFER);
	buf_pb_u64(b, 2, OP_FINAL_PACKET);
	buf_pb_sint(b, 3, head->call_id);
	buf_pb_bytes(b, 4, head->client_id, RPC_CLIENT_ID_BYTES);
	buf_pb_sint(b, 5, head->retry);
	if (head->caller_context) {
		context = b->n;
		buf_pb_str(b, 1, head->caller_context);
		buf_pb_delimit(b, 7, context);
	}
	if (head->state_id)
		buf_pb_u64(b, 8, (uint64_t)*head->state_id);
	buf_delimit(b, at);
}

int rpc_put_context(struct buf *b, const uint8_t *client_id, const char *protocol, const char *effective_user,
	const char *real_user)
{
	struct rpc_head head = {.client_id = client_id, .call_id = RPC_CALL_CONTEXT, .retry = -1};
	size_t frame = frame_begin(b), at, user;

	put_header(b, &head);
	at = user = b->n;
	buf_pb_str(b, 1, effective_user);
	if (real_user)
		buf_pb_str(b, 2, real_user);
	buf_pb_delimit(b, 2, user);
	buf_pb_str(b, 3, protocol);
	buf_delimit(b, at);
	return frame_end(b, frame);
}

int rpc_put_open(struct buf *b, enum rpc_auth auth, const uint8_t *client_id, const char *protocol,
	const char *effective_user, const char *real_user)
{
	const uint8_t preamble[] = {'h', 'r', 'p', 'c', RPC_VERSION, 0, (uint8_t)auth};

	buf_add(b, preamble, sizeof(preamble));
	if (auth != RPC_AUTH_SIMPLE)
		return b->r;
	return rpc_put_context(b, client_id, protocol, effective_user, real_user);
}

int rpc_put_call(struct buf *b, const struct rpc_head *head, const char *protocol, const char *method, const void *body,
	size_t n)
{
	size_t frame = frame_begin(b), at;

	put_header(b, head);
	at = b->n;
	buf_pb_str(b, 1, method);
	buf_pb_str(b, 2, protocol);
	buf_pb_u64(b, 3, PROTOCOL_VERSION);
	buf_delimit(b, at);
	buf_varint(b, n);
	buf_add(b, body, n);
	return frame_end(b, frame);
}

int rpc_put_ping(struct buf *b, const uint8_t *client_id)
{
	struct rpc_head head = {.client_id = client_id, .call_id = RPC_CALL_PING, .retry = -1};
	size_t frame = frame_begin(b);

	put_header(b, &head);
	return frame_end(b, frame);
}

int64_t rpc_frame_bytes(const void *p, size_t n)
{
	struct rd r = rd_of(p, n);
	uint32_t length = rd_be32(&r);

	if (r.bad)
		return 0;
	return length > RPC_MAX_FRAME ? E_PROTOCOL : (int64_t)length + (int64_t)sizeof(length);
}

static int header_parse(struct str header, struct rpc_answer *ret)
{
	enum { HAS_CALL = 1, HAS_STATUS = 2 };
	struct pb p = pb_of(header.p, header.n);
	uint64_t status = UINT64_MAX;
	unsigned has = 0;

	while (pb_next(&p))
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_VARINT):
			ret->call_id = (int32_t)(uint32_t)p.value;
			has |= HAS_CALL;
			break;
		case PB_TAG(2, PB_VARINT):
			status = p.value;
			has |= HAS_STATUS;
			break;
		case PB_TAG(4, PB_BYTES):
			ret->exception = p.bytes;
			break;
		case PB_TAG(5, PB_BYTES):
			ret->words = p.bytes;
			break;
		case PB_TAG(6, PB_VARINT):
			ret->detail = (uint32_t)p.value;
			break;
		case PB_TAG(9, PB_VARINT):
			ret->has_state_id = true;
			ret->state_id = (int64_t)p.value;
			break;
		}
	if (p.rd.bad || has != (HAS_CALL | HAS_STATUS) || status > RPC_FATAL)
		return E_PROTOCOL;
	ret->status = (enum rpc_status)status;
	return 0;
}

int rpc_parse(const void *frame, size_t n, struct rpc_answer *ret)
{
	struct rd r = rd_of(frame, n);
	struct rpc_answer answer = {.exception = {"", 0}, .words = {"", 0}, .body = {"", 0}};
	int e = header_parse(rd_delimited(&r), &answer);

	if (e < 0)
		return e;
	if (answer.status == RPC_SUCCESS)
		answer.body = rd_delimited(&r);
	if (r.bad || rd_left(&r) > 0)
		return E_PROTOCOL;
	*ret = answer;
	return 0;
}
