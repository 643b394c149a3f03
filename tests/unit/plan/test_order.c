/* SPDX-License-Identifier: Apache-2.0 */
/* The order: epochs are permutations, windows are local, mixtures have their shares, memory may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/mix.h"
#include "plan/order.h"

static const uint32_t odd_lens[] = {13, 0, 100, 1, 57, 57, 3, 0, 0, 90};

#define N_ODD (sizeof(odd_lens) / sizeof(odd_lens[0]))
#define ODD_TOTAL 321

struct shards {
	uint64_t first[64];
	uint32_t n;
};

static void shards_of(const uint32_t *lens, uint32_t n, struct shards *ret)
{
	ret->first[0] = 0;
	ret->n = n;
	for (uint32_t i = 0; i < n; i++)
		ret->first[i + 1] = ret->first[i] + lens[i];
}

static struct order *order_of(const struct order_source *sources, unsigned n, enum order_kind kind, uint64_t window,
	uint32_t group)
{
	struct order_conf conf = {
		.sources = sources, .n_sources = n, .kind = kind, .window = window, .group = group, .seed = 7};
	struct order *o = NULL;
	struct err e = {0};

	assert_int_equal(order_new(&conf, &o, &e), 0);
	return o;
}

static struct order *odd_order(struct shards *s, enum order_kind kind, uint64_t window, uint32_t group)
{
	struct order_source source = {.weight = 1.0, .on_end = ON_END_STOP};

	shards_of(odd_lens, N_ODD, s);
	source.first = s->first;
	source.n_shards = s->n;
	return order_of(&source, 1, kind, window, group);
}

/* One source of n samples in one shard; first is the caller's. */
static struct order_source plain(uint64_t n, double weight, enum on_end on_end, uint64_t first[2])
{
	first[0] = 0;
	first[1] = n;
	return (struct order_source){.first = first, .n_shards = 1, .weight = weight, .on_end = on_end};
}

static struct order_item at(struct order *o, uint64_t position)
{
	struct order_item item;

	assert_int_equal(order_at(o, position, &item), 0);
	assert_int_equal(item.position, position);
	return item;
}

static const struct {
	uint64_t window;
	uint32_t group;
} shapes[] = {{1, 1}, {1, 10}, {7, 3}, {20, 4}, {64, 1}, {100, 64}, {321, 10}, {1000, 10}, {UINT64_MAX, UINT32_MAX}};

static void assert_epoch_is_whole(struct order *o, const struct shards *s, uint64_t epoch)
{
	uint8_t seen[ODD_TOTAL] = {0};

	for (uint64_t i = 0; i < ODD_TOTAL; i++) {
		struct order_item t = at(o, epoch * ODD_TOTAL + i);
		uint64_t k = s->first[t.shard] + t.sample;

		assert_true(t.epoch == epoch && t.source_epoch == epoch && t.source == 0);
		assert_true(t.shard < s->n && t.sample < odd_lens[t.shard]);
		assert_false(seen[k]);
		seen[k] = 1;
	}
}

static void every_epoch_of_a_source_is_a_permutation(void **state)
{
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (unsigned kind = ORDER_SEQUENTIAL; kind <= ORDER_WINDOW; kind++) {
			struct shards s;
			AUTO(order) struct order *o = odd_order(&s, kind, shapes[i].window, shapes[i].group);

			assert_int_equal(order_epoch_len(o), ODD_TOTAL);
			for (uint64_t epoch = 0; epoch < 4; epoch++)
				assert_epoch_is_whole(o, &s, epoch);
			assert_epoch_is_whole(o, &s, 1);
		}
}

static void sequential_is_the_identity(void **state)
{
	struct shards s;
	AUTO(order) struct order *o = odd_order(&s, ORDER_SEQUENTIAL, 0, 0);

	for (uint64_t p = 0; p < 2 * ODD_TOTAL; p++) {
		struct order_item t = at(o, p);

		assert_int_equal(s.first[t.shard] + t.sample, p % ODD_TOTAL);
	}
}

static void epochs_differ_but_for_sequential(void **state)
{
	for (unsigned kind = ORDER_SHUFFLE; kind <= ORDER_WINDOW; kind++) {
		struct shards s;
		AUTO(order) struct order *o = odd_order(&s, kind, 100, 4);
		unsigned same = 0;

		for (uint64_t p = 0; p < ODD_TOTAL; p++) {
			struct order_item a = at(o, p), b = at(o, p + ODD_TOTAL);

			same += a.shard == b.shard && a.sample == b.sample;
		}
		assert_true(same < 30);
	}
}

