/* SPDX-License-Identifier: Apache-2.0 */
/* What pool.c (what callers do), turn.c (who decodes what, and how often) and proc.c (one worker) share. */
#ifndef OLDDOG_WORKER_POOL_INT_H
#define OLDDOG_WORKER_POOL_INT_H

#include <sys/types.h>

#include "wire/workmsg.h"
#include "worker/shared.h"
#include "worker/slab.h"
#include "worker/stall_policy.h"
#include "worker/worker.h"

/* One worker's output memory. It outlives the worker while somebody still looks at pixels in it. */
struct worker_out {
	struct list list;	/* of the pool */
	struct shared mem;
	struct slab slab;
	unsigned n_refs;	/* the worker, and each work that has room */
};

enum proc_state {
	PROC_NONE,
	PROC_STARTING,	/* until READY */
	PROC_READY,
	PROC_ENDING,	/* killed, not reaped yet; its works are still in the queue */
	PROC_RESTING,	/* could not be started; until the timer */
};

struct worker_proc {
	struct worker_pool *pool;
	enum proc_state state;
	pid_t pid;		/* 0: behind a memory pipe */
	int pid_fd;
	struct watch exit_watch;
	struct conn *conn;
	void *served;		/* behind a memory pipe: what conf.spawn gave */
	struct worker_out *out;
	struct list queue;	/* works sent and not answered; the first is under way */
	unsigned n_queued;
	uint64_t queued_us;	/* what they are expected to take */
	uint64_t need_bytes;	/* of memory; until it is reaped when it ends */
	uint64_t n_sent;	/* works, in this life */
	struct timer timer;
	unsigned n_ticks;
	struct stall stall;	/* of the work under way */
	bool was_ready;		/* ENDING: it had been; a code, and words */
	int why;
	char words[96];
};

struct worker_pool {
	struct worker_conf conf;	/* defaults filled in */
	char *program;
	struct recipe recipe;
	struct shared in, recipe_bytes;
	struct slab in_slab;
	struct worker_proc *procs;	/* conf.n_workers */
	struct list outs;
	struct heap waiting;		/* works for any worker */
	struct list again;		/* works over which a worker ended: for fresh ones */
	struct list ended;		/* works whose done() is due */
	struct timer turn;
	void (*on_room)(void *ctx);
	void *on_room_ctx;
	bool room_refused, room_free;
	unsigned n_failed_starts;	/* in a row */
	uint64_t seq, order;
	struct worker_counts counts;
	uint8_t fingerprint[32];
	bool closing, delivering;
};

/* proc.c */

int proc_init(struct worker_proc *p, struct worker_pool *pool);
/* Ends and reaps at once; the queue stays. */
void proc_release(struct worker_proc *p);
/* From PROC_NONE. A failure leaves it there. In proc_start.c, which sets these two going: */
int proc_start(struct worker_proc *p, struct err *e);
void proc_arm(struct worker_proc *p);
void proc_can_read(struct conn *c, unsigned can, void *ctx);
/* Gives a work to a READY worker: 0, -EAGAIN (no room in its output, or it has just ended). */
int proc_send(struct worker_proc *p, struct work *w);
void proc_rest(struct worker_proc *p, uint64_t until_ns);

/* turn.c */

void pool_kick(struct worker_pool *pool);
void pool_turn(struct timer *t);
/* Calls done() of all works that have ended. */
void pool_deliver(struct worker_pool *pool);
void pool_work_done(struct worker_pool *pool, struct work *w, const struct workmsg *m);
/* The worker is PROC_NONE again; was_ready, why, words and queue are as it left them. */
void pool_proc_gone(struct worker_pool *pool, struct worker_proc *p);
/* w, which is in no list, has ended with r; words are the caller's. Its room is kept for a result only. */
void work_end(struct worker_pool *pool, struct work *w, int r);
void works_end(struct worker_pool *pool, struct list *works, int r, const char *words);
void works_waiting_end(struct worker_pool *pool, int r, const char *words);
bool work_before(const struct heap_node *a, const struct heap_node *b);
void work_drop_room(struct work *w);

/* proc.c */

void out_unref(struct worker_out *out);

#endif
