/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libolddog: batches for training, prepared by one olddog-loader process per job and host and mapped, not copied.
 *
 * Units are in names (_ms, _bytes). Functions that can fail return 0 or a negative code: a negative errno, or one of
 * olddog_strerror()'s; a last `struct olddog_error *`, which may be NULL, gets words that say what was asked, what was
 * found and what to do. Outputs (ret_x) are set only on success.
 *
 * A loader belongs to the process that opened it and to one thread at a time; the library has no threads and no global
 * state. After fork() a child may only call olddog_loader_close() and olddog_batch_release(), which then only let go of
 * memory; all else is -ECHILD. Signals are not touched, and waiting is interruptible (-EINTR, -EAGAIN).
 *
 * Everything a batch points to is the batch's until olddog_batch_release(). A batch outlives its loader: memory goes
 * with the last release.
 */
#ifndef OLDDOG_H
#define OLDDOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OLDDOG_PUBLIC __attribute__((visibility("default")))

struct olddog_error {
	int code;		/* 0: nothing was set */
	char words[512];	/* one sentence or more, no newline at the end */
};

/* "0.1.0" */
OLDDOG_PUBLIC const char *olddog_version(void);
/* The text of a code. Static. */
OLDDOG_PUBLIC const char *olddog_strerror(int code);

/* Codes beside errno's that a caller may want to tell apart. */
enum {
	OLDDOG_E_BAD_SAMPLE = -1001,
	OLDDOG_E_CHANGED = -1009,	/* the data changed since the plan was made */
	OLDDOG_E_OTHER_ORDER = -1010,	/* the state belongs to another order */
	OLDDOG_E_END = -1011,		/* no more batches */
};

enum olddog_tail { OLDDOG_TAIL_SPEC, OLDDOG_TAIL_SHORT, OLDDOG_TAIL_DROP, OLDDOG_TAIL_PAD, OLDDOG_TAIL_CARRY };

/* Zero everything, set size, paths and n_paths, and what else matters. Nothing is kept after olddog_loader_open(). */
struct olddog_loader_conf {
	size_t size;			/* sizeof(struct olddog_loader_conf): newer fields of an older caller are 0 */
	const char *const *paths;	/* one plan's directory, or one spec's file, or bare paths */
	unsigned n_paths;
	const char *const *fields;	/* in this order; NULL: all of the plan */
	unsigned n_fields;
	const char *transform;		/* "imagenet_train", or a chain in YAML; NULL: as planned */
	uint64_t batch;			/* 0: the spec's */
	int batch_is_global;		/* batch is of all ranks together, else of each */
	enum olddog_tail tail;
	uint32_t dp_rank, dp_size;	/* dp_size 0: 1 */
	uint64_t consumed;		/* the next position */
	const char *state;		/* of olddog_loader_state(): sets consumed; another order is refused. NULL: none */
	uint64_t n_epochs;		/* to be read, the first one's rest counting as one; 0: no end */
	unsigned n_workers;		/* decoding processes of the host; 0: as many as processors. The first rank decides */
	uint64_t max_bytes;		/* of all batches of this plan on this host, held ones too, but one for each rank
					   in any case; 0: 4 GiB, or half of the memory */
	const char *job;		/* names the job; NULL: OLDDOG_JOB, SLURM_JOB_ID, or MASTER_ADDR:MASTER_PORT, or none */
	/* What the user should know but that stops nothing. Called inside functions of this loader. May be NULL. */
	void (*warn)(void *ctx, const char *words);
	void *ctx;
};

struct olddog_loader;
struct olddog_batch;

/*
 * Finds or starts the job's olddog-loader and opens the plan there, which for a bare path means looking through it: this
 * can take minutes, up to timeout_ms (-1: no limit; past it -ETIMEDOUT). A signal handler that ran is -EINTR, and
 * nothing is left open.
 */
OLDDOG_PUBLIC int olddog_loader_open(const struct olddog_loader_conf *conf, int timeout_ms,
	struct olddog_loader **ret_loader, struct olddog_error *e);
/*
 * The same in steps, for who has signals or other work to look after meanwhile: begin does not wait for the plan, and
 * await is called until it is not -EAGAIN (not within timeout_ms) or -EINTR (a signal handler ran). Until it was 0, only
 * await and close may be called. Other codes are final.
 */
