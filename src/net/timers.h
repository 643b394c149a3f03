/* SPDX-License-Identifier: Apache-2.0 */
/* The armed timers of a loop, for net/loop.c; their users have struct timer of net/loop.h. */
#ifndef OLDDOG_NET_TIMERS_H
#define OLDDOG_NET_TIMERS_H

#include "base/vec.h"
#include "net/loop.h"

struct timers {
	VEC(struct timer *) heap;	/* by (at_ns, seq); ptr[0] is unused, so that index 0 can say "not armed" */
	size_t n_reserved;
	uint64_t seq;			/* of the next to be set */
};

/* 0 or -ENOMEM. */
int timers_init(struct timers *ts);
void timers_release(struct timers *ts);
/* The one that fires next, or NULL. */
struct timer *timers_first(const struct timers *ts);

/* Of net/loop.c. */
struct timers *loop_timers(struct loop *loop);

#endif
