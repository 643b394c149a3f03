/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What file: writes piece by piece, and contents as a whole. A writer is a temporary (store/publish.h) until COMMIT, or the
 * file itself when it appends. Blocking; paths are relative to a directory, clean.
 */
#ifndef OLDDOG_STORE_FILE_WRITE_H
#define OLDDOG_STORE_FILE_WRITE_H

#include "base/str.h"
#include "store/store.h"

/* One after the other from the root on; what is there stays. */
int file_make_dirs(int root_fd, struct str path);

int file_open_writer(int root_fd, const char *path, struct store_req *req);
int file_append(struct store_req *req);
int file_flush(struct store_req *req);
/* COMMIT and ABORT. */
int file_end_writer(struct store_req *req);

/*
 * What path and the sources hold is written anew, published in place of path, and then the sources go. Whoever is killed on
 * the way leaves path as it was, or whole with sources that are still there.
 */
int file_concat(int root_fd, const char *path, struct store_req *req);
int file_checksum(int root_fd, const char *path, struct store_req *req);
int file_locate(int root_fd, const char *path, struct store_req *req);

#endif
