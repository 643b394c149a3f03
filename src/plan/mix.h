/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sources are mixed: from a position to a source and the how-manieth draw of it, over all epochs (CONTRACTS C2). An
 * epoch of the mixture is a few segments, one more at each source that is dropped; a segment is a tree over the sources
 * that are left. doc/design/0002-order.md says where an epoch ends, and why.
 */
#ifndef OLDDOG_PLAN_MIX_H
#define OLDDOG_PLAN_MIX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rand.h"
#include "base/scope.h"
#include "plan/spec.h"

#define MIX_BLOCK 4096u			/* positions that are permuted among themselves */

struct mix_source {
	uint64_t len;			/* samples; 1..2^62 */
	uint64_t weight;		/* of tree_weights() */
	enum on_end on_end;
};

struct mix;

/*
 * n >= 1 sources. With several, and with blocks, positions are permuted under key inside their block of MIX_BLOCK,
 * never across an epoch's end. 0, -ENOMEM, or -ERANGE when an epoch is longer than 2^62.
 */
int mix_new(const struct mix_source *sources, unsigned n, bool blocks, struct philox_key key, struct mix **ret);
void mix_free(struct mix *m);
DEFINE_AUTO(mix);

uint64_t mix_epoch_len(const struct mix *m);
/* The source at position (below 2^62), and how many draws it had before, in all epochs together. */
unsigned mix_draw(struct mix *m, uint64_t position, uint64_t *ret_nth);

#endif
