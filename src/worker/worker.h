/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of confined decoding processes (CONTRACTS C7). The owner reads encoded bytes straight into the input arena,
 * submits works, and copies pixels once out of the worker's own output memory.
 */
#ifndef OLDDOG_WORKER_WORKER_H
#define OLDDOG_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"
#include "net/conn.h"
#include "net/loop.h"
#include "wire/recipe.h"

struct worker_pool;
struct work;

struct worker_conf {
	struct loop *loop;
	const struct recipe *recipe;	/* copied */
	unsigned n_workers;
	size_t in_bytes;		/* of the arena, all workers together */
	size_t out_bytes;		/* of each worker's output memory */
	uint64_t time_limit_ns;		/* of one work, by loop_now(); not deterministic: kills and retries */
	size_t memory_limit_bytes;	/* of a worker's address space beyond the shared memories; likewise */
	/*
	 * Works inside one worker, the one under way included; 0: 2; at most 64. More than one only of light works: what
	 * is inside cannot be given to another worker, and waits as long as the one under way takes.
	 */
	unsigned queue_depth;
	unsigned max_attempts;		/* workers that may end over one work before it fails; 0: 3 */
	/*
	 * What the works inside all workers may need together, as they say. 0: no bound. A work that needs more is begun
	 * when nothing else is under way.
	 */
	uint64_t need_bytes;
	const char *program;		/* path of olddog-worker; NULL: beside this program */
	/*
	 * For tests on virtual time: makes a worker behind a memory pipe in place of a process, and ends it. spawn gets
	 * the recipe, the two memories and the other end (which it takes, also when it fails); kill gets what it gave.
	 * worker/serve.h has both. NULL: processes.
	 */
	int (*spawn)(void *ctx, struct loop *loop, const struct recipe *recipe, const uint8_t *in, size_t in_bytes,
		uint8_t *out, size_t out_bytes, struct conn *end, void **ret_worker);
	void (*kill)(void *ctx, void *worker);
	void *spawn_ctx;
	struct pipe_faults faults;	/* of those pipes; each has its own seed, from this one's */
};

/* Spaces in the input arena. */
struct worker_in {
	uint8_t *p;
	size_t n;		/* as asked */
	uint64_t offset;
};

/* One decode, allocated by the caller, the pool's from worker_submit() until worker_release(). */
struct work {
	/* Set by the caller. */
	uint64_t position;
	uint32_t field;			/* index into the recipe */
	struct worker_in in;
	uint64_t out_bytes;		/* room that the result needs at most */
	uint64_t due;			/* of those that wait the smallest is begun first; equal ones as they came */
	uint32_t cost_us;		/* what it is expected to take: none waits inside a worker behind a heavy one */
	uint64_t need_bytes;		/* what it is expected to need of its worker's memory */
	void (*done)(struct work *w);	/* on the loop, exactly once, never inside worker_submit() */
	void *ctx;
	/* Results, valid from done() to worker_release(). */
	/*
	 * 0; E_BAD_SAMPLE, E_REFUSED_SAMPLE, E_LIMIT; -ENOSPC: out_bytes was too small, words say what is needed;
	 * -E2BIG: in or out_bytes can never fit; after max_attempts E_WORKER_DIED, E_WORKER_TIMEOUT or -ENOMEM
	 * (the memory limit); -ECANCELED.
	 */
	int r;
	const uint8_t *pixels;		/* h * w * c bytes; may change under a hostile worker: copy once, then look */
	uint32_t h, w, c, n_warnings;
	uint64_t checksum;		/* of the pixels, by the worker */
	char words[160];
	unsigned attempts;		/* workers that ended over it */
	/* The pool's own. */
	struct list list;
	struct heap_node waiting;
	struct worker_out *out;
	uint64_t out_offset, seq, order;
};

int worker_pool_new(const struct worker_conf *conf, struct worker_pool **ret_pool, struct err *e);
/*
 * Kills what runs. Works that have not ended get done(-ECANCELED) before this returns; pixels are gone after it. Not from
 * inside done(). Workers also end when the thread that made them, or its process, ends.
 */
void worker_pool_free(struct worker_pool *pool);
DEFINE_AUTO(worker_pool);

/* A work that is expected to take longer is a heavy one. */
#define WORKER_LIGHT_US 5000

/* Room for n bytes of input: 0, -EAGAIN (full now; released space is told by on_room), -E2BIG (never). */
int worker_in_alloc(struct worker_pool *pool, size_t n, struct worker_in *ret);
void worker_in_free(struct worker_pool *pool, struct worker_in *in);
/* Called on the loop after space became free, when an alloc had been refused. One listener. */
void worker_on_room(struct worker_pool *pool, void (*fn)(void *ctx), void *ctx);

/* Cannot fail, needs no memory. Workers are started when there is work for them. */
void worker_submit(struct worker_pool *pool, struct work *w);
/* Another due for a work that was submitted and has not ended; no effect when it has begun. */
void worker_set_due(struct worker_pool *pool, struct work *w, uint64_t due);
/* Once after each done(): ends the use of the pixels, their room is free again. The input stays the caller's. */
void worker_release(struct worker_pool *pool, struct work *w);
/* Whether a byte for byte copy of a work's pixels is what the worker made (by its checksum). */
bool worker_check(const struct work *w, const void *copy);

struct worker_counts {
	uint64_t n_done;		/* works that ended with a result, r == 0 */
	uint64_t n_bad;			/* with E_BAD_SAMPLE, E_REFUSED_SAMPLE or E_LIMIT */
	uint64_t n_killed_time;		/* workers: past the limit, stopped or idle */
	uint64_t n_died;		/* workers that ended otherwise while they had work, or broke the protocol */
	uint64_t n_spawned;
	uint64_t cpu_ns;	/* user and system, of ended workers and, by their own clocks, of living ones */
};

void worker_pool_counts(struct worker_pool *pool, struct worker_counts *ret);
/* The fingerprint of the workers' media code; zeros before the first READY. */
void worker_pool_fingerprint(const struct worker_pool *pool, uint8_t ret[32]);

#endif
