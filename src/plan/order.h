/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sample is at a position: a pure function (CONTRACTS C2). Shards by keyed Feistel permutation per (source,
 * epoch), windows inside groups of shards, a binary tree that mixes the sources, a Feistel permutation inside blocks of
 * 4,096 positions of the mixture.
 */
#ifndef OLDDOG_PLAN_ORDER_H
#define OLDDOG_PLAN_ORDER_H

#include <stdint.h>

#include "base/err.h"
#include "base/scope.h"
#include "plan/spec.h"

#define POSITION_MAX ((uint64_t)1 << 62)	/* positions are below it */

struct order_source {
	const uint64_t *first;	/* n_shards + 1 prefix sums of shard lengths; the caller's while the order lives */
	uint32_t n_shards;
	double weight;
	enum on_end on_end;
};

struct order_conf {
	const struct order_source *sources; /* copied, but for first */
	unsigned n_sources;
	enum order_kind kind;
	uint64_t window;
	uint32_t group;
	uint64_t seed;
};

struct order_item {
	uint64_t position;
	uint64_t epoch;			/* of the mixture */
	uint32_t source;
	uint64_t source_epoch;		/* of that source */
	uint32_t shard;			/* of that source */
	uint64_t sample;		/* within the shard */
};

struct order;

/*
 * E_SPEC with words when a source is empty, a weight is absurd, or the whole is longer than 2^62. Takes no memory for
 * samples, and for shards only when an epoch is first touched.
 */
int order_new(const struct order_conf *conf, struct order **ret, struct err *e);
void order_free(struct order *o);
DEFINE_AUTO(order);

/*
 * Positions of one epoch of the mixture; epoch k begins at position k * that. It ends with the first source that is to
 * stop it or, with none, when every source has been read once. A source that did not come to its end goes on where it
 * was in the next epoch: each counts its own epochs.
 */
uint64_t order_epoch_len(const struct order *o);
/*
 * O(log shards), but for the first item of a (source, epoch), which walks the shards once, and of a window, which walks
 * the shards of its group. It remembers both: an order belongs to one thread. -ENOMEM; -ERANGE from POSITION_MAX on.
 */
int order_at(struct order *o, uint64_t position, struct order_item *ret);
/*
 * What stands in for position when its sample is bad: drawn from its window (or source) by (position, attempt),
 * attempt 1..8 (CONTRACTS C3); -EINVAL for others. Attempts of one position are different samples, none of them its own;
 * when a window is too small for that, the later ones are drawn from the source.
 */
int order_substitute(struct order *o, uint64_t position, unsigned attempt, struct order_item *ret);

#endif
