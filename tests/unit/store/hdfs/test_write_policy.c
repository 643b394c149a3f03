/* SPDX-License-Identifier: Apache-2.0 */
/* What a broken pipeline becomes; acknowledgements and packets as bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/str.h"
#include "store/hdfs/write/write_message.h"
#include "store/hdfs/write/write_packets.h"
#include "store/hdfs/write/write_policy.h"

static struct write_break streaming(unsigned n_nodes, int bad)
{
	return (struct write_break){.stage = WRITE_STREAM, .n_nodes = n_nodes, .bad = bad, .replication = 3, .replace = true,
		.max_setups = 3, .n_breaks = 1};
}

static void a_block_that_could_not_be_set_up_goes_elsewhere(void **state)
{
	struct write_break b = streaming(3, 2);

	b.stage = WRITE_SETUP;
	for (b.n_setups = 1; b.n_setups <= 3; b.n_setups++) {
		assert_int_equal(write_decide(&b).fate, WRITE_NEW_BLOCK);
		assert_int_equal(write_decide(&b).bad, 2);
	}
	assert_int_equal(write_decide(&b).fate, WRITE_GIVE_UP);
}

static void one_of_three_is_left_out_and_of_two_replaced(void **state)
{
	struct write_break b = streaming(3, 1);

	assert_int_equal(write_decide(&b).fate, WRITE_ON);
	assert_int_equal(write_decide(&b).bad, 1);
	b.n_nodes = 2;
	assert_int_equal(write_decide(&b).fate, WRITE_ADD);
	b.replace = false;
	assert_int_equal(write_decide(&b).fate, WRITE_ON);
	b.n_nodes = 1;
	assert_int_equal(write_decide(&b).fate, WRITE_GIVE_UP);
	b.replication = 2;
	b.replace = true;
	b.n_nodes = 2;
	assert_int_equal(write_decide(&b).fate, WRITE_ON);
}

static void what_readers_rely_on_keeps_its_replicas(void **state)
{
	struct write_break b = streaming(3, 0);

	b.flushed = true;
	assert_int_equal(write_decide(&b).fate, WRITE_ADD);
	b.flushed = false;
	b.appended = true;
	assert_int_equal(write_decide(&b).fate, WRITE_ADD);
}

static void the_first_is_blamed_when_nobody_is(void **state)
{
	struct write_break b = streaming(3, -1);

	assert_int_equal(write_decide(&b).bad, 0);
	b.bad = 7;
	assert_int_equal(write_decide(&b).bad, 0);
}

static void a_suspect_comes_back_for_the_last(void **state)
{
	struct write_break b = streaming(2, -1);

	b.replication = 2;
	assert_true(write_decide(&b).suspected);
	b.bad = 1;
	assert_false(write_decide(&b).suspected);
	b.n_nodes = 1;
	b.bad = 0;
	assert_int_equal(write_decide(&b).fate, WRITE_GIVE_UP);
	b.n_aside = 1;
	assert_int_equal(write_decide(&b).fate, WRITE_BACK);
	assert_int_equal(write_decide(&b).bad, 0);
	b.n_breaks = WRITE_MAX_BREAKS + 1;
	assert_int_equal(write_decide(&b).fate, WRITE_GIVE_UP);
}

static void five_breaks_without_an_acknowledgement_are_enough(void **state)
{
	struct write_break b = streaming(3, 0);

	b.n_breaks = WRITE_MAX_BREAKS;
	assert_int_equal(write_decide(&b).fate, WRITE_ON);
	b.n_breaks++;
	assert_int_equal(write_decide(&b).fate, WRITE_GIVE_UP);
}

static void a_restart_of_the_only_node_is_waited_for(void **state)
{
	struct write_break b = streaming(1, 0);

	b.restarts = true;
	assert_int_equal(write_decide(&b).fate, WRITE_WAIT);
	assert_int_equal(write_decide(&b).bad, 1);
	b.waited_ns = WRITE_RESTART_NS;
	assert_int_equal(write_decide(&b).fate, WRITE_GIVE_UP);
	b.waited_ns = 0;
	b.n_nodes = 2;
	assert_int_equal(write_decide(&b).fate, WRITE_ADD);
}

static void polls_grow_and_end(void **state)
{
	uint64_t sum = 0, before = 0;
	unsigned n = 0;

	for (uint64_t ns; (ns = write_poll_ns(n)); n++) {
		assert_true(ns >= before);
		before = ns;
		sum += ns;
	}
	assert_in_range(sum, 12 * NS_PER_S, 60 * NS_PER_S);
}

static void backing_off_grows_and_is_bounded(void **state)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < 40; i++) {
		uint64_t next = write_backoff_ns(ns, i * 2654435761u);

		assert_in_range(next, 1, 50 * NS_PER_S);
		ns = next;
	}
	assert_true(write_backoff_ns(50 * NS_PER_S, UINT32_MAX) > 40 * NS_PER_S);
}

static void an_acknowledgement_is_read(void **state)
{
	/* seqno 5; replies 0, 0, 1; flags (packed) 0, 0x60, 1. */
	static const uint8_t bytes[] = {0x08, 0x0a, 0x10, 0, 0x10, 0, 0x10, 1, 0x18, 9, 0x22, 3, 0, 0x60, 1};
	struct write_ack a;

	assert_int_equal(write_ack_parse((struct str){(const char *)bytes, sizeof(bytes)}, &a), 0);
	assert_int_equal(a.seqno, 5);
	assert_int_equal(a.n_replies, 3);
	assert_int_equal(a.bad, 2);
	assert_int_equal(a.status, 1);
	assert_true(a.congested);
	/* Without a number it is none. */
	assert_int_equal(write_ack_parse((struct str){(const char *)bytes + 2, 6}, &a), E_PROTOCOL);
}