/* A position has one item, however it was come to: in order, backwards, or by jumps over epochs. */
static void an_item_depends_on_its_position_only(void **state)
{
	struct shards s;
	AUTO(order) struct order *a = odd_order(&s, ORDER_WINDOW, 20, 4);
	AUTO(order) struct order *b = odd_order(&s, ORDER_WINDOW, 20, 4);
	struct order_item items[5 * ODD_TOTAL];

	for (uint64_t p = 0; p < 5 * ODD_TOTAL; p++)
		items[p] = at(a, p);
	for (uint64_t i = 0; i < 5 * ODD_TOTAL; i++) {
		uint64_t back = 5 * ODD_TOTAL - 1 - i, jump = i * 1009 % (5 * ODD_TOTAL);
		struct order_item t = at(b, i % 2 ? back : jump), *want = &items[t.position];

		assert_true(t.epoch == want->epoch && t.source_epoch == want->source_epoch && t.shard == want->shard &&
			t.sample == want->sample);
	}
}

/* With groups of 2 of 10 equal shards no more than 2 shards are open at a time, and each is read front to back. */
static void windows_are_local(void **state)
{
	static const uint32_t lens[10] = {50, 50, 50, 50, 50, 50, 50, 50, 50, 50};
	struct order_source source = {.weight = 1.0, .on_end = ON_END_STOP, .n_shards = 10};
	struct shards s;
	AUTO(order) struct order *o = NULL;

	shards_of(lens, 10, &s);
	source.first = s.first;
	o = order_of(&source, 1, ORDER_WINDOW, 20, 2);
	for (uint64_t group = 0; group < 5; group++) {
		uint32_t a = at(o, group * 100).shard, b = a;

		for (uint64_t i = 0; i < 100; i++) {
			struct order_item t = at(o, group * 100 + i);

			if (t.shard != a && b == a)
				b = t.shard;
			assert_true(t.shard == a || t.shard == b);
			/* Window i / 20 of 5: tenths of each shard. */
			assert_int_equal(t.sample / 10, i / 20);
		}
		assert_true(a != b);
	}
}

static void count_draws(struct order *o, uint64_t from, uint64_t n, unsigned n_sources, uint64_t *ret)
{
	memset(ret, 0, n_sources * sizeof(*ret));
	for (uint64_t p = from; p < from + n; p++)
		ret[at(o, p).source]++;
}

/* 10 and 1,000 samples at 0.5/0.5, whichever is first and whatever ends the epoch. */
static void small_and_large_sources_have_their_shares(void **state)
{
	static const enum on_end ends[][2] = {
		{ON_END_STOP, ON_END_STOP}, {ON_END_REPEAT, ON_END_REPEAT}, {ON_END_REPEAT, ON_END_STOP}};

	for (unsigned k = 0; k < 12; k++) {
		uint64_t first[2][2], count[2], small = k % 2;
		enum order_kind kind = k / 6 ? ORDER_SHUFFLE : ORDER_WINDOW;
		struct order_source sources[2];
		AUTO(order) struct order *o = NULL;

		sources[small] = plain(10, 0.5, ends[k / 2 % 3][0], first[0]);
		sources[1 - small] = plain(1000, 0.5, ends[k / 2 % 3][1], first[1]);
		o = order_of(sources, 2, kind, 100, 1);
		for (uint64_t from = 0; from < 4 * MIX_BLOCK; from += MIX_BLOCK) {
			count_draws(o, from, MIX_BLOCK, 2, count);
			assert_true(count[0] >= MIX_BLOCK / 2 - 1 && count[0] <= MIX_BLOCK / 2 + 1);
		}
		count_draws(o, 0, 2 * MIX_BLOCK, 2, count);
		assert_true(count[0] >= MIX_BLOCK - 1 && count[0] <= MIX_BLOCK + 1);
	}
}

static void blocks_hide_the_pattern_of_the_mixture(void **state)
{
	uint64_t first[2][2], evens = 0;
	struct order_source sources[2] = {
		plain(10000, 0.5, ON_END_STOP, first[0]), plain(10000, 0.5, ON_END_STOP, first[1])};
	AUTO(order) struct order *o = order_of(sources, 2, ORDER_SHUFFLE, 0, 0);

	/* What the first of two ranks gets with a batch of one each: all of one source, were it not for the blocks. */
	for (uint64_t p = 0; p < 4000; p += 2)
		evens += at(o, p).source == 0;
	assert_true(evens > 850 && evens < 1150);
}

