/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: nothing lost, nothing twice, whatever the size, the tail, the skipped ranges and the number of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/batch.h"

#define EPOCH 100
#define N_EPOCHS 4

static const struct spec_range some[] = {{0, 0}, {5, 30}, {32, 32}, {95, 104}, {150, 199}, {250, 250}};
static const enum tail tails[] = {TAIL_SHORT, TAIL_DROP, TAIL_PAD, TAIL_CARRY};
static const uint64_t sizes[] = {1, 2, 7, 10, 33, 50, 100, 130};

static bool skipped(const struct batch_conf *c, uint64_t p)
{
	for (unsigned i = 0; i < c->n_skip; i++)
		if (p >= c->skip[i].first && p <= c->skip[i].last)
			return true;
	return false;
}

static unsigned n_left(const struct batch_conf *c, uint64_t from, uint64_t to)
{
	unsigned n = 0;

	for (uint64_t p = from; p < to; p++)
		n += !skipped(c, p);
	return n;
}

/* Runs check over every size, tail, and both with and without skipped ranges. */
static void every_conf(void (*check)(const struct batch_conf *))
{
	for (unsigned s = 0; s < N_ELEMS(sizes); s++)
		for (unsigned t = 0; t < N_ELEMS(tails); t++)
			for (unsigned k = 0; k < 2; k++) {
				struct batch_conf c = {.global_batch = sizes[s], .tail = tails[t], .epoch_len = EPOCH,
					.skip = some, .n_skip = k ? N_ELEMS(some) : 0};

				check(&c);
			}
}

static void check_deliveries(const struct batch_conf *c)
{
	uint8_t seen[N_EPOCHS * EPOCH + 200] = {0};
	uint64_t consumed = 0, before = 0;

	while (consumed < N_EPOCHS * EPOCH) {
		struct batch b;

		if (batch_at(c, consumed, &b) == E_END) {
			assert_true(b.n == 0 && b.end > consumed && b.end % EPOCH == 0);
			consumed = b.end;
			continue;
		}
		assert_true(b.begin == consumed && b.end > consumed && b.n_real >= 1 && b.n_real <= b.n);
		assert_true(b.n == c->global_batch || c->tail == TAIL_SHORT);
		assert_true(b.n == b.n_real || (c->tail == TAIL_PAD && b.last));
		for (uint64_t i = 0; i < b.n; i++) {
			uint64_t p = batch_position(c, &b, i);

			assert_true(p >= b.begin && p < b.end && !skipped(c, p));
			if (i >= b.n_real) {
				assert_int_equal(p, batch_position(c, &b, i - b.n_real));
				continue;
			}
			assert_true(!seen[p] && (p >= before || p == 0));
			assert_true(c->tail == TAIL_CARRY || p / EPOCH == b.epoch);
			seen[p] = 1;
			before = p;
		}
		assert_true(!b.last || b.end >= (b.epoch + 1) * EPOCH);
		consumed = b.end;
	}
	for (uint64_t epoch = 0; epoch < N_EPOCHS; epoch++) {
		unsigned got = 0, all = n_left(c, epoch * EPOCH, (epoch + 1) * EPOCH);

		for (uint64_t p = epoch * EPOCH; p < (epoch + 1) * EPOCH; p++)
			got += seen[p];
		assert_int_equal(got, c->tail == TAIL_DROP ? all / c->global_batch * c->global_batch : all);
	}
}

static void every_position_is_delivered_once(void **state)
{
	every_conf(check_deliveries);
}

/* From any position, count says how many batches of that epoch there will be, and the last of them says so. */
static void check_counts(const struct batch_conf *c)
{
	for (uint64_t from = 0; from < 2 * EPOCH; from++) {
		uint64_t consumed = from, n = 0, epoch = from / EPOCH;
		struct batch b = {.last = false};

		while (!b.last) {
			int r = batch_at(c, consumed, &b);

			if (r == E_END || b.epoch != epoch)
				break;
			consumed = b.end;
			n++;
		}
		assert_int_equal(batch_count(c, from), n);
		assert_true(n == 0 || b.last);
	}
}

static void count_agrees_with_the_batches(void **state)
{
	every_conf(check_counts);
}

/* From where the k-th batch ended, the batches are those that would have come: their items are a suffix of all. */
static void check_resumption(const struct batch_conf *c)
{
	uint64_t all[3 * EPOCH], n_all = 0, ends[3 * EPOCH], n_before[3 * EPOCH], n_ends = 0;
	struct batch b;

	for (uint64_t consumed = 0; consumed < 2 * EPOCH; consumed = b.end) {
		int r = batch_at(c, consumed, &b);

		for (uint64_t i = 0; r == 0 && i < b.n_real && n_all < N_ELEMS(all); i++)
			all[n_all++] = batch_position(c, &b, i);
		ends[n_ends] = b.end;
		n_before[n_ends++] = n_all;
	}
	for (uint64_t k = 0; k < n_ends; k++) {
		uint64_t n = n_before[k];

		for (uint64_t consumed = ends[k]; consumed < 2 * EPOCH; consumed = b.end) {
			int r = batch_at(c, consumed, &b);

			for (uint64_t i = 0; r == 0 && i < b.n_real && n < n_all; i++)
				assert_int_equal(batch_position(c, &b, i), all[n++]);
		}
		assert_int_equal(n, n_all);
	}
}

static void resuming_gives_the_rest(void **state)
{
	every_conf(check_resumption);
}

