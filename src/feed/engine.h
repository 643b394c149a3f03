/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's engine (CONTRACTS C4): reads, decodes and batches the samples of a plan for the ranks of one host, on
 * one loop, without a thread of its own. Each rank is a stream with its own place in the plan; readers and workers are
 * shared. Samples are read and decoded in any order, batches are given in order: every position once, with its right
 * bytes, whatever readers and workers do. What is done next is decided by engine_policy.h.
 *
 * Where samples are made is a table of sources; this version has one, the local workers.
 */
#ifndef OLDDOG_FEED_ENGINE_H
#define OLDDOG_FEED_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "feed/engine_policy.h"
#include "feed/slot.h"
#include "net/conn.h"
#include "plan/plan.h"
#include "wire/batchhead.h"
#include "worker/worker.h"

/* Samples of which the bad ones are counted for stop_above (CONTRACTS C3). */
#define ENGINE_BAD_WINDOW 10000
/* Substitutes that are tried for a bad sample. */
#define ENGINE_MAX_ATTEMPTS 8
/* Times that a read which failed for a passing reason (EIO, EAGAIN, ETIMEDOUT, ...) is tried again. */
#define ENGINE_MAX_RETRIES 6

struct engine;
struct stream;

struct engine_conf {
	struct loop *loop;
	struct plan *plan;		/* the caller's; outlives the engine */
	/*
	 * The plan's spec with other fields (spec_select_fields) or chains (spec_apply_transform); only its fields are
	 * looked at, and copied. NULL: the plan's own.
	 */
	const struct spec *spec;
	bool uncollated;		/* images of no fixed shape come ragged, whatever their `collate` says */
	struct engine_limits limits;	/* zeros: defaults (engine_limits_default) */
	unsigned n_workers;		/* 0: as many as processors */
	uint64_t worker_time_ns;	/* 0: 60 s */
	const char *worker_program;	/* NULL: looked for */
	/* For tests on virtual time, as in struct worker_conf. */
	int (*spawn)(void *ctx, struct loop *loop, const struct recipe *recipe, const uint8_t *in, size_t in_bytes,
		uint8_t *out, size_t out_bytes, struct conn *end, void **ret_worker);
	void (*kill)(void *ctx, void *worker);
	void *spawn_ctx;
	struct pipe_faults faults;
	struct store *through;		/* reads go to this store in place of the plan's own; the caller's; NULL */
};

/* Fills in what is 0; memory_bytes: what there is of it, for everybody. */
void engine_limits_default(struct engine_limits *l, unsigned n_workers, uint64_t memory_bytes);

int engine_new(const struct engine_conf *conf, struct engine **ret, struct err *e);
/*
 * Closes all streams, waits for reads that are under way, ends the workers and frees. closed() runs on the loop, never
 * inside this call; until then the loop, the plan and the stores must live.
 */
void engine_close(struct engine *g, void (*closed)(void *ctx), void *ctx);

struct stream_conf {
	uint32_t dp_rank, dp_size;
	uint64_t global_batch;		/* 0: the spec's */
	bool has_tail;			/* tail is set; else the spec's */
	enum tail tail;
	uint64_t consumed;		/* the next position */
	uint64_t n_epochs;		/* that are read from there, the first one's rest counting as one; 0: no end */
	uint64_t n_samples;		/* of this rank; 0: no limit */
	/* Something changed for a stream_next() that said -EAGAIN. On the loop, never inside a call of the stream. */
	void (*ready)(void *ctx);
	void *ctx;
};

/* A batch as the engine gives it: the slot's first bytes hold the head too. Valid until released. */
struct stream_batch {
	struct batch_head head;
	struct slot *slot;
};

int stream_open(struct engine *g, const struct stream_conf *conf, struct stream **ret, struct err *e);
/* Releases what it has given. NULL is a no-op. */
void stream_close(struct stream *s);
/*
 * The next batch: 0; -EAGAIN (ready() will be called); E_END; or what went wrong, with words, again and again: a bad
 * sample that stops the job, changed data, a worker that fails, -ENOBUFS when slots that the user holds fill the limit
 * (then releasing some helps).
 */
int stream_next(struct stream *s, struct stream_batch **ret, struct err *e);
void stream_release(struct stream *s, struct stream_batch *b);
/* The position to go on from: behind the batches that were given. */
uint64_t stream_consumed(const struct stream *s);
/* Batches until the end of the epoch of `consumed`. */
uint64_t stream_batches_left(const struct stream *s);
/* Batches of that whole epoch, when it is read from its beginning. */
uint64_t stream_batches(const struct stream *s);

struct engine_counts {
	uint64_t n_samples, n_bytes_read, n_retries, n_bad;
	uint64_t slot_bytes, max_slot_bytes;	/* now; the most so far */
	struct worker_counts workers;
};

void engine_counts_get(const struct engine *g, struct engine_counts *ret);

#endif