struct ending {
	uint64_t len[3];
	double weight[3];
	enum on_end on_end[3];
	uint64_t epoch_len;
	uint64_t taken[3];		/* in the first epoch */
};

static void epochs_end_where_their_sources_say(void **state)
{
	static const struct ending endings[] = {
		/* equal sources that stop are read whole */
		{{1000, 1000, 1000}, {1, 1, 1}, {ON_END_STOP, ON_END_STOP, ON_END_STOP}, 3000, {1000, 1000, 1000}},
		/* the first that stops, not the smaller one that repeats */
		{{10, 600, 5000}, {1, 1, 1}, {ON_END_REPEAT, ON_END_STOP, ON_END_STOP}, 1800, {600, 600, 600}},
		/* none stops: the longest by length over weight, here the second */
		{{800, 500, 10}, {2, 1, 1}, {ON_END_REPEAT, ON_END_REPEAT, ON_END_REPEAT}, 2000, {1000, 500, 500}},
		/* dropped ones are read whole, and no more */
		{{10, 100, 1000}, {1, 1, 1}, {ON_END_DROP, ON_END_DROP, ON_END_DROP}, 1110, {10, 100, 1000}},
		{{10, 100, 1000}, {1, 1, 1}, {ON_END_DROP, ON_END_DROP, ON_END_REPEAT}, 1110, {10, 100, 1000}},
		/* one dropped on the way to a stop: 30 draws with it, then 80 of the second and 80 of the third */
		{{10, 90, 1000}, {1, 1, 1}, {ON_END_DROP, ON_END_STOP, ON_END_STOP}, 190, {10, 90, 90}},
	};

	for (unsigned k = 0; k < sizeof(endings) / sizeof(endings[0]); k++) {
		const struct ending *x = &endings[k];
		struct order_source sources[3];
		uint64_t first[3][2], count[3];
		AUTO(order) struct order *o = NULL;

		for (unsigned i = 0; i < 3; i++)
			sources[i] = plain(x->len[i], x->weight[i], x->on_end[i], first[i]);
		o = order_of(sources, 3, ORDER_SHUFFLE, 0, 0);
		/* The tree's roundings: a draw or two. */
		assert_true(order_epoch_len(o) + 2 >= x->epoch_len && order_epoch_len(o) <= x->epoch_len + 2);
		count_draws(o, 0, order_epoch_len(o), 3, count);
		for (unsigned i = 0; i < 3; i++) {
			assert_true(count[i] + 2 >= x->taken[i] && count[i] <= x->taken[i] + 2);
			if (x->on_end[i] != ON_END_REPEAT)
				assert_true(count[i] <= x->len[i]);
		}
		assert_int_equal(at(o, order_epoch_len(o) - 1).epoch, 0);
		assert_int_equal(at(o, order_epoch_len(o)).epoch, 1);
	}
}

/* Two hundred draws of a source that is left unread are two hundred different samples, over as many epochs as it takes. */
static void a_source_goes_on_where_its_last_epoch_left_it(void **state)
{
	uint64_t first[2][2];
	struct order_source sources[2] = {
		plain(10, 0.5, ON_END_STOP, first[0]), plain(1000, 0.5, ON_END_STOP, first[1])};
	AUTO(order) struct order *o = order_of(sources, 2, ORDER_WINDOW, 50, 1);
	uint8_t seen[1000] = {0};

	assert_int_equal(order_epoch_len(o), 20);
	for (uint64_t p = 0; p < 2000; p++) {
		struct order_item t = at(o, p);

		assert_int_equal(t.source_epoch, t.source == 0 ? p / 20 : 0);
		if (t.source == 1) {
			assert_false(seen[t.sample]);
			seen[t.sample] = 1;
		}
	}
	assert_int_equal(at(o, 2000).epoch, 100);
}

static bool same_sample(const struct order_item *a, const struct order_item *b)
{
	return a->source == b->source && a->shard == b->shard && a->sample == b->sample;
}

static void substitutes_are_others_and_differ_by_attempt(void **state)
{
	for (unsigned kind = ORDER_SEQUENTIAL; kind <= ORDER_WINDOW; kind++) {
		struct shards s;
		AUTO(order) struct order *o = odd_order(&s, kind, 50, N_ODD);

		for (uint64_t p = 0; p < ODD_TOTAL; p++) {
			struct order_item item[9] = {at(o, p)};

			for (unsigned attempt = 1; attempt <= 8; attempt++) {
				assert_int_equal(order_substitute(o, p, attempt, &item[attempt]), 0);
				assert_true(item[attempt].source_epoch == item[0].source_epoch);
				for (unsigned k = 0; k < attempt; k++)
					assert_false(same_sample(&item[attempt], &item[k]));
			}
		}
	}
}

