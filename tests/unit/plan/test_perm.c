/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations without memory: that they are permutations, differ, and are even. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/perm.h"

static void assert_permutation(uint64_t n, uint64_t tweak)
{
	static uint8_t seen[1 << 17];
	struct perm p;

	memset(seen, 0, sizeof(seen));
	perm_init(&p, n, philox_key_of(7, "test"), tweak);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t x = perm_at(&p, i);

		assert_true(x < n);
		assert_false(seen[x]);
		seen[x] = 1;
	}
}

static void every_small_size_is_a_permutation(void **state)
{
	for (uint64_t n = 1; n <= 600; n++)
		assert_permutation(n, n % 3);
}

static void sizes_around_powers_of_two_are_permutations(void **state)
{
	for (unsigned bits = 10; bits <= 16; bits++)
		for (uint64_t n = ((uint64_t)1 << bits) - 1; n <= ((uint64_t)1 << bits) + 1; n++)
			assert_permutation(n, 5);
}

static void the_network_is_hardly_wider_than_the_size(void **state)
{
	static const uint64_t sizes[] = {64, 65, 100, 4095, 4097, 1000000007, ((uint64_t)1 << 61) + 1, PERM_MAX};

	for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		uint64_t n = sizes[k], width;
		struct perm p;

		perm_init(&p, n, philox_key_of(7, "test"), 0);
		width = p.n_high << p.low_bits;
		assert_true(width >= n && width - n <= n / 8);
		/* The round's number is of 32 bits: neither half may need more. */
		assert_true(p.n_high <= (uint64_t)1 << 31 && p.low_bits <= 31);
	}
}

static void the_largest_size_answers_inside_and_apart(void **state)
{
	struct perm p;
	uint64_t got[64];

	perm_init(&p, PERM_MAX, philox_key_of(7, "test"), 1);
	for (unsigned i = 0; i < 64; i++) {
		got[i] = perm_at(&p, i < 32 ? i : PERM_MAX - i);
		assert_true(got[i] < PERM_MAX);
		for (unsigned k = 0; k < i; k++)
			assert_true(got[k] != got[i]);
	}
}

static unsigned n_equal(const struct perm *a, const struct perm *b)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < a->n; i++)
		n += perm_at(a, i) == perm_at(b, i);
	return n;
}

static void key_and_tweak_make_another_permutation(void **state)
{
	static const uint64_t sizes[] = {50, 1000};

	for (unsigned k = 0; k < 2; k++) {
		struct perm a, b;

		perm_init(&a, sizes[k], philox_key_of(7, "test"), 1);
		perm_init(&b, sizes[k], philox_key_of(7, "test"), 1);
		assert_int_equal(n_equal(&a, &b), sizes[k]);
		perm_init(&b, sizes[k], philox_key_of(7, "test"), 2);
		assert_true(n_equal(&a, &b) < 10);
		perm_init(&b, sizes[k], philox_key_of(8, "test"), 1);
		assert_true(n_equal(&a, &b) < 10);
	}
}

/* Over many tweaks a place goes everywhere alike: chi-square of n - 1 degrees of freedom, with room beyond its 1 % points. */
static void a_place_goes_everywhere_alike(void **state)
{
	static const unsigned sizes[] = {40, 70, 100};

	for (unsigned k = 0; k < 3; k++) {
		unsigned n = sizes[k], count[100] = {0};
		double chi2 = 0.0, want = 200.0;

		for (uint64_t tweak = 0; tweak < 200 * n; tweak++) {
			struct perm p;

			perm_init(&p, n, philox_key_of(7, "test"), tweak);
			count[perm_at(&p, n / 2)]++;
		}
		for (unsigned i = 0; i < n; i++)
			chi2 += (count[i] - want) * (count[i] - want) / want;
		assert_true(chi2 < 1.6 * n && chi2 > 0.5 * n);
	}
}

/* What a training run feels: neighbours before are not neighbours after. */
static void neighbours_part(void **state)
{
	struct perm p;
	unsigned near = 0;

	perm_init(&p, 10000, philox_key_of(7, "test"), 0);
	for (uint64_t i = 0; i + 1 < p.n; i++) {
		uint64_t a = perm_at(&p, i), b = perm_at(&p, i + 1);

		near += (a > b ? a - b : b - a) <= 10;
	}
	/* 20 of 10,000 expected. */
	assert_true(near > 2 && near < 60);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_small_size_is_a_permutation),
		cmocka_unit_test(sizes_around_powers_of_two_are_permutations),
		cmocka_unit_test(the_network_is_hardly_wider_than_the_size),
		cmocka_unit_test(the_largest_size_answers_inside_and_apart),
		cmocka_unit_test(key_and_tweak_make_another_permutation),
		cmocka_unit_test(a_place_goes_everywhere_alike),
		cmocka_unit_test(neighbours_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
