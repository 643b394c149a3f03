/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between an owner and its worker. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "wire/workmsg.h"

static const struct workmsg decode = {.type = WORKMSG_DECODE, .seq = 7, .position = 1ull << 40, .field = 3,
	.in_offset = 64, .in_length = 1000, .out_offset = 128, .out_capacity = 4096};
static const struct workmsg done = {.type = WORKMSG_DONE, .seq = 7, .h = 224, .w = 225, .c = 3, .n_warnings = 2,
	.checksum = 0x0123456789abcdef};

static void messages_come_back_as_they_went(void **state)
{
	const struct workmsg bad = {.type = WORKMSG_DONE, .seq = 9, .status = E_BAD_SAMPLE, .words = "Huffman code"};
	const struct workmsg ready = {.type = WORKMSG_READY, .version = 1, .fingerprint = {1, 2, 3}};
	const struct workmsg *const all[] = {&decode, &done, &bad, &ready};

	for (unsigned i = 0; i < 4; i++) {
		uint8_t bytes[WORKMSG_BYTES], again[WORKMSG_BYTES];
		struct workmsg got;

		workmsg_encode(all[i], bytes);
		assert_int_equal(workmsg_decode(bytes, sizeof(bytes), &got), 0);
		workmsg_encode(&got, again);
		assert_memory_equal(again, bytes, sizeof(bytes));
		assert_int_equal(got.seq, all[i]->seq);
		assert_int_equal(got.status, all[i]->status);
		assert_string_equal(got.words, all[i]->words);
	}
}

static int decoded(struct workmsg m)
{
	uint8_t bytes[WORKMSG_BYTES];
	struct workmsg got;

	workmsg_encode(&m, bytes);
	return workmsg_decode(bytes, sizeof(bytes), &got);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	struct workmsg m = decode;

	m.in_offset = UINT64_MAX;
	assert_int_equal(decoded(m), E_PROTOCOL);
	m = decode;
	m.out_capacity = UINT64_MAX - 100;
	assert_int_equal(decoded(m), E_PROTOCOL);
	m = done;
	m.h = 65536;
	assert_int_equal(decoded(m), E_PROTOCOL);
	m = done;
	m.w = 0;
	assert_int_equal(decoded(m), E_PROTOCOL);
	m = done;
	m.c = 5;
	assert_int_equal(decoded(m), E_PROTOCOL);
	m = done;
	m.status = 1;
	assert_int_equal(decoded(m), E_PROTOCOL);
	m = done;
	m.type = 4;
	assert_int_equal(decoded(m), E_PROTOCOL);
}

static void other_lengths_are_refused(void **state)
{
	uint8_t bytes[WORKMSG_BYTES + 1] = {0};
	struct workmsg got;

	workmsg_encode(&decode, bytes);
	for (size_t n = 0; n <= sizeof(bytes); n++)
		assert_int_equal(workmsg_decode(bytes, n, &got), n == WORKMSG_BYTES ? 0 : E_PROTOCOL);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(workmsg_decode(bytes, WORKMSG_BYTES, &got), E_PROTOCOL);
}

static void every_flipped_bit_is_found(void **state)
{
	uint8_t bytes[WORKMSG_BYTES];
	struct workmsg got;

	workmsg_encode(&done, bytes);
	for (unsigned i = 0; i < 8 * WORKMSG_BYTES; i++) {
		bytes[i / 8] ^= (uint8_t)(1u << (i % 8));
		assert_int_equal(workmsg_decode(bytes, sizeof(bytes), &got), E_PROTOCOL);
		bytes[i / 8] ^= (uint8_t)(1u << (i % 8));
	}
	assert_int_equal(workmsg_decode(bytes, sizeof(bytes), &got), 0);
}

static void bytes_that_nobody_knows_are_refused(void **state)
{
	uint8_t bytes[WORKMSG_BYTES];
	struct workmsg got;
	uint64_t sum;

	workmsg_encode(&decode, bytes);
	bytes[200] = 1;
	sum = htole64(xxh3_of(bytes, WORKMSG_BYTES - 8));
	memcpy(bytes + WORKMSG_BYTES - 8, &sum, 8);
	assert_int_equal(workmsg_decode(bytes, sizeof(bytes), &got), E_PROTOCOL);
}

static void words_cannot_steer_a_terminal(void **state)
{
	struct workmsg m = {.type = WORKMSG_DONE, .status = E_BAD_SAMPLE}, got;
	uint8_t bytes[WORKMSG_BYTES];

	memset(m.words, 'x', sizeof(m.words));
	memcpy(m.words, "a\x1b[2Jb", 6);
	workmsg_encode(&m, bytes);
	assert_int_equal(workmsg_decode(bytes, sizeof(bytes), &got), 0);
	assert_memory_equal(got.words, "a?[2Jbxx", 8);
	assert_int_equal(strlen(got.words), WORKMSG_WORDS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_come_back_as_they_went),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(other_lengths_are_refused),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(bytes_that_nobody_knows_are_refused),
		cmocka_unit_test(words_cannot_steer_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
