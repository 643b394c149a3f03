/* SPDX-License-Identifier: Apache-2.0 */
/* What read.c (jobs, and what they become) and read_piece.c (pieces, and who reads them) share. */
#ifndef OLDDOG_STORE_HDFS_READ_READ_INT_H
#define OLDDOG_STORE_HDFS_READ_READ_INT_H

#include "base/rand.h"
#include "base/vec.h"
#include "store/hdfs/dn/block_read.h"
#include "store/hdfs/dn/local.h"
#include "store/hdfs/read/locate.h"
#include "store/hdfs/read/read.h"

#define PIECE_MAX_NODES 64u	/* of a block's replicas, that are looked at */

struct reads {
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct nn *nn;
	struct dn_pool *dns;
	struct hdfs_counters *counters;
	struct locator *locator;
	struct local *local;
	struct list queues[2];		/* pieces that wait for their turn; the first is of urgent ones */
	unsigned n_running, n_hedges;
	uint64_t latency_ns;		/* to the first byte, of all nodes, smoothed */
	struct philox_key key;
	uint64_t n_draws;
	bool dispatching;
	struct list reports;		/* of bad replicas, that the NameNode has not answered */
};

/* A stretch of a block that one read fetches, for one job. */
struct piece {
	struct list list;		/* in the queue; of no list while it runs or waits */
	struct list of_job;
	struct work *work;
	struct stretch *stretch;	/* one reference */
	struct hdfs_located *at;
	uint64_t offset, length;	/* in the block: what is left */
	VEC(struct block_seg) segs;
	unsigned seg;			/* the first that is left */
	uint64_t failed;		/* bits of at->nodes */
	uint64_t no_local;		/* the same: not by descriptors */
	uint64_t slow;			/* the same: silent so long that others were asked */
	uint64_t bad;			/* the same: sent bytes that their checksums do not fit */
	unsigned n_refetches;
	struct attempt *first, *second;
	struct timer timer;		/* until a second is asked, or locations are asked for anew */
	struct lookup *lookup;
	struct err err;			/* of the attempt that failed last */
};

struct attempt {
	struct piece *piece;
	struct dn_info *info;
	unsigned node;
	bool local, hedge;
	struct block_read read;
	struct local_read near;
	uint8_t *copy;			/* of a hedge: the piece's bytes, until it has won */
	struct block_seg seg;
};

/* What a job is while it is under way. */
struct work {
	struct reads *reads;
	struct read_job *job;
	uint32_t *order;		/* the ranges by offset; none is empty */
	unsigned n, at;			/* ranges planned so far */
	uint64_t planned;		/* bytes of the next one */
	uint64_t end;			/* of the range that goes farthest */
	struct lookup lookup;
	bool begun, looking, planned_all, cancelled;
	unsigned n_pieces;
	struct list pieces;
	struct piece *open;		/* the last, which may grow */
	char *pool;			/* of the cluster that the job reads from */
	int r;				/* of the whole job */
	struct err err;			/* the first words */
};

/* -- read_piece.c -- */
void piece_enqueue(struct piece *p);
void reads_dispatch(struct reads *r);
/* Lets go of it; nothing may run. */
void piece_free(struct piece *p);
/* Ends what can be ended at once; what cannot ends soon. */
void piece_cancel(struct piece *p);

/* -- read_replica.c -- */
unsigned piece_n_nodes(const struct piece *p);
/* As read_policy_choose(); not_these: bits of at->nodes that are left out. */
int piece_choose(struct reads *r, const struct piece *p, uint64_t not_these);
/*
 * Tells the NameNode of the replicas that were bad where another one was good. When all are bad it may be this host's memory
 * or network: then nothing is said, since a client that is broken would take the last good replica from everybody. Nobody
 * waits for it: whether it is heard changes nothing for the reader.
 */
void piece_report_bad(struct reads *r, struct piece *p);
/* Takes them back. */
void reports_forget(struct reads *r);

/* -- read.c -- */
/* The piece has ended: 0, or why its bytes from p->offset on are not there. Frees it. */
void work_piece_ended(struct piece *p, int r);

#endif