/* Windows of a single sample: there are others in the source. */
static void substitutes_of_tiny_windows_are_others(void **state)
{
	struct shards s;
	AUTO(order) struct order *o = odd_order(&s, ORDER_WINDOW, 1, 1);

	for (uint64_t p = 0; p < ODD_TOTAL; p++)
		for (unsigned attempt = 1; attempt <= 8; attempt++) {
			struct order_item item = at(o, p), other;

			assert_int_equal(order_substitute(o, p, attempt, &other), 0);
			assert_true(other.sample < odd_lens[other.shard]);
			assert_false(same_sample(&item, &other));
		}
}

static void substitutes_stay_in_their_group_of_shards(void **state)
{
	struct shards s;
	AUTO(order) struct order *o = odd_order(&s, ORDER_WINDOW, UINT64_MAX, 2);
	uint32_t partner[N_ODD];

	memset(partner, 0xff, sizeof(partner));
	for (uint64_t p = 0; p < ODD_TOTAL; p++) {
		struct order_item item = at(o, p), other;

		if (odd_lens[item.shard] == 1)
			continue;
		assert_int_equal(order_substitute(o, p, 1, &other), 0);
		if (other.shard == item.shard)
			continue;
		assert_true(partner[item.shard] == UINT32_MAX || partner[item.shard] == other.shard);
		partner[item.shard] = other.shard;
	}
}

static void a_sample_alone_stands_in_for_itself(void **state)
{
	uint64_t first[2];
	struct order_source source = plain(1, 1.0, ON_END_STOP, first);
	AUTO(order) struct order *o = order_of(&source, 1, ORDER_SHUFFLE, 0, 0);
	struct order_item item;

	assert_int_equal(order_substitute(o, 5, 1, &item), 0);
	assert_true(item.shard == 0 && item.sample == 0 && item.epoch == 5);
}

static void what_cannot_be_answered_is_refused(void **state)
{
	uint64_t first[2];
	struct order_source source = plain(10, 1.0, ON_END_STOP, first);
	AUTO(order) struct order *o = order_of(&source, 1, ORDER_SHUFFLE, 0, 0);
	struct order_item item;

	assert_int_equal(order_at(o, POSITION_MAX - 1, &item), 0);
	assert_int_equal(order_at(o, POSITION_MAX, &item), -ERANGE);
	assert_int_equal(order_at(o, UINT64_MAX, &item), -ERANGE);
	assert_int_equal(order_substitute(o, 0, 0, &item), -EINVAL);
	assert_int_equal(order_substitute(o, 0, 9, &item), -EINVAL);
	assert_int_equal(order_substitute(o, POSITION_MAX, 1, &item), -ERANGE);
}

static void assert_refused(struct order_source a, struct order_source b, enum order_kind kind, uint64_t window,
	const char *words)
{
	struct order_source sources[2] = {a, b};
	struct order_conf conf = {.sources = sources, .n_sources = 2, .kind = kind, .window = window, .group = 1};
	struct order *o = NULL;
	struct err e = {0};

	assert_int_equal(order_new(&conf, &o, &e), E_SPEC);
	assert_null(o);
	assert_non_null(strstr(e.words, words));
}

static void absurd_orders_are_refused_with_words(void **state)
{
	uint64_t first[5][2];
	struct order_source good = plain(10, 1.0, ON_END_REPEAT, first[0]), empty = plain(0, 1.0, ON_END_STOP, first[1]);
	struct order_source weightless = plain(10, 0.0, ON_END_STOP, first[2]);
	struct order_source huge = plain(POSITION_MAX, 1.0, ON_END_STOP, first[3]);
	struct order_source rare = plain((uint64_t)1 << 40, 1e-8, ON_END_STOP, first[4]);

	assert_refused(good, empty, ORDER_SHUFFLE, 0, "source 1 has no samples");
	assert_refused(good, weightless, ORDER_SHUFFLE, 0, "weight");
	assert_refused(huge, good, ORDER_SHUFFLE, 0, "2^62");
	assert_refused(good, rare, ORDER_SHUFFLE, 0, "epoch has more than 2^62");
	assert_refused(good, good, ORDER_WINDOW, 0, "window");
}

