/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations without memory: Feistel rounds over Philox, and a shuffle for the small ones. */
#include "plan/perm.h"

#include <assert.h>

#define N_ROUNDS 8
#define DRAW_SHUFFLE N_ROUNDS	/* the counter's last word: 0..7 are the rounds */

/* Fisher-Yates from the end; the number for place i is word i % 4 of block i / 4. */
static void shuffle(struct perm *p)
{
	uint32_t words[PERM_SMALL];

	for (unsigned i = 0; i < p->n; i++)
		p->small[i] = (uint8_t)i;
	for (unsigned i = 0; i < p->n; i += 4)
		philox(p->key, p->tweak, i / 4, DRAW_SHUFFLE, words + i);
	for (unsigned i = (unsigned)p->n - 1; i > 0; i--) {
		unsigned j = (unsigned)((uint64_t)words[i] * (i + 1) >> 32);
		uint8_t v = p->small[i];

		p->small[i] = p->small[j];
		p->small[j] = v;
	}
}

void perm_init(struct perm *p, uint64_t n, struct philox_key key, uint64_t tweak)
{
	assert(n >= 1 && n <= PERM_MAX);
	p->n = n;
	p->key = key;
	p->tweak = tweak;
	p->low_bits = 0;
	p->n_high = n;
	if (n < PERM_SMALL) {
		shuffle(p);
		return;
	}
	/*
	 * Halves as equal as they can be, the high one no larger than it must be: the network is then at most 1/8 wider
	 * than n (and hardly at all for a large n), where two halves of whole bits would be up to four times as wide.
	 */
	p->low_bits = (64 - (unsigned)__builtin_clzll(n - 1)) / 2;
	p->n_high = (n + ((uint64_t)1 << p->low_bits) - 1) >> p->low_bits;
}

static uint32_t round_number(const struct perm *p, uint32_t half, uint32_t round)
{
	uint32_t words[4];

	philox(p->key, p->tweak, half, round, words);
	return words[0];
}

/* Even rounds move the high half by a number out of the low one, odd rounds the low half by one out of the high one. */
static uint64_t feistel(const struct perm *p, uint64_t x)
{
	uint32_t mask = (uint32_t)(((uint64_t)1 << p->low_bits) - 1);
	uint32_t low = (uint32_t)x & mask;
	uint64_t high = x >> p->low_bits;

	for (uint32_t round = 0; round < N_ROUNDS; round += 2) {
		high += round_number(p, low, round) * p->n_high >> 32;
		if (high >= p->n_high)
			high -= p->n_high;
		low ^= round_number(p, (uint32_t)high, round + 1) & mask;
	}
	return high << p->low_bits | low;
}

uint64_t perm_at(const struct perm *p, uint64_t i)
{
	uint64_t x = i;

	assert(i < p->n);
	if (p->n < PERM_SMALL)
		return p->small[i];
	/* Walking the cycle until it is inside again keeps it a permutation; i itself is inside, so it ends. */
	do
		x = feistel(p, x);
	while (x >= p->n);
	return x;
}
