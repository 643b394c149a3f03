/* SPDX-License-Identifier: Apache-2.0 */
/* What file: knows beside bytes and names. Blocking; paths are relative to a directory. */
#ifndef OLDDOG_STORE_FILE_ATTR_H
#define OLDDOG_STORE_FILE_ATTR_H

#include "store/store.h"

/* There are no replicas here: -EOPNOTSUPP. Names of owners may be numbers. */
int file_set(int root_fd, const char *path, struct store_req *req);
/* Of the file system that path lies in. */
int file_space(int root_fd, const char *path, struct store_space *ret);
int file_xattr(int root_fd, const char *path, struct store_req *req);

#endif
