/* SPDX-License-Identifier: Apache-2.0 */
/* Naps of a thread that is woken often: when they begin, and when they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/pace.h"

static struct pace fresh(void)
{
	return (struct pace){.mean_gap_ns = NS_PER_MS};
}

/* So many wakes, each gap_ns after the one before and with n callbacks; the number of naps, and the last. */
static unsigned naps(struct pace *p, unsigned n_wakes, uint64_t gap_ns, unsigned n, uint64_t *ret_last_ns)
{
	unsigned n_naps = 0;

	for (unsigned i = 0; i < n_wakes; i++) {
		*ret_last_ns = pace_nap(p, p->last_ns + gap_ns, n);
		n_naps += *ret_last_ns != 0;
	}
	return n_naps;
}

static void one_call_under_way_never_waits(void **state)
{
	struct pace p = fresh();
	uint64_t last_ns;

	/* A round trip on one machine. */
	assert_int_equal(naps(&p, 10000, 60 * NS_PER_US, 2, &last_ns), 0);
	assert_int_equal(naps(&p, 10000, 10 * NS_PER_MS, 100, &last_ns), 0);
}

static void a_flood_of_small_things_is_taken_together(void **state)
{
	struct pace p = fresh();
	uint64_t last_ns;

	assert_true(naps(&p, 100, 10 * NS_PER_US, 1, &last_ns) > 0);
	p = fresh();
	naps(&p, 30, 10 * NS_PER_US, 5, &last_ns);
	assert_true(last_ns > 0 && last_ns <= 100 * NS_PER_US);
	/* While naps find much they go on, however long the kernel made them. */
	assert_int_equal(naps(&p, 1000, 300 * NS_PER_US, 20, &last_ns), 1000);
}

static void a_nap_that_finds_little_is_the_last(void **state)
{
	struct pace p = fresh();
	uint64_t last_ns;

	naps(&p, 30, 10 * NS_PER_US, 5, &last_ns);
	assert_true(last_ns > 0);
	assert_int_equal(pace_nap(&p, p.last_ns + 110 * NS_PER_US, 1), 0);
	/* And a single call after it does not wait either. */
	assert_int_equal(naps(&p, 3, 10 * NS_PER_US, 1, &last_ns), 0);
}

static void what_happened_long_ago_counts_no_more(void **state)
{
	struct pace p = fresh();
	uint64_t last_ns;

	naps(&p, 30, 39 * NS_PER_US, 1, &last_ns);
	pace_nap(&p, p.last_ns + NS_PER_S, 1);
	assert_int_equal(pace_nap(&p, p.last_ns + NS_PER_S, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_call_under_way_never_waits),
		cmocka_unit_test(a_flood_of_small_things_is_taken_together),
		cmocka_unit_test(a_nap_that_finds_little_is_the_last),
		cmocka_unit_test(what_happened_long_ago_counts_no_more),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
