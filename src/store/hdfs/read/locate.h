/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file's blocks are: asked of the NameNode by stretches, kept while they are good. Locations are kept for files
 * whose version is given, which they belong to; without one every lookup asks, since what lies at a path may be another
 * file by now. One stretch is of one cluster, and all kept of a file are.
 */
#ifndef OLDDOG_STORE_HDFS_READ_LOCATE_H
#define OLDDOG_STORE_HDFS_READ_LOCATE_H

#include "base/list.h"
#include "store/hdfs/nn/nn.h"
#include "store/hdfs/nn/rpc.h"
#include "store/store.h"
#include "wire/hadoop/located.h"

#define LOCATE_MAX_BYTES (64u << 20)	/* kept of all files; the longest unused goes */
#define LOCATE_WHOLE_BYTES (8ull << 30)	/* a file up to this length is asked for at once */

/* One answer, never changed. */
struct stretch {
	unsigned refs;
	struct arena arena;
	struct hdfs_block pool_of;	/* .pool: of all its blocks; NULL when it has none */
	uint64_t file_bytes;		/* with what is visible of a block that is being written */
	bool growing;
	size_t n;
	struct hdfs_located *blocks;	/* by offset, without holes */
	struct list list;		/* the cache's own */
};

void stretch_unref(struct stretch *s);
/* The block that holds offset, or NULL. */
struct hdfs_located *stretch_find(const struct stretch *s, uint64_t offset);

struct locator;

int locator_new(struct loop *loop, const struct hdfs_conf *conf, struct nn *nn, struct dialer *dialer, struct locator **ret);
void locator_free(struct locator *l);
DEFINE_AUTO(locator);

/* One lookup, embedded in its user's struct. */
struct lookup {
	/* Set by the caller. */
	const char *path;
	const struct store_file *file;	/* NULL: whatever is there */
	uint64_t offset, length;	/* at least the block that holds offset, when there is one */
	const struct stretch *bad;	/* what was found before and is no good; NULL: none */
	void (*done)(struct lookup *l, int r);	/* maybe inside lookup_start(), when it was kept */
	void *ctx;
	/* Results. */
	struct stretch *stretch;	/* the caller's (stretch_unref) */
	struct err err;
	/* Its own. */
	struct locator *locator;
	struct nn_call call;
	struct rpc_ask ask;
	struct buf body;
	const struct hdfs_located *last;	/* of the stretch: is being written; NULL: none */
	unsigned n_asked, n_without;	/* nodes, for the visible length; of these, those that have nothing of the block */
	uint64_t visible;		/* the most that one said */
	bool told;			/* one did */
	bool calling, asking, cancelled;
};

void lookup_start(struct locator *locator, struct lookup *l);
/* Hastens done(-ECANCELED). */
void lookup_cancel(struct lookup *l);

#endif
