/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of one replica, read from its DataNode: the operation, its answer, packets (block_flow.h), and the status at the
 * end after which the connection serves others.
 */
#ifndef OLDDOG_STORE_HDFS_DN_BLOCK_READ_H
#define OLDDOG_STORE_HDFS_DN_BLOCK_READ_H

#include "store/hdfs/dn/block_flow.h"
#include "store/hdfs/dn/dn.h"

struct block_read {
	/* Set by the caller; what is pointed to stays until done() or block_read_cancel(). */
	struct loop *loop;
	struct dn_pool *dns;
	const char *client;			/* nn_client_name() */
	uint64_t timeout_ns;			/* without a byte; past it -ETIMEDOUT */
	const struct hdfs_block *block;
	struct str token;
	const struct hdfs_node *node;
	uint64_t offset, length;		/* in the block; length > 0 */
	const struct block_seg *segs;		/* together length bytes; none is empty */
	unsigned n_segs;
	/*
	 * Exactly once, never inside block_read_start(). 0: all is right. Else the first flow.n_done bytes are, and r is
	 * what connections and flow_took() say; flow.err has words.
	 */
	void (*done)(struct block_read *b, int r);
	void *ctx;
	/* Results. */
	struct block_flow flow;
	uint64_t latency_ns;			/* from the operation sent to the first byte; 0: none came */
	uint64_t heard_ns;			/* when a byte came last, or it was begun */
	bool unreachable;			/* nothing came of the node: it, not the replica, is what failed */
	/* Its own. */
	struct dn_lease lease;
	struct buf op;
	size_t n_sent;
	uint64_t sent_ns;
	bool leased;
	struct timer timer;
};

/* 0, or -ENOMEM: done() is not called. */
int block_read_start(struct block_read *b);
/* done() is not called. */
void block_read_cancel(struct block_read *b);

#endif
