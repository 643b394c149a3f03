/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keyed permutation of 0..n-1 that needs no memory: an 8-round Feistel network over the next even power of two, with
 * cycle walking; sizes below 64 by a Fisher-Yates shuffle of their own (CONTRACTS C2).
 * doc/design/0002-order.md gives the rounds, so that a script can repeat them.
 */
#ifndef OLDDOG_PLAN_PERM_H
#define OLDDOG_PLAN_PERM_H

#include <stdint.h>

#include "base/rand.h"

struct perm {
	uint64_t n;
	struct philox_key key;
	uint64_t tweak;		/* epoch, window or block: makes permutations under one key differ */
	unsigned half_bits;	/* of the Feistel network */
};

void perm_init(struct perm *p, uint64_t n, struct philox_key key, uint64_t tweak);
/* i < n. */
uint64_t perm_at(const struct perm *p, uint64_t i);

#endif
