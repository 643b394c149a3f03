/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a worker that has something to do is at it: a pure function of what was seen of it, look after look. A time
 * limit alone would have to be longer than any decode on any busy machine; a process that was stopped (SIGSTOP, a
 * debugger) or that hangs is known much sooner, by a processor time that stands still and by what the kernel says of it.
 *
 * One that only waits for a processor (runnable, on a machine with too much to do) is never taken for a stalled one. Nor
 * does time count in which nobody looked: after a gap (the owner was stopped, the machine slept) counting begins anew.
 */
#ifndef OLDDOG_WORKER_STALL_POLICY_H
#define OLDDOG_WORKER_STALL_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Between looks, while a work is under way; so works that take less cost none. One that comes sooner is no look. */
#define STALL_LOOK_NS (250 * NS_PER_MS)
/* Looks in a row, after the first: a second, and ten. */
#define STALL_STOPPED_LOOKS 4
#define STALL_IDLE_LOOKS 40

enum stall_state {
	STALL_UNKNOWN,	/* no /proc; or it waits for a page of its program or of swap, as any other would */
	STALL_RUNS,	/* runs or could */
	STALL_SLEEPS,	/* waits for something: a confined worker that has a message has nothing to wait for */
	STALL_STOPPED,
};

struct stall_look {
	uint64_t now_ns, cpu_ns; /* cpu_ns 0: not to be told */
	enum stall_state state;
};

/* Zeros: another work, nothing seen yet. */
struct stall {
	struct stall_look last;
	unsigned n_stopped, n_idle;	/* looks in a row */
};

enum stall_verdict { STALL_NONE, STALL_IS_STOPPED, STALL_IS_IDLE };

enum stall_verdict stall_look(struct stall *s, const struct stall_look *look);

#endif
