/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What file: reads: a file's ranges, and what stat() says, which is its version too: device, inode, length, and both
 * times. So a version changes as fast as the file system's clock ticks and no faster.
 */
#ifndef OLDDOG_STORE_FILE_READ_H
#define OLDDOG_STORE_FILE_READ_H

#include "store/owners.h"
#include "store/store.h"

/* Blocking, as all here; paths are relative to a directory. Owners get their names from owners. */
int file_stat_at(int dir_fd, const char *path, struct owners *owners, struct store_stat *ret);
/* A descriptor of the version that file (or NULL) names; and whether it still is. As store_ops has them. */
int file_open_fd(int root_fd, const char *path, const struct store_file *file, int *ret_fd);
int file_check_fd(int fd, const struct store_file *file);
/* As a STORE_READ: 0 when each range of req has its result; -ESTALE when the file is not, or did not stay, req->file. */
int file_read_at(int root_fd, const char *path, struct store_req *req);

#endif
