/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From positions to batches and ranks: pure arithmetic (CONTRACTS C1). A global batch is the next B positions outside
 * the skipped ranges; rank r of W takes items floor(r B / W) .. floor((r + 1) B / W) of it. No state but `consumed`, the
 * next position.
 *
 * After a batch, `consumed` is the position behind its last item; behind the last batch of an epoch it is the epoch's end
 * at least, so that skipped positions there, and what `drop` leaves over, do not make an empty rest of an epoch. Skipped
 * positions before a batch belong to that batch: other ranges given at a resume hold for all that was not delivered yet.
 */
#ifndef OLDDOG_PLAN_BATCH_H
#define OLDDOG_PLAN_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/order.h"
#include "plan/spec.h"

struct batch_conf {
	uint64_t global_batch;		/* B, 1..POSITION_MAX */
	enum tail tail;
	uint64_t epoch_len;		/* positions of an epoch, 1..POSITION_MAX */
	const struct spec_range *skip;	/* sorted, disjoint; positions of any epoch */
	unsigned n_skip;
};

/* One global batch: items 0..n-1, of which those from n_real on repeat the first ones (tail: pad). */
struct batch {
	uint64_t begin;			/* consumed before it */
	uint64_t end;			/* consumed after it */
	uint64_t n, n_real;
	uint64_t epoch;			/* of its first item */
	bool last;			/* no other batch begins with an item of this epoch */
};

/*
 * The batch that begins at consumed. Batches never cross epochs, but with `carry`, whose last batch of an epoch takes
 * its missing items from the next.
 * E_END: no batch is left in the epoch of consumed, because the rest is skipped or is fewer than `drop` needs. ret then
 * has n = 0 and leads on to ret->end: the next epoch that is not skipped whole, or POSITION_MAX. (An epoch shorter than
 * B has no batch at all with `drop`: who reads several epochs refuses that beforehand.)
 * -ERANGE when consumed is not below POSITION_MAX.
 * O(log n_skip + ranges inside the batch).
 */
int batch_at(const struct batch_conf *c, uint64_t consumed, struct batch *ret);
/* The position of item i of a batch (i < n). O(log n_skip + ranges inside the batch). */
uint64_t batch_position(const struct batch_conf *c, const struct batch *b, uint64_t i);
/* Rank r's items of a batch of n. */
void batch_slice(uint64_t n, uint32_t n_ranks, uint32_t rank, uint64_t *ret_from, uint64_t *ret_to);
/* Batches that begin with an item between consumed and the end of its epoch: what len() says. O(n_skip). */
uint64_t batch_count(const struct batch_conf *c, uint64_t consumed);

#endif