static void another_batch_size_goes_on_without_loss(void **state)
{
	struct batch_conf c = {.global_batch = 7, .tail = TAIL_SHORT, .epoch_len = EPOCH};
	struct batch b;
	uint64_t next = 0;

	for (uint64_t consumed = 0; consumed < EPOCH; consumed = b.end) {
		assert_int_equal(batch_at(&c, consumed, &b), 0);
		for (uint64_t i = 0; i < b.n; i++)
			assert_int_equal(batch_position(&c, &b, i), next++);
		c.global_batch = c.global_batch % 11 + 3;
	}
	assert_int_equal(next, EPOCH);
}

static void every_number_of_ranks_parts_the_batch(void **state)
{
	for (uint64_t n = 0; n <= 70; n++)
		for (uint32_t n_ranks = 1; n_ranks <= 8; n_ranks++) {
			uint64_t next = 0, least = UINT64_MAX, most = 0;

			for (uint32_t rank = 0; rank < n_ranks; rank++) {
				uint64_t from, to;

				batch_slice(n, n_ranks, rank, &from, &to);
				assert_int_equal(from, next);
				assert_int_equal(from, rank * n / n_ranks);
				least = MIN(least, to - from);
				most = MAX(most, to - from);
				next = to;
			}
			assert_int_equal(next, n);
			assert_true(most - least <= 1);
		}
}

static void slices_of_huge_batches_do_not_wrap(void **state)
{
	uint64_t from, to, n = POSITION_MAX;

	batch_slice(n, UINT32_MAX, UINT32_MAX - 1, &from, &to);
	assert_true(to == n && n - from <= n / UINT32_MAX + 1);
	batch_slice(n, UINT32_MAX, 0, &from, &to);
	assert_true(from == 0 && to == n / UINT32_MAX);
}

static void carry_crosses_an_epochs_end(void **state)
{
	struct batch_conf c = {.global_batch = 30, .tail = TAIL_CARRY, .epoch_len = EPOCH, .skip = some, .n_skip = 0};
	struct batch b;

	assert_int_equal(batch_at(&c, 90, &b), 0);
	assert_true(b.n == 30 && b.end == 120 && b.epoch == 0 && b.last);
	assert_int_equal(batch_at(&c, b.end, &b), 0);
	assert_true(b.begin == 120 && b.end == 150 && b.epoch == 1 && !b.last);
}

static void the_last_batch_takes_skipped_and_dropped_positions_with_it(void **state)
{
	static const struct spec_range end[] = {{95, 99}};
	struct batch_conf c = {.global_batch = 19, .tail = TAIL_SHORT, .epoch_len = EPOCH, .skip = end, .n_skip = 1};
	struct batch b;

	assert_int_equal(batch_at(&c, 76, &b), 0);
	assert_true(b.n == 19 && b.last && b.end == 100);
	c.global_batch = 40;
	c.tail = TAIL_DROP;
	assert_int_equal(batch_at(&c, 40, &b), 0);
	assert_true(b.n == 40 && b.last && b.end == 100);
	assert_int_equal(batch_at(&c, 81, &b), E_END);
	assert_int_equal(b.end, 100);
}

static void skipped_epochs_are_passed_over(void **state)
{
	static const struct spec_range most[] = {{50, 449}, {460, UINT64_MAX}};
	struct batch_conf c = {.global_batch = 20, .tail = TAIL_SHORT, .epoch_len = EPOCH, .skip = most, .n_skip = 2};
	struct batch b;

	assert_int_equal(batch_at(&c, 50, &b), E_END);
	assert_int_equal(b.end, 400);
	assert_int_equal(batch_at(&c, 400, &b), 0);
	assert_true(b.n == 10 && b.last && b.end == 500 && batch_position(&c, &b, 0) == 450);
	assert_int_equal(batch_at(&c, 500, &b), E_END);
	assert_true(b.end == POSITION_MAX);
	assert_int_equal(batch_at(&c, b.end, &b), -ERANGE);
	c.tail = TAIL_CARRY;
	assert_int_equal(batch_at(&c, 100, &b), 0);
	assert_true(b.n == 10 && b.epoch == 4 && batch_position(&c, &b, 9) == 459);
	assert_int_equal(batch_at(&c, 460, &b), E_END);
	assert_int_equal(batch_count(&c, 460), 0);
}

static void positions_at_the_end_of_all_do_not_wrap(void **state)
{
	static const struct spec_range last[] = {{POSITION_MAX - 3, POSITION_MAX + 3}};
	struct batch_conf c = {.global_batch = POSITION_MAX, .tail = TAIL_CARRY, .epoch_len = POSITION_MAX - 1, .skip = last,
		.n_skip = 1};
	struct batch b;

	assert_int_equal(batch_at(&c, 0, &b), 0);
	assert_true(b.n == POSITION_MAX - 3 && b.last);
	assert_int_equal(batch_at(&c, POSITION_MAX - 1, &b), E_END);
	assert_int_equal(batch_at(&c, UINT64_MAX, &b), -ERANGE);
	assert_int_equal(batch_count(&c, UINT64_MAX), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_position_is_delivered_once),
		cmocka_unit_test(count_agrees_with_the_batches),
		cmocka_unit_test(resuming_gives_the_rest),
		cmocka_unit_test(another_batch_size_goes_on_without_loss),
		cmocka_unit_test(every_number_of_ranks_parts_the_batch),
		cmocka_unit_test(slices_of_huge_batches_do_not_wrap),
		cmocka_unit_test(carry_crosses_an_epochs_end),
		cmocka_unit_test(the_last_batch_takes_skipped_and_dropped_positions_with_it),
		cmocka_unit_test(skipped_epochs_are_passed_over),
		cmocka_unit_test(positions_at_the_end_of_all_do_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