static int try_order(const struct order_conf *conf)
{
	AUTO(order) struct order *o = NULL;
	struct order_item item;
	struct err e = {0};
	int r = order_new(conf, &o, &e);

	if (r < 0)
		return r;
	/* A failure leaves the order usable: what failed is asked again at the end. */
	for (uint64_t p = 0; p < 2000 && r == 0; p += 97)
		r = order_at(o, p, &item);
	for (uint64_t p = 0; p < 2000 && r < 0; p += 97)
		assert_int_equal(order_at(o, p, &item), 0);
	return r;
}

static void no_memory_is_told_and_survived(void **state)
{
	struct shards s;
	uint64_t first[2];
	struct order_source sources[2] = {
		{.weight = 1.0, .on_end = ON_END_DROP}, plain(1000, 2.0, ON_END_DROP, first)};
	struct order_conf conf = {
		.sources = sources, .n_sources = 2, .kind = ORDER_WINDOW, .window = 50, .group = 3, .seed = 7};
	uint64_t nth = 0;
	int r;

	shards_of(odd_lens, N_ODD, &s);
	sources[0].first = s.first;
	sources[0].n_shards = s.n;
	do {
		mem_fail_nth(++nth);
		r = try_order(&conf);
		assert_int_equal(r, mem_failed() ? -ENOMEM : 0);
	} while (mem_failed());
	mem_fail_nth(0);
	assert_true(nth > 20);
}

/* 10^9 samples in 100,000 shards: nothing grows with the samples, and an answer needs one walk over the shards. */
static void a_billion_samples_are_ordered_at_once(void **state)
{
	enum { SHARDS = 100000, EACH = 10000 };
	uint64_t *first = calloc(SHARDS + 1, sizeof(*first));
	struct order_source source = {.first = first, .n_shards = SHARDS, .weight = 1.0, .on_end = ON_END_STOP};
	AUTO(order) struct order *o = NULL;

	assert_non_null(first);
	for (uint32_t i = 0; i < SHARDS; i++)
		first[i + 1] = first[i] + EACH;
	o = order_of(&source, 1, ORDER_WINDOW, 200000, 64);
	assert_int_equal(order_epoch_len(o), 1000000000);
	for (uint64_t p = 0; p < 3000000000; p += 299999999) {
		struct order_item t = at(o, p);

		assert_true(t.shard < SHARDS && t.sample < EACH && t.epoch == p / 1000000000);
	}
	free(first);
}

/* The end of an epoch of some 10^17 positions, with drops on the way, is arithmetic too. */
static void the_longest_mixtures_end_at_once(void **state)
{
	uint64_t first[3][2], n = (uint64_t)1 << 50;
	struct order_source sources[3] = {plain(n, 1.0, ON_END_DROP, first[0]), plain(2 * n, 0.01, ON_END_DROP, first[1]),
		plain(n - 1, 0.5, ON_END_DROP, first[2])};
	AUTO(order) struct order *o = order_of(sources, 3, ORDER_SHUFFLE, 0, 0);

	assert_true(order_epoch_len(o) == 4 * n - 1);
	/* The last that is left is the lightest. */
	assert_int_equal(at(o, 4 * n - 2).source, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_epoch_of_a_source_is_a_permutation),
		cmocka_unit_test(sequential_is_the_identity),
		cmocka_unit_test(epochs_differ_but_for_sequential),
		cmocka_unit_test(an_item_depends_on_its_position_only),
		cmocka_unit_test(windows_are_local),
		cmocka_unit_test(small_and_large_sources_have_their_shares),
		cmocka_unit_test(blocks_hide_the_pattern_of_the_mixture),
		cmocka_unit_test(epochs_end_where_their_sources_say),
		cmocka_unit_test(a_source_goes_on_where_its_last_epoch_left_it),
		cmocka_unit_test(substitutes_are_others_and_differ_by_attempt),
		cmocka_unit_test(substitutes_of_tiny_windows_are_others),
		cmocka_unit_test(substitutes_stay_in_their_group_of_shards),
		cmocka_unit_test(a_sample_alone_stands_in_for_itself),
		cmocka_unit_test(what_cannot_be_answered_is_refused),
		cmocka_unit_test(absurd_orders_are_refused_with_words),
		cmocka_unit_test(no_memory_is_told_and_survived),
		cmocka_unit_test(a_billion_samples_are_ordered_at_once),
		cmocka_unit_test(the_longest_mixtures_end_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