OLDDOG_PUBLIC int olddog_loader_begin(const struct olddog_loader_conf *conf, struct olddog_loader **ret_loader,
	struct olddog_error *e);
OLDDOG_PUBLIC int olddog_loader_await(struct olddog_loader *loader, int timeout_ms, struct olddog_error *e);
/* NULL is a no-op. */
OLDDOG_PUBLIC void olddog_loader_close(struct olddog_loader *loader);
/*
 * The next batch, the caller's until olddog_batch_release(). -EAGAIN: not within timeout_ms (-1: no limit); -EINTR: a
 * signal handler ran; both may simply be called again. OLDDOG_E_END. -ENOBUFS: batches that the caller holds fill
 * max_bytes; releasing some helps. Others stop the loader: the same is said again.
 *
 * An olddog-loader that was killed is started again at the place where this loader is, and nothing is lost or repeated;
 * only after several such deaths in a row is it -ECONNRESET.
 */
OLDDOG_PUBLIC int olddog_loader_next(struct olddog_loader *loader, int timeout_ms, struct olddog_batch **ret_batch,
	struct olddog_error *e);

struct olddog_loader_info {
	uint8_t order_id[32], fields_id[32];
	uint64_t n_samples;		/* of the plan */
	uint64_t epoch_len;		/* positions */
	uint64_t global_batch;
	uint64_t consumed;		/* the position behind the batches that olddog_loader_next() gave */
	uint64_t epoch;			/* of consumed */
	uint64_t n_batches_left;	/* of this rank until the end of that epoch */
	uint64_t n_batches;		/* of this rank in that whole epoch */
	uint64_t seed;			/* of the spec, for random numbers of one's own by position */
};

OLDDOG_PUBLIC void olddog_loader_get_info(const struct olddog_loader *loader, struct olddog_loader_info *ret_info);
/* Batches of this rank until the end of the epoch that consumed is in. */
OLDDOG_PUBLIC uint64_t olddog_loader_len(const struct olddog_loader *loader);
/* {"v": 1, "order_id": .., "fields_id": .., "consumed": N}, valid until the next call with this loader. NULL: no memory. */
OLDDOG_PUBLIC const char *olddog_loader_state(struct olddog_loader *loader);
/* Readable when a call of olddog_loader_next() may get on; changes when an olddog-loader was started again. */
OLDDOG_PUBLIC int olddog_loader_fd(const struct olddog_loader *loader);

struct olddog_batch_info {
	uint64_t begin, end;		/* consumed before and after it */
	uint64_t epoch;
	uint64_t number;		/* of the global batch */
	uint32_t n;			/* items */
	uint32_t n_real;		/* those from here on repeat others (tail: pad) */
	int last;			/* no other batch begins with an item of this epoch */
	unsigned n_fields;
};

OLDDOG_PUBLIC void olddog_batch_get_info(const struct olddog_batch *batch, struct olddog_batch_info *ret_info);

/* Append only: the numbers are what recipes and slots hold. */
enum olddog_kind { OLDDOG_IMAGE = 1, OLDDOG_BYTES, OLDDOG_TEXT, OLDDOG_INT, OLDDOG_FLOAT, OLDDOG_JSON };
enum olddog_dtype { OLDDOG_UINT8 = 1, OLDDOG_INT64, OLDDOG_FLOAT16, OLDDOG_BFLOAT16, OLDDOG_FLOAT32, OLDDOG_FLOAT64 };

struct olddog_field {
	const char *name;		/* those that begin with a dot are olddog's own: .position .key .for */
	enum olddog_kind kind;
	enum olddog_dtype dtype;
	unsigned n_dims;		/* an array: dims[0] is n. Ragged: 1 */
	uint64_t dims[4];
	int64_t strides_bytes[4];
	void *data;			/* aligned to 64; may be written to */
	uint64_t n_bytes;
	const uint64_t *offsets;	/* ragged: n + 1, in elements; sample i is offsets[i] .. offsets[i + 1]. Else NULL */
	const uint32_t *sizes;		/* n x 3, the samples' own shapes: ragged images, and those in larger frames (pad) */
};

/* Field i < n_fields. -EINVAL. */
OLDDOG_PUBLIC int olddog_batch_get_field(const struct olddog_batch *batch, unsigned i, struct olddog_field *ret_field);
/* NULL is a no-op. The memory is used again for a later batch. */
OLDDOG_PUBLIC void olddog_batch_release(struct olddog_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
