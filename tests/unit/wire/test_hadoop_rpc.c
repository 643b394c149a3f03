/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers by hand, RPC frames and packets: against known bytes, and against what protoc-c's code makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "wire/hadoop/message.h"
#include "wire/hadoop/packet.h"
#include "wire/hadoop/pb.h"
#include "wire/hadoop/rpc.h"

static const uint8_t client_id[RPC_CLIENT_ID_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#define ID "\0\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
#define BYTES(s) s, sizeof(s) - 1
#define AUTO_BYTES(name)                                                                                     \
	AUTO_BUF struct buf name;                                                                            \
	buf_init(&name, 1 << 20)

static void assert_bytes(const struct buf *b, const char *p, size_t n)
{
	assert_int_equal(b->r, 0);
	assert_int_equal(b->n, n);
	assert_memory_equal(b->ptr, p, n);
}

static void varints_go_there_and_back(void **state)
{
	static const uint64_t values[] = {0, 1, 127, 128, 300, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};

	for (unsigned i = 0; i < N_ELEMS(values); i++) {
		AUTO_BYTES(b);
		struct rd r;

		buf_varint(&b, values[i]);
		assert_int_equal(b.n, pb_varint_bytes(values[i]));
		r = rd_of(b.ptr, b.n);
		assert_true(rd_varint(&r) == values[i] && !r.bad && rd_left(&r) == 0);
		for (size_t n = 0; n < b.n; n++) {
			r = rd_of(b.ptr, n);
			assert_true(rd_varint(&r) == 0 && r.bad);
		}
	}
}

static void a_varint_has_ten_bytes_at_most(void **state)
{
	struct rd r = rd_of(BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));

	assert_true(rd_varint(&r) == 0 && r.bad);
	r = rd_of(BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
	assert_true(rd_varint(&r) == UINT64_MAX && !r.bad);
	r = rd_of(BYTES("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"));
	assert_true(rd_varint(&r) == 0 && !r.bad);
}

static void zigzag_is_right_at_its_ends(void **state)
{
	static const int64_t values[] = {0, -1, 1, -33, INT64_MAX, INT64_MIN};

	for (unsigned i = 0; i < N_ELEMS(values); i++) {
		AUTO_BYTES(b);
		struct pb p;

		buf_pb_sint(&b, 3, values[i]);
		p = pb_of(b.ptr, b.n);
		assert_true(pb_next(&p) && p.field == 3 && pb_zigzag(p.value) == values[i]);
		assert_false(pb_next(&p));
		assert_false(p.rd.bad);
	}
}

static void what_is_no_field_is_bad(void **state)
{
	static const struct str wrong[] = {
		{BYTES("\x00\x01")}, {BYTES("\x0b")}, {BYTES("\x0c")}, {BYTES("\x0e")}, {BYTES("\x0f")}, {BYTES("\x0a\x02" "a")},
		{BYTES("\x08")}, {BYTES("\x09" "1234567")}, {BYTES("\x0d" "123")},
		{BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
		{BYTES("\x88\x80\x80\x80\x10\x01")},
	};

	for (unsigned i = 0; i < N_ELEMS(wrong); i++) {
		struct pb p = pb_of(wrong[i].p, wrong[i].n);

		assert_false(pb_next(&p));
		assert_true(p.rd.bad);
		assert_false(pb_next(&p));
	}
}

/* Source of these bytes: made once by another implementation, for client id 00..0f and user alice. */
static void an_opening_is_the_known_bytes(void **state)
{
	AUTO_BYTES(b);

	rpc_put_open(&b, RPC_AUTH_SIMPLE, client_id, RPC_CLIENT_PROTOCOL, "alice", NULL);
	assert_bytes(&b, BYTES("hrpc\x09\0\0" "\0\0\0\x55\x1a\x08\x02\x10\0\x18\x05\x22\x10" ID "\x28\x01"
		"\x39\x12\x07\x0a\x05" "alice" "\x1a\x2e" RPC_CLIENT_PROTOCOL));
	buf_clear(&b);
	rpc_put_open(&b, RPC_AUTH_SASL, client_id, RPC_CLIENT_PROTOCOL, "alice", NULL);
	assert_bytes(&b, BYTES("hrpc\x09\0\xdf"));
}

static void a_call_is_the_known_bytes(void **state)
{
	struct rpc_head head = {.client_id = client_id};
	AUTO_BYTES(b);

	rpc_put_call(&b, &head, RPC_CLIENT_PROTOCOL, "getFileInfo", BYTES("\x0a\x01/"));
	assert_bytes(&b, BYTES("\0\0\0\x5f\x1a\x08\x02\x10\0\x18\0\x22\x10" ID "\x28\0"
		"\x3f\x0a\x0b" "getFileInfo" "\x12\x2e" RPC_CLIENT_PROTOCOL "\x18\x01" "\x03\x0a\x01/"));
}

static void a_call_has_context_state_and_retry(void **state)
{
	int64_t state_id = INT64_MIN;
	struct rpc_head head = {.client_id = client_id, .call_id = 7, .retry = 2, .state_id = &state_id, .caller_context = "cli"};
	AUTO_BYTES(b);

	rpc_put_call(&b, &head, "p", "m", "", 0);
	assert_bytes(&b, BYTES("\0\0\0\x37\x2c\x08\x02\x10\0\x18\x0e\x22\x10" ID "\x28\x04\x3a\x05\x0a\x03" "cli"
		"\x40\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01" "\x08\x0a\x01" "m" "\x12\x01" "p" "\x18\x01" "\x00"));
}

static void a_ping_and_a_real_user_are_put(void **state)
{
	AUTO_BYTES(b);

	rpc_put_ping(&b, client_id);
	assert_bytes(&b, BYTES("\0\0\0\x1b\x1a\x08\x02\x10\0\x18\x07\x22\x10" ID "\x28\x01"));
	buf_clear(&b);
	rpc_put_context(&b, client_id, "p", "a", "b");
	assert_bytes(&b, BYTES("\0\0\0\x27\x1a\x08\x02\x10\0\x18\x05\x22\x10" ID "\x28\x01"
		"\x0b\x12\x06\x0a\x01" "a" "\x12\x01" "b" "\x1a\x01" "p"));
}

static void frames_are_told_by_their_length(void **state)
{
	assert_int_equal(rpc_frame_bytes(BYTES("\0\0\0")), 0);
	assert_int_equal(rpc_frame_bytes(BYTES("\0\0\1\0")), 260);
	assert_true(rpc_frame_bytes(BYTES("\x08\0\0\0")) == (128 << 20) + 4);
	assert_int_equal(rpc_frame_bytes(BYTES("\x08\0\0\1")), E_PROTOCOL);
	assert_int_equal(rpc_frame_bytes(BYTES("\xff\xff\xff\xff")), E_PROTOCOL);
}

/* The header says a call, a status and more than a client looks at; -33 is five bytes as an unsigned one. */
static const char success[] = "\x1a\x08\x05\x10\0\x18\x09\x3a\x10" ID "\x48\x2a" "\x02\x0a\0";
static const char failure[] = "\x19\x08\xdf\xff\xff\xff\x0f\x10\x02\x22\x03" "a.B" "\x2a\x08" "no\n\tat x" "\x30\x0f";

static void answers_are_read(void **state)
{
	struct rpc_answer a;

	assert_int_equal(rpc_parse(BYTES("\x1c\x08\x05\x10\0\x18\x09\x3a\x10" ID "\x48\x2a\x50\x01" "\x02\x0a\0"), &a), 0);
	assert_true(a.call_id == 5 && a.status == RPC_SUCCESS && a.has_state_id && a.state_id == 42);
	assert_true(a.body.n == 2 && memcmp(a.body.p, "\x0a\0", 2) == 0 && a.exception.n == 0);
	assert_int_equal(rpc_parse(BYTES(failure), &a), 0);
	assert_true(a.call_id == RPC_CALL_SASL && a.status == RPC_FATAL && a.detail == 15 && !a.has_state_id);
	assert_true(str_eq(a.exception, "a.B") && str_eq(a.words, "no\n\tat x") && a.body.n == 0);
}

static void what_is_no_answer_is_refused(void **state)
{
	struct rpc_answer a;

	for (size_t n = 0; n < sizeof(failure) - 1; n++)
		assert_int_equal(rpc_parse(failure, n, &a), E_PROTOCOL);
	assert_int_equal(rpc_parse(failure, sizeof(failure), &a), E_PROTOCOL);	/* a byte too many */
	assert_int_equal(rpc_parse(BYTES("\x02\x08\x05"), &a), E_PROTOCOL);	/* no status */
	assert_int_equal(rpc_parse(BYTES("\x04\x08\x05\x10\x03"), &a), E_PROTOCOL);
	assert_int_equal(rpc_parse(BYTES("\x04\x08\x05\x10\x00"), &a), E_PROTOCOL);	/* success without a message */
	assert_int_equal(rpc_parse(BYTES("\x04\x08\x05\x10\x00\x00"), &a), 0);
	for (size_t i = 0; i < 8 * (sizeof(success) - 1); i++) {
		uint8_t flipped[sizeof(success) - 1];

		memcpy(flipped, success, sizeof(flipped));
		flipped[i / 8] ^= (uint8_t)(1u << i % 8);
		if (rpc_parse(flipped, sizeof(flipped), &a) == 0)
			assert_true(a.body.n <= sizeof(flipped));
	}
}

static void an_operation_is_the_known_bytes(void **state)
{
	static const char known[] = "\0\x1c\x51\x44\x0a\x39" "\x0a\x2a\x0a\x1e" "\x0a\x11" "BP-1-10.0.0.1-500"
		"\x10\x81\x80\x80\x80\x04" "\x18\xe9\x07\x20\0"
		"\x12\x08\x0a\0\x12\0\x1a\0\x22\0" "\x12\x0b"
		"DFSClient_x\x10\0\x18\x80\x08\x20\x01\x2a\0";
	Hdfs__ExtendedBlock block = HDFS__EXTENDED_BLOCK__INIT;
	Hdfs__Token token = HDFS__TOKEN__INIT;
	Hdfs__BaseHeader base = HDFS__BASE_HEADER__INIT;
	Hdfs__ClientOperationHeader header = HDFS__CLIENT_OPERATION_HEADER__INIT;
	Hdfs__CachingStrategy caching = HDFS__CACHING_STRATEGY__INIT;
	Hdfs__OpReadBlock op = HDFS__OP_READ_BLOCK__INIT;
	AUTO_BYTES(message);
	AUTO_BYTES(b);

	block.pool_id = (char *)"BP-1-10.0.0.1-500";
	block.block_id = 1073741825;
	block.generation_stamp = 1001;
	block.has_num_bytes = true;
	token.kind = token.service = (char *)"";
	base.block = &block;
	base.token = &token;
	header.base_header = &base;
	header.client_name = (char *)"DFSClient_x";
	op.header = &header;
	op.len = 1024;
	op.has_send_checksums = true;
	op.send_checksums = true;
	op.caching_strategy = &caching;
	message_pack(&message, &op.base);
	transfer_put_op(&b, TRANSFER_READ_BLOCK, message.ptr, message.n);
	assert_bytes(&b, BYTES(known));
}

static void a_delimited_message_comes_in_pieces(void **state)
{
	struct str s;

	assert_int_equal(transfer_delimited("", 0, &s), 0);
	assert_int_equal(transfer_delimited(BYTES("\x80"), &s), 0);
	assert_int_equal(transfer_delimited(BYTES("\x03" "ab"), &s), 0);
	assert_int_equal(transfer_delimited(BYTES("\x03" "abcd"), &s), 4);
	assert_true(str_eq(s, "abc"));
	assert_int_equal(transfer_delimited(BYTES("\0"), &s), 1);
	assert_int_equal(s.n, 0);
	assert_int_equal(transfer_delimited(BYTES("\x80\x80\x40"), &s), 0);
	assert_int_equal(transfer_delimited(BYTES("\x81\x80\x40"), &s), E_PROTOCOL);
	assert_int_equal(transfer_delimited(BYTES("\x80\x80\x80\x80\x80"), &s), E_PROTOCOL);
	assert_int_equal(transfer_delimited(BYTES("\xff\xff\xff\xff\x0f"), &s), E_PROTOCOL);
}

static void packet_heads_are_protoc_cs(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		struct packet pk = {.offset = 1ull << 33, .seqno = i ? (int64_t)i : PACKET_HEARTBEAT, .last = i == 2, .sync = i & 1,
			.n_data = i == 1 ? 64512 : 0, .n_sums = i == 1 ? 504 : 0}, read;
		Hdfs__PacketHeader h = HDFS__PACKET_HEADER__INIT;
		uint8_t head[PACKET_LENGTHS + PACKET_HEADER_MAX];
		unsigned n = packet_put(&pk, head);
		AUTO_BYTES(b);

		h.offset_in_block = (int64_t)pk.offset;
		h.seqno = pk.seqno;
		h.last_packet_in_block = pk.last;
		h.data_len = (int32_t)pk.n_data;
		h.has_sync_block = h.sync_block = pk.sync;
		message_pack(&b, &h.base);
		assert_int_equal(n, PACKET_LENGTHS + (pk.sync ? 27 : 25));
		assert_bytes(&b, (char *)head + PACKET_LENGTHS, n - PACKET_LENGTHS);
		for (unsigned cut = 0; cut < n; cut++)
			assert_int_equal(packet_parse(head, cut, &read), 0);
		assert_int_equal(packet_parse(head, n, &read), n);
		assert_true(read.offset == pk.offset && read.seqno == pk.seqno && read.last == pk.last && read.sync == pk.sync);
		assert_true(read.n_data == pk.n_data && read.n_sums == pk.n_sums && read.n_head == n);
	}
}

static void packets_that_cannot_be_are_refused(void **state)
{
	struct packet pk = {.seqno = 1, .n_data = 512, .n_sums = 4}, read;
	uint8_t head[PACKET_LENGTHS + PACKET_HEADER_MAX], bad[sizeof(head)];
	unsigned n = packet_put(&pk, head);
	static const struct {
		unsigned at;
		uint8_t v;
	} wrong[] = {{0, 1}, {0, 0xff}, {2, 0}, {3, 0x05}, {5, 65}, {4, 1}, {5, 24}, {14, 0x80},
		{6, 0x0b}, {25, 1}, {30, 0x80}, {28, 3}};

	for (unsigned i = 0; i < N_ELEMS(wrong); i++) {
		memcpy(bad, head, sizeof(bad));
		bad[wrong[i].at] = wrong[i].v;
		if (packet_parse(bad, n, &read) != E_PROTOCOL)
			fail_msg("byte %u set to %u is not refused", wrong[i].at, wrong[i].v);
	}
	for (unsigned i = 0; i < 8 * n; i++) {
		int r;

		memcpy(bad, head, sizeof(bad));
		bad[i / 8] ^= (uint8_t)(1u << i % 8);
		r = packet_parse(bad, n, &read);
		assert_true(r == E_PROTOCOL || r == 0 || (read.n_data <= PACKET_MAX && read.n_sums <= PACKET_MAX));
	}
}

static void messages_fit_their_arena_or_are_none(void **state)
{
	Hdfs__SetOwnerRequest req = HDFS__SET_OWNER_REQUEST__INIT, *back;
	AUTO_BYTES(b);

	req.src = (char *)"/a";
	req.groupname = (char *)"g";
	message_pack(&b, &req.base);
	buf_pb_u64(&b, 99, 1);	/* nobody knows it */
	for (size_t max = 16; max < 400; max += 16) {
		AUTO_ARENA struct arena a;
		AUTO_BYTES(again);

		arena_init(&a, max);
		back = message_unpack(&a, &hdfs__set_owner_request__descriptor, (struct str){(char *)b.ptr, b.n});
		if (!back)
			continue;
		assert_string_equal(back->src, "/a");
		assert_null(back->username);
		message_pack(&again, &back->base);
		assert_bytes(&again, (char *)b.ptr, b.n);
		assert_true(max > 64);
	}
	for (unsigned nth = 1; nth < 20; nth++) {
		AUTO_ARENA struct arena a;

		arena_init(&a, 1 << 20);
		mem_fail_nth(nth);
		back = message_unpack(&a, &hdfs__set_owner_request__descriptor, (struct str){(char *)b.ptr, b.n});
		assert_true(!!back == !mem_failed());
		mem_fail_nth(0);
	}
	for (size_t n = 0; n < b.n; n++) {
		AUTO_ARENA struct arena a;

		arena_init(&a, 1 << 20);
		back = message_unpack(&a, &hdfs__set_owner_request__descriptor, (struct str){(char *)b.ptr, n});
		assert_true(!back || n >= 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints_go_there_and_back),
		cmocka_unit_test(a_varint_has_ten_bytes_at_most),
		cmocka_unit_test(zigzag_is_right_at_its_ends),
		cmocka_unit_test(what_is_no_field_is_bad),
		cmocka_unit_test(an_opening_is_the_known_bytes),
		cmocka_unit_test(a_call_is_the_known_bytes),
		cmocka_unit_test(a_call_has_context_state_and_retry),
		cmocka_unit_test(a_ping_and_a_real_user_are_put),
		cmocka_unit_test(frames_are_told_by_their_length),
		cmocka_unit_test(answers_are_read),
		cmocka_unit_test(what_is_no_answer_is_refused),
		cmocka_unit_test(an_operation_is_the_known_bytes),
		cmocka_unit_test(a_delimited_message_comes_in_pieces),
		cmocka_unit_test(packet_heads_are_protoc_cs),
		cmocka_unit_test(packets_that_cannot_be_are_refused),
		cmocka_unit_test(messages_fit_their_arena_or_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
