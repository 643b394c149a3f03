/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole trees of a file system. Links are never followed below the path itself's directory; however deep a tree is, one
 * or two descriptors are open. Blocking; both look at whether req was cancelled.
 */
#ifndef OLDDOG_STORE_FILE_TREE_H
#define OLDDOG_STORE_FILE_TREE_H

#include "store/store.h"

/* path is clean. A tree that changes under our hands so that we might leave it is -ESTALE. */
int file_remove_tree(int root_fd, const char *path, struct store_req *req);
int file_summary(int root_fd, const char *path, struct store_req *req);

#endif
