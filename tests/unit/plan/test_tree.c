/* SPDX-License-Identifier: Apache-2.0 */
/* Shares by weight: the sums, the roundings, and that counting and drawing agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rand.h"
#include "plan/tree.h"

#define MAX_LEAVES 12
#define RUN 4096

static void random_weights(uint64_t seed, unsigned n, double *ret)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t words[4];

		philox(philox_key_of(seed, "weights"), i, 0, 0, words);
		ret[i] = uniform_of(words[0]) + (words[1] % 4 == 0 ? 3.0 : 0.0);
	}
}

static void weights_add_up_and_follow_the_largest_remainders(void **state)
{
	static const double thirds[] = {1.0, 1.0, 1.0}, odd[] = {0.7, 0.3}, one[] = {5.0};
	uint64_t got[3];

	assert_int_equal(tree_weights(thirds, 3, got), 0);
	assert_true(got[0] == 1431655766 && got[1] == 1431655765 && got[2] == 1431655765);
	assert_int_equal(tree_weights(odd, 2, got), 0);
	/* 3006477107.2 and 1288490188.8 */
	assert_true(got[0] == 3006477107 && got[1] == 1288490189);
	assert_int_equal(tree_weights(one, 1, got), 0);
	assert_true(got[0] == TREE_WHOLE);
}

static void random_weights_add_up(void **state)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		double weights[256];
		uint64_t got[256], sum = 0;
		unsigned n = 1 + seed % 256;

		random_weights(seed, n, weights);
		assert_int_equal(tree_weights(weights, n, got), 0);
		for (unsigned i = 0; i < n; i++)
			sum += got[i];
		assert_true(sum == TREE_WHOLE);
	}
}

static void absurd_weights_are_refused(void **state)
{
	static const double bad[][2] = {{1.0, 0.0}, {1.0, -1.0}, {NAN, 1.0}, {INFINITY, 1.0}, {1e308, 1e308}, {1.0, 1e-11}};
	uint64_t got[2];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tree_weights(bad[i], 2, got), -EINVAL);
}

static struct tree *tree_of(const double *weights, unsigned n, uint64_t *ret_integers)
{
	struct tree *t;

	assert_int_equal(tree_weights(weights, n, ret_integers), 0);
	t = tree_new(ret_integers, n, n / 3);
	assert_non_null(t);
	return t;
}

static void two_sources_have_their_share_of_any_run_to_within_one(void **state)
{
	static const double pairs[][2] = {{0.5, 0.5}, {0.7, 0.3}, {0.01, 0.99}, {1.0, 3.14159}, {0.333, 0.667}};

	for (unsigned k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
		uint64_t w[2];
		AUTO(tree) struct tree *t = tree_of(pairs[k], 2, w);

		for (uint64_t n = 0; n < 20000; n += 7)
			for (unsigned i = 0; i < 2; i++) {
				double share = (double)w[i] / (double)TREE_WHOLE * RUN;
				double got = (double)(tree_share(t, i, n + RUN) - tree_share(t, i, n));

				assert_true(fabs(got - share) < 1.0);
			}
	}
}

static void many_sources_have_their_share_of_any_run_to_within_two(void **state)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		double weights[MAX_LEAVES];
		uint64_t w[MAX_LEAVES];
		unsigned n = 3 + seed % (MAX_LEAVES - 2);
		AUTO(tree) struct tree *t = NULL;

		random_weights(seed, n, weights);
		t = tree_of(weights, n, w);
		for (uint64_t at = 0; at < 100 * RUN; at += RUN)
			for (unsigned i = 0; i < n; i++) {
				double share = (double)w[i] / (double)TREE_WHOLE * RUN;
				double got = (double)(tree_share(t, i, at + RUN) - tree_share(t, i, at));

				assert_true(fabs(got - share) < 2.0);
			}
	}
}

static void draws_count_up_leaf_by_leaf(void **state)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		double weights[MAX_LEAVES];
		uint64_t w[MAX_LEAVES], count[MAX_LEAVES] = {0};
		unsigned n = 1 + seed % MAX_LEAVES;
		AUTO(tree) struct tree *t = NULL;

		random_weights(seed, n, weights);
		t = tree_of(weights, n, w);
		for (uint64_t at = 0; at < 3000; at++) {
			uint64_t nth;
			unsigned leaf = tree_draw(t, at, &nth);

			assert_int_equal(nth, count[leaf]);
			count[leaf]++;
			/* tree_until() is where this leaf's count has just been reached. */
			assert_true(tree_until(t, leaf, count[leaf]) == at + 1);
			for (unsigned i = 0; i < n; i++)
				assert_int_equal(tree_share(t, i, at + 1), count[i]);
		}
		for (unsigned i = 0; i < n; i++)
			assert_true(tree_until(t, i, 0) == 0);
	}
}

static void the_largest_numbers_do_not_wrap(void **state)
{
	static const double weights[] = {1.0, 1e-9, 1e-9};
	uint64_t w[3], far = (uint64_t)1 << 62, nth;
	AUTO(tree) struct tree *t = tree_of(weights, 3, w);
	uint64_t sum = 0;

	for (unsigned i = 0; i < 3; i++)
		sum += tree_share(t, i, far);
	assert_true(sum == far);
	assert_true(tree_draw(t, far, &nth) < 3);
	/* 2^62 draws of a leaf of weight 4: about 2^92 in all. */
	assert_true(tree_until(t, 2, far) > (tree_count)1 << 91);
	assert_true(tree_until(t, 2, far) < (tree_count)1 << 93);
}

static void no_memory_is_told(void **state)
{
	uint64_t w[3];
	static const double weights[] = {1.0, 2.0, 3.0};

	for (uint64_t nth = 1;; nth++) {
		struct tree *t = NULL;
		int r;

		mem_fail_nth(nth);
		r = tree_weights(weights, 3, w);
		if (r == 0)
			t = tree_new(w, 3, 0);
		if (!mem_failed()) {
			tree_free(t);
			break;
		}
		assert_true(r == -ENOMEM || !t);
	}
	mem_fail_nth(0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_add_up_and_follow_the_largest_remainders),
		cmocka_unit_test(random_weights_add_up),
		cmocka_unit_test(absurd_weights_are_refused),
		cmocka_unit_test(two_sources_have_their_share_of_any_run_to_within_one),
		cmocka_unit_test(many_sources_have_their_share_of_any_run_to_within_two),
		cmocka_unit_test(draws_count_up_leaf_by_leaf),
		cmocka_unit_test(the_largest_numbers_do_not_wrap),
		cmocka_unit_test(no_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
