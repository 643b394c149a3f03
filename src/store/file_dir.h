/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of one directory of a file system, read once, sorted, and given page by page: a directory of 10^6 files
 * would cost its square when each page read it again.
 */
#ifndef OLDDOG_STORE_FILE_DIR_H
#define OLDDOG_STORE_FILE_DIR_H

#include "base/buf.h"
#include "base/list.h"
#include "base/vec.h"

struct file_dir {
	struct list list;	/* for who keeps it */
	char *path;
	struct buf text;	/* NUL-terminated names, one after the other */
	VEC(const char *) names;	/* bytewise sorted */
};

/*
 * Blocking. path is of the file system, relative to root_fd. temporaries: these alone, else all other names. -E2BIG past 2^24
 * names.
 */
int file_dir_read(int root_fd, const char *path, bool temporaries, struct file_dir **ret_dir);
void file_dir_free(struct file_dir *d);
DEFINE_AUTO(file_dir);
/* The index of the first name after this one; NULL: 0. */
size_t file_dir_after(const struct file_dir *d, const char *name);

#endif
