/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of files and trees between any stores: by several threads, in bounded memory, resumable, verified.
 *
 * A file appears at its target whole or not at all. What is there already and has the same length and checksum is
 * skipped; what differs is refused, or replaced when the rules say so: so a copy that was killed goes on when it is begun
 * again. Large files go in parts, several at once, where the target can concatenate: in the hidden directory
 * .NAME.olddog-cp beside the target, each whole or not there; then they are joined, verified and renamed. Every file that
 * was copied is verified: the target's checksum against that of the bytes that were read.
 */
#ifndef OLDDOG_STORE_COPY_H
#define OLDDOG_STORE_COPY_H

#include <stdatomic.h>

#include "store/store.h"

#define COPY_MAX_WORKERS 64u
#define COPY_PIECE_BYTES (4u << 20)	/* each worker has two of them in memory */
#define COPY_MAX_DEPTH 64u		/* of directories; deeper is taken for a loop of symbolic links */
#define COPY_MAX_DIRS (1u << 22)	/* whose times and modes are kept until the end */

struct copy;

struct copy_rules {
	bool overwrite;		/* replaces files that differ */
	bool dry;		/* changes nothing: tells what would be done */
	bool preserve;		/* times and mode, and owner and group where that is allowed */
	unsigned n_workers;	/* 1 to COPY_MAX_WORKERS */
	uint64_t part_bytes;	/* of a large file; a multiple of the target's block size. 0: never in parts */
};

enum copy_event { COPY_COPIED, COPY_REPLACED, COPY_WHOLE, COPY_FAILED };

/* So far. */
struct copy_counts {
	uint64_t n_files, n_bytes;	/* seen in the sources */
	uint64_t n_copied, n_skipped, n_failed, n_dirs;
	uint64_t bytes_moved;		/* written now, in files and parts */
	uint64_t bytes_resumed;		/* in parts that were there already */
	uint64_t bytes_skipped;		/* in files that were whole already */
	uint64_t bytes_copied;		/* of files that are done */
	bool all_seen;			/* n_files and n_bytes grow no more */
};

/* Called on any thread, one at a time. */
struct copy_watch {
	/* words: only of COPY_FAILED. */
	void (*event)(void *ctx, enum copy_event event, const char *from, const char *to, uint64_t n_bytes, const char *words);
	void (*progress)(void *ctx, const struct copy_counts *counts);
	void *ctx;
};

/* stop, which may be NULL, ends the copy early, at the next piece: for signal handlers. */
int copy_new(const struct copy_rules *rules, const struct copy_watch *watch, atomic_bool *stop, struct copy **ret);
/* Waits for the workers. */
void copy_free(struct copy *c);
DEFINE_AUTO(copy);
/*
 * A file becomes to; what is in a directory becomes what is in the directory to. Returns when all of it is seen and most
 * of it is on its way. Only what stops everything is an error here (-ECANCELED, -ENOMEM, a directory that cannot be
 * listed or made); failures of files are told to the watch.
 */
int copy_add(struct copy *c, struct store *from, const char *from_path, const struct store_stat *stat, struct store *to,
	const char *to_path, struct err *e);
/* Waits until all is done. -ECANCELED when it was stopped. */
int copy_finish(struct copy *c, struct copy_counts *ret, struct err *e);
/*
 * Removes from a directory what writers of this host left there that were killed; what others write, or may write, stays.
 * Copies of trees do so by themselves in each directory that they copy into.
 */
void copy_sweep(struct store *s, const char *dir);
/* ".NAME.olddog-cp" */
bool copy_is_staging(const char *name);

#endif
