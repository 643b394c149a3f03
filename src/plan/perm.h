/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keyed permutation of 0..n-1 that needs no memory: an 8-round Feistel network over 2^low_bits * n_high >= n, with
 * cycle walking; sizes below 64 by a Fisher-Yates shuffle of their own (CONTRACTS C2).
 * doc/design/0002-order.md gives the rounds, so that a script can repeat them.
 */
#ifndef OLDDOG_PLAN_PERM_H
#define OLDDOG_PLAN_PERM_H

#include <stdint.h>

#include "base/rand.h"

#define PERM_SMALL 64			/* sizes below it are shuffled */
#define PERM_MAX ((uint64_t)1 << 62)

struct perm {
	uint64_t n;
	struct philox_key key;
	uint64_t tweak;			/* makes permutations under one key differ */
	unsigned low_bits;		/* a number is high << low_bits | low, with high < n_high */
	uint64_t n_high;
	uint8_t small[PERM_SMALL];	/* the whole permutation, when n < PERM_SMALL */
};

/* n in 1..PERM_MAX. */
void perm_init(struct perm *p, uint64_t n, struct philox_key key, uint64_t tweak);
/* i < n. */
uint64_t perm_at(const struct perm *p, uint64_t i);

#endif
