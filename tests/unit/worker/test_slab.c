/* SPDX-License-Identifier: Apache-2.0 */
/* Spaces in a fixed region, against a byte per granule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/rand.h"
#include "base/scope.h"
#include "worker/slab.h"

#define N 300u

static void spaces_never_overlap_and_all_come_back(void **state)
{
	struct philox_key key = philox_key_of(1, "slab");
	struct {
		uint64_t offset, n;
	} held[64] = {0};
	uint8_t owner[N] = {0};
	struct slab s;

	assert_int_equal(slab_init(&s, N * SLAB_GRANULE + 100), 0);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t u[4];
		unsigned slot;

		philox(key, i, 0, 0, u);
		slot = u[0] % 64;
		if (held[slot].n) {
			slab_free(&s, held[slot].offset, held[slot].n);
			memset(owner + held[slot].offset / SLAB_GRANULE, 0, (held[slot].n - 1) / SLAB_GRANULE + 1);
			held[slot].n = 0;
			continue;
		}
		held[slot].n = 1 + u[1] % (12 * SLAB_GRANULE);
		if (slab_alloc(&s, held[slot].n, &held[slot].offset) < 0) {
			held[slot].n = 0;
			continue;
		}
		for (uint64_t g = 0; g <= (held[slot].n - 1) / SLAB_GRANULE; g++) {
			assert_true(held[slot].offset / SLAB_GRANULE + g < N);
			assert_int_equal(owner[held[slot].offset / SLAB_GRANULE + g]++, 0);
		}
	}
	for (unsigned i = 0; i < 64; i++) {
		if (held[i].n)
			slab_free(&s, held[i].offset, held[i].n);
	}
	assert_int_equal(s.n_free, N);
	slab_release(&s);
}

static void full_is_told_from_never(void **state)
{
	uint64_t a, b, c, d;
	struct slab s;

	assert_int_equal(slab_init(&s, SLAB_GRANULE - 1), -EINVAL);
	assert_int_equal(slab_init(&s, 4 * SLAB_GRANULE), 0);
	assert_int_equal(slab_alloc(&s, 4 * SLAB_GRANULE + 1, &a), -E2BIG);
	assert_int_equal(slab_alloc(&s, UINT64_MAX, &a), -E2BIG);
	assert_int_equal(slab_alloc(&s, 0, &a), 0);
	assert_int_equal(slab_alloc(&s, SLAB_GRANULE, &b), 0);
	assert_int_equal(slab_alloc(&s, SLAB_GRANULE + 1, &c), 0);
	assert_int_equal(slab_alloc(&s, 1, &d), -EAGAIN);
	slab_free(&s, a, 0);
	slab_free(&s, c, SLAB_GRANULE + 1);
	/* Three granules are free, but not in a row. */
	assert_int_equal(slab_alloc(&s, 3 * SLAB_GRANULE, &d), -EAGAIN);
	slab_free(&s, b, SLAB_GRANULE);
	assert_int_equal(slab_alloc(&s, 4 * SLAB_GRANULE, &d), 0);
	assert_int_equal(d, 0);
	slab_release(&s);
}

static void a_run_across_the_hint_is_found(void **state)
{
	uint64_t a, b;
	struct slab s;

	assert_int_equal(slab_init(&s, 8 * SLAB_GRANULE), 0);
	assert_int_equal(slab_alloc(&s, 4 * SLAB_GRANULE, &a), 0);
	slab_free(&s, a, 4 * SLAB_GRANULE);
	s.hint = 4;
	assert_int_equal(slab_alloc(&s, 6 * SLAB_GRANULE, &b), 0);
	assert_int_equal(b, 0);
	slab_release(&s);
}

static void a_failed_allocation_is_reported(void **state)
{
	struct slab s;

	mem_fail_nth(1);
	assert_int_equal(slab_init(&s, 1u << 20), -ENOMEM);
	mem_fail_nth(0);
	slab_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spaces_never_overlap_and_all_come_back),
		cmocka_unit_test(full_is_told_from_never),
		cmocka_unit_test(a_run_across_the_hint_is_found),
		cmocka_unit_test(a_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
