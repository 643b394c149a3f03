/* SPDX-License-Identifier: Apache-2.0 */
/* A fresh store of each kind for a test, with a loop of either kind to run requests on. */
#ifndef OLDDOG_TESTS_PLACE_H
#define OLDDOG_TESTS_PLACE_H

#include "store/store.h"

struct place_kind {
	const char *name, *scheme, *filters;
	bool is_virtual, no_rename;
	bool is_hdfs;	/* names are UTF-8; what is read by an old version may be the old bytes, for a while */
};

/* The last is a real HDFS's, when OLDDOG_TEST_HDFS is the URL of a directory there. */
extern const struct place_kind place_kinds[];
extern size_t n_place_kinds;

struct place {
	const struct place_kind *kind;
	struct store *store;
	struct loop *loop;
	char *path;	/* the test's own directory, within the store */
	char *folder;	/* the same in the file system, or NULL */
};

struct place *place_open(const struct place_kind *kind);
/* Removes all that is in it. */
void place_close(struct place *p);

/* "path/NAME"; mem_free. */
char *place_path(const struct place *p, const char *name);
/* Runs a request (op and what belongs to it are set; path and to are made whole here) to its end. Its r. */
int place_run(struct place *p, struct store_req *req, const char *name, const char *to);
int place_put(struct place *p, enum store_op op, const char *name, const void *bytes, size_t n);
int place_stat(struct place *p, const char *name, struct store_stat *ret);
/* Of at most n bytes; what was read or an error. */
ssize_t place_get(struct place *p, const char *name, void *bytes, size_t n);
/* An empty file or directory, the short way. */
void place_touch(struct place *p, const char *name);

#endif
