/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a thread that is woken very often should look up less often: what network cards do with interrupts. Ten thousands
 * of small answers a second cost more in waking than in work; a thread that naps for a moment between looks finds several
 * at once. Whoever has one call under way is never made to wait: naps begin when something comes more often than naps
 * would be long, and end when a nap finds little. Pure; times in nanoseconds.
 */
#ifndef OLDDOG_NET_PACE_H
#define OLDDOG_NET_PACE_H

#include <stdint.h>

struct pace {
	uint64_t last_ns;	/* when it was woken before */
	uint64_t mean_gap_ns;	/* between wakes, of the recent ones */
	uint64_t napped_ns;	/* of the nap before this turn; 0: none */
};

/* Woken at now_ns, and n callbacks ran since: how long to nap before looking again. 0: do not. */
uint64_t pace_nap(struct pace *p, uint64_t now_ns, unsigned n);

#endif
