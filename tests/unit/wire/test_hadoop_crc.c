/* SPDX-License-Identifier: Apache-2.0 */
/* CRCs against known values and a bit-by-bit loop; joins against the CRC of the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "wire/hadoop/crc.h"

static uint32_t crc_bitwise(uint32_t poly, const uint8_t *p, size_t n)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ poly : crc >> 1;
	}
	return ~crc;
}

static uint8_t bytes[5000];

static int bytes_fill(void **state)
{
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		x = x * 1664525u + 1013904223u;
		bytes[i] = (uint8_t)(x >> 24);
	}
	return 0;
}

static void crcs_are_the_known_ones(void **state)
{
	static const uint8_t zeros[32];

	assert_true(crc_of(CRC_C, 0, "123456789", 9) == 0xe3069283u);
	assert_true(crc_of(CRC_ZLIB, 0, "123456789", 9) == 0xcbf43926u);
	assert_true(crc_of(CRC_C, 0, zeros, 32) == 0x8a9136aau);	/* RFC 3720, B.4 */
	assert_true(crc_of(CRC_C, 0, "", 0) == 0 && crc_of(CRC_ZLIB, 0, NULL, 0) == 0);
	assert_true(crc_of(CRC_NONE, 0, "a", 1) == 0);
}

static void crcs_are_a_bitwise_loops(void **state)
{
	for (size_t n = 0; n < 1100; n++) {
		assert_true(crc_of(CRC_C, 0, bytes + n % 7, n) == crc_bitwise(0x82f63b78u, bytes + n % 7, n));
		assert_true(crc_of(CRC_ZLIB, 0, bytes + n % 7, n) == crc_bitwise(0xedb88320u, bytes + n % 7, n));
	}
}

static void a_crc_goes_on_and_joins(void **state)
{
	for (unsigned k = CRC_ZLIB; k <= CRC_C; k++)
		for (size_t n = 0; n <= sizeof(bytes); n += n < 40 ? 1 : 331) {
			uint32_t all = crc_of(k, 0, bytes, sizeof(bytes)), a = crc_of(k, 0, bytes, n);
			uint32_t b = crc_of(k, 0, bytes + n, sizeof(bytes) - n);

			assert_true(crc_of(k, a, bytes + n, sizeof(bytes) - n) == all);
			assert_true(crc_join(k, a, b, sizeof(bytes) - n) == all);
		}
	assert_true(crc_join(CRC_NONE, 1, 2, 3) == 0);
}

/* Far more bytes than anybody could sum: joining twice is joining with the double. */
static void long_joins_agree(void **state)
{
	for (unsigned k = CRC_ZLIB; k <= CRC_C; k++)
		for (unsigned shift = 0; shift < 63; shift++) {
			uint64_t n = 1ull << shift;
			uint32_t a = 0x12345678, zeros = crc_join(k, crc_join(k, a, 0, n), 0, n);

			assert_true(zeros == crc_join(k, a, 0, 2 * n));
		}
}

static void chunks_are_filled_and_checked(void **state)
{
	static const size_t lengths[] = {0, 1, 511, 512, 513, 4096, 5000};
	uint8_t sums[4 * 5000];

	for (unsigned k = CRC_NONE; k <= CRC_C; k++)
		for (unsigned i = 0; i < N_ELEMS(lengths); i++) {
			size_t n = lengths[i];

			memset(sums, 0xee, sizeof(sums));
			crc_fill(k, 512, bytes, n, sums);
			assert_int_equal(sums[(n + 511) / 512 * 4 * (k != CRC_NONE)], 0xee);
			assert_int_equal(crc_check(k, 512, bytes, n, sums), -1);
			if (k == CRC_NONE || n == 0)
				continue;
			bytes[n - 1] ^= 0x10;
			assert_int_equal(crc_check(k, 512, bytes, n, sums), (n - 1) / 512);
			bytes[n - 1] ^= 0x10;
			sums[0] ^= 1;
			assert_int_equal(crc_check(k, 512, bytes, n, sums), 0);
		}
	assert_int_equal(crc_check(CRC_C, 0, bytes, 10, sums), 0);
	crc_fill(CRC_C, 512, "123456789", 9, sums);
	assert_memory_equal(sums, "\xe3\x06\x92\x83", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crcs_are_the_known_ones),
		cmocka_unit_test(crcs_are_a_bitwise_loops),
		cmocka_unit_test(a_crc_goes_on_and_joins),
		cmocka_unit_test(long_joins_agree),
		cmocka_unit_test(chunks_are_filled_and_checked),
	};

	return cmocka_run_group_tests(tests, bytes_fill, NULL);
}