static void packets_are_taken_while_there_is_room(void **state)
{
	static uint8_t bytes[1 << 20];
	struct packets q;
	int64_t n = 1, seqno;

	assert_int_equal(packets_init(&q, CRC_C, 512, 65536, 1000, 0), -EINVAL);
	packets_release(&q);
	assert_int_equal(packets_init(&q, CRC_C, 512, 65536, 128u << 20, 0), 0);
	for (uint64_t all = 0; n > 0; all += (uint64_t)n) {
		n = packets_put(&q, bytes, sizeof(bytes));
		assert_true(all + (uint64_t)n <= PACKETS_MEMORY);
	}
	assert_int_equal(n, 0);
	assert_int_equal(packets_first(&q.to_send)->packet.n_data, 64512);
	packets_were_sent(&q);
	packets_were_sent(&q);
	packets_replay(&q);
	assert_int_equal(packets_first(&q.to_send)->packet.seqno, 0);
	packets_were_sent(&q);
	packets_were_acked(&q);
	assert_true(packets_put(&q, bytes, 10) == 10);
	assert_int_equal(packets_flush(&q, false, &seqno), 1);
	packets_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_that_could_not_be_set_up_goes_elsewhere),
		cmocka_unit_test(one_of_three_is_left_out_and_of_two_replaced),
		cmocka_unit_test(what_readers_rely_on_keeps_its_replicas),
		cmocka_unit_test(the_first_is_blamed_when_nobody_is),
		cmocka_unit_test(a_suspect_comes_back_for_the_last),
		cmocka_unit_test(five_breaks_without_an_acknowledgement_are_enough),
		cmocka_unit_test(a_restart_of_the_only_node_is_waited_for),
		cmocka_unit_test(polls_grow_and_end),
		cmocka_unit_test(backing_off_grows_and_is_bounded),
		cmocka_unit_test(an_acknowledgement_is_read),
		cmocka_unit_test(packets_are_taken_while_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
