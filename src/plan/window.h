/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order inside one source: from (epoch of the source, index in that epoch) to a shard and a sample (CONTRACTS C2).
 * Sequential is the identity, shuffled one permutation of all samples. Windowed: shards are permuted and cut into
 * groups; of a group of N samples, window k of K = ceil(N / window) takes samples floor(len k / K) .. floor(len (k + 1)
 * / K) - 1 of each of its shards and permutes them. So a reader has few shards open and reads each from front to back.
 */
#ifndef OLDDOG_PLAN_WINDOW_H
#define OLDDOG_PLAN_WINDOW_H

#include <stdint.h>

#include "base/rand.h"
#include "base/scope.h"
#include "plan/spec.h"

struct window_conf {
	const uint64_t *first;		/* n_shards + 1 prefix sums; the caller's while the order lives; no empty source */
	uint32_t n_shards;
	uint32_t source;		/* its number, for the keys */
	enum order_kind kind;
	uint64_t window;		/* ORDER_WINDOW: samples, at least 1 */
	uint32_t group;			/* ORDER_WINDOW: shards, at least 1 */
	uint64_t seed;
};

struct window_place {
	uint32_t shard;
	uint64_t sample;		/* in the shard */
};

/*
 * The other item that a bad one is replaced by: number attempt - 1 of a permutation, under key and tweak, of its window's
 * other samples or, when the window has no more than attempt samples, of the source's other samples.
 */
struct window_other {
	struct philox_key key;
	uint64_t tweak;
	unsigned attempt;		/* at least 1 */
};

struct window_order;

/* Memory is taken when an epoch is first asked for. NULL when it is short. */
struct window_order *window_order_new(const struct window_conf *conf);
void window_order_free(struct window_order *w);
DEFINE_AUTO(window_order);

/*
 * The item at index of the source's epoch or, with other, another one (itself when it is alone in its source). 0 or
 * -ENOMEM. The last two epochs are remembered, and the last few windows.
 */
int window_order_at(struct window_order *w, uint64_t epoch, uint64_t index, const struct window_other *other,
	struct window_place *ret);

#endif
