/* SPDX-License-Identifier: Apache-2.0 */
/* Records between ranks and their loader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/rankmsg.h"

static void records_come_back_as_they_went(void **state)
{
	const struct rankmsg open = {.type = RANKMSG_OPEN, .version = 1, .paths = {"/data/a.plan", "b"},
		.n_paths = 2, .fields = {"jpg"}, .n_fields = 1, .transform = "{resize: 8}", .dp_rank = 3, .dp_size = 8,
		.batch = 32, .tail = 2, .consumed = 1ull << 40, .seed = 7, .n_batches = 5, .has_order_id = true, .order_id = {7}};
	AUTO_BUF struct buf b, again;
	struct rankmsg got;

	buf_init(&b, RANKMSG_MAX_BYTES);
	buf_init(&again, RANKMSG_MAX_BYTES);
	assert_int_equal(rankmsg_encode(&open, &b), 0);
	assert_int_equal(rankmsg_decode(b.ptr, b.n, &got), 0);
	assert_string_equal(got.paths[1], "b");
	assert_string_equal(got.transform, "{resize: 8}");
	assert_int_equal(got.consumed, open.consumed);
	assert_int_equal(got.tail, 2);
	assert_int_equal(got.seed, 7);
	assert_int_equal(got.n_batches, 5);
	assert_memory_equal(got.order_id, open.order_id, SHA256_BYTES);
	assert_int_equal(rankmsg_encode(&got, &again), 0);
	assert_int_equal(again.n, b.n);
	assert_memory_equal(again.ptr, b.ptr, b.n);
}

/* A NEXT with one value more. */
static int with_value(uint16_t tag, uint32_t n, const void *p, size_t n_sent)
{
	AUTO_BUF struct buf b;
	struct rankmsg got;

	buf_init(&b, 256);
	buf_u32(&b, RANKMSG_NEXT);
	buf_u16(&b, tag);
	buf_u16(&b, 0);
	buf_u32(&b, n);
	buf_add(&b, p, n_sent);
	return rankmsg_decode(b.ptr, b.n, &got);
}

static void unknown_values_are_skipped_or_refuse(void **state)
{
	assert_int_equal(with_value(0x7ff0, 4, "abcd", 4), 0);
	assert_int_equal(with_value(0xfff0, 4, "abcd", 4), E_PROTOCOL);
}

static void broken_values_are_refused(void **state)
{
	assert_int_equal(with_value(1, 4, "\1\0\0", 3), E_PROTOCOL);
	assert_int_equal(with_value(1, 8, "\1\0\0\0\0\0\0\0", 8), E_PROTOCOL);
	assert_int_equal(with_value(27, 4, "text", 4), E_PROTOCOL);
	assert_int_equal(with_value(27, 4, "a\0b\0", 4), E_PROTOCOL);
	assert_int_equal(with_value(27, 0, "", 0), E_PROTOCOL);
	assert_int_equal(with_value(27, UINT32_MAX, "text", 4), E_PROTOCOL);
}

static void too_many_paths_are_refused(void **state)
{
	AUTO_BUF struct buf b;
	struct rankmsg got;

	buf_init(&b, RANKMSG_MAX_BYTES);
	buf_u32(&b, RANKMSG_OPEN);
	for (unsigned i = 0; i < RANKMSG_MAX_PATHS + 1; i++) {
		buf_u16(&b, 3);
		buf_u16(&b, 0);
		buf_u32(&b, 4);
		buf_add(&b, "abc", 4);
		assert_int_equal(rankmsg_decode(b.ptr, b.n, &got), i < RANKMSG_MAX_PATHS ? 0 : E_PROTOCOL);
	}
}

static void a_record_that_is_too_long_is_not_made(void **state)
{
	static char path[RANKMSG_MAX_BYTES];
	const struct rankmsg open = {.type = RANKMSG_OPEN, .paths = {path}, .n_paths = 1};
	AUTO_BUF struct buf b;

	memset(path, 'x', sizeof(path) - 1);
	buf_init(&b, 2 * RANKMSG_MAX_BYTES);
	assert_int_equal(rankmsg_encode(&open, &b), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back_as_they_went),
		cmocka_unit_test(unknown_values_are_skipped_or_refuse),
		cmocka_unit_test(broken_values_are_refused),
		cmocka_unit_test(too_many_paths_are_refused),
		cmocka_unit_test(a_record_that_is_too_long_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
