/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files that appear at once: a temporary in the same directory, synced, then named. Blocking. A process that is
 * killed on the way leaves a temporary behind, which listings do not show and removing its directory removes
 * (store/temporary.h: so does a copy that goes on).
 */
#ifndef OLDDOG_STORE_PUBLISH_H
#define OLDDOG_STORE_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

#include "store/temporary.h"

enum publish {
	PUBLISH_REPLACE,	/* in place of what was there */
	PUBLISH_EXCLUSIVE,	/* -EEXIST when something was there: by renameat2(), where that cannot, by link() */
	PUBLISH_EXCLUSIVE_LINK,	/* the same, by link() only */
};

/* A file that is being written; nothing is at its path yet. */
struct publishing {
	int dir_fd, fd;		/* fd: to write into; -1: there is none */
	char temporary[TEMPORARY_NAME_BYTES];
	char *name;		/* within dir_fd; owned */
};

/*
 * A temporary beside path, which is relative to root_fd and clean; its directory must be there (-ENOENT). mode: exactly
 * these permissions; 0: as the umask has it.
 */
int publish_begin(int root_fd, const char *path, unsigned mode, struct publishing *ret);
/*
 * What was written is on the disk, and named. It is released, also when that fails. Then nothing is left, with one exception:
 * when the directory does not reach its disk (fsync's error), it has the name already.
 */
int publish_end(struct publishing *p, enum publish how);
/* Nothing is left. For one that was begun, once. */
void publish_drop(struct publishing *p);
/* All at once. path is relative to root_fd and clean; its directory must be there (-ENOENT). What is returned is on the disk. */
int publish_file(int root_fd, const char *path, const void *p, size_t n, enum publish how);
/* Removes the temporaries of a directory that has nothing else, else -ENOTEMPTY. */
int publish_sweep(int root_fd, const char *path);

#endif
