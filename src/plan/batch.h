/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From positions to batches and ranks: pure arithmetic (CONTRACTS C1). A global batch is the next B positions outside
 * the skipped ranges; rank r of W takes items floor(r B / W) .. floor((r + 1) B / W) of it. No state but `consumed`, the
 * next position.
 */
#ifndef OLDDOG_PLAN_BATCH_H
#define OLDDOG_PLAN_BATCH_H

#include <stdint.h>

#include "base/err.h"
#include "plan/spec.h"

struct batch_conf {
	uint64_t global_batch;		/* B, at least 1 */
	enum tail tail;
	uint64_t epoch_len;		/* positions of an epoch */
	const struct spec_range *skip;	/* sorted, disjoint */
	unsigned n_skip;
};

/* One global batch: items 0..n-1, of which those from n_real on repeat earlier ones (tail: pad). */
struct batch {
	uint64_t begin;			/* consumed before it */
	uint64_t end;			/* consumed after it */
	uint64_t n, n_real;
	uint64_t epoch;			/* of its first item */
	bool last;			/* of its epoch */
};

/*
 * The batch that begins at consumed. 0, or E_END at an epoch's end when stop_epoch is that epoch (batches never cross
 * epochs, but with `carry`). `drop` may give E_END with positions left: ret->end is then the epoch's end.
 */
int batch_at(const struct batch_conf *c, uint64_t consumed, struct batch *ret);
/* The position of item i of a batch (i < n). O(log n_skip). */
uint64_t batch_position(const struct batch_conf *c, const struct batch *b, uint64_t i);
/* Rank r's items of a batch of n. */
void batch_slice(uint64_t n, uint32_t n_ranks, uint32_t rank, uint64_t *ret_from, uint64_t *ret_to);
/* Batches from consumed to the end of its epoch: what len() says. */
uint64_t batch_count(const struct batch_conf *c, uint64_t consumed);

#endif
