/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded pool of threads for work that blocks. On a virtual loop there are no threads: the work runs from the loop,
 * in the order of submission (no time passes, so none is urgent), so that a schedule repeats exactly.
 */
#ifndef OLDDOG_NET_POOL_H
#define OLDDOG_NET_POOL_H

#include "net/loop.h"

#define POOL_MAX_THREADS 256

struct pool;

/* Threads start when work comes, at most n_threads (1 to POOL_MAX_THREADS, asserted). */
int pool_new(unsigned n_threads, struct pool **ret_pool);
/* Waits for work that is running; no work may be waiting. */
void pool_free(struct pool *pool);
DEFINE_AUTO(pool);

/* Embedded in its user's struct; the user's until done() has run. */
struct job {
	struct task task;
	struct job *next;
	struct loop *loop;
	bool urgent;			/* goes before those that wait and are not, but not for ever */
	void (*work)(struct job *job);	/* on a pool thread: touches nothing that the loop's thread touches */
	void (*done)(struct job *job);	/* on the loop's thread, exactly once, never inside pool_submit() */
};

/* From any thread that owns a loop; several loops may share a pool. */
void pool_submit(struct pool *pool, struct loop *loop, struct job *job);

#endif
