/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CRC-32C of a whole file without reading it: each block's by a DataNode that has it, from the checksums that it keeps
 * (COMPOSITE_CRC), joined. A replica that fails is asked elsewhere, then again. What DataNodes cannot say so (a file that
 * grows, of CRC-32 instead of CRC-32C, of an old DataNode) is -EOPNOTSUPP, with words: read it.
 */
#ifndef OLDDOG_STORE_HDFS_WRITE_CHECKSUM_H
#define OLDDOG_STORE_HDFS_WRITE_CHECKSUM_H

#include "store/hdfs/nn/nn.h"
#include "store/hdfs/write/write_ask.h"
#include "store/store.h"

#define CHECKSUM_ASKS 8u	/* blocks asked for at once */

struct checksum;

struct checksum_block {
	struct write_ask ask;
	struct checksum *of;
	size_t i;			/* of the block */
	unsigned n_asked;		/* of its replicas, one after the other, again from the first */
};

/* One file's, embedded in its user's struct. */
struct checksum {
	/* Set by the user. */
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct nn *nn;
	struct dn_pool *dns;
	const char *path;		/* absolute, in HDFS; the user's until done() */
	void (*done)(struct checksum *c, int r);	/* exactly once, never inside */
	void *ctx;
	/* Results. */
	struct store_checksum sum;
	struct err err;
	/* Its own. */
	struct nn_call call;
	struct arena arena;
	struct hdfs_locations locations;
	uint32_t *crcs;			/* of the blocks */
	size_t n_begun, n_under_way;
	unsigned n_asks;
	struct checksum_block asks[CHECKSUM_ASKS];
	struct timer end;
	bool calling;
	int r;
};

/* -ENOMEM: then done() is not called. */
int checksum_start(struct checksum *c);
/* Hastens done(-ECANCELED). */
void checksum_cancel(struct checksum *c);

#endif
