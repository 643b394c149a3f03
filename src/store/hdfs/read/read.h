/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a file: ranges over many blocks and DataNodes at once. Locations are fetched, kept while they are good, and
 * fetched anew when replicas fail; each piece goes to the replica that read_policy.h chooses, is verified chunk by chunk,
 * and goes elsewhere when it fails, from where it had come to. A range that is done is right.
 *
 * All bytes are of the version that is named, or, where none is, of the file that was there when it was located: one that was
 * put in its place meanwhile is -ESTALE, or not seen. Only what was cut short in place and grew again (truncate, then append)
 * has the blocks that it had, and is taken for the same.
 */
#ifndef OLDDOG_STORE_HDFS_READ_READ_H
#define OLDDOG_STORE_HDFS_READ_READ_H

#include "store/hdfs/dn/dn.h"
#include "store/hdfs/nn/nn.h"
#include "store/store.h"

struct locator;
struct reads;

#define READ_MAX_PIECE (1u << 20)	/* a longer stretch of a block is read by several connections at once */
#define READ_MAX_GAP (64u << 10)	/* nearer ranges are one read: stepping over them is cheaper than asking twice */
#define READ_MAX_RUNNING 96u		/* reads of DataNodes under way, of all jobs */

int reads_new(struct loop *loop, const struct hdfs_conf *conf, struct nn *nn, struct dn_pool *dns,
	struct hdfs_counters *counters, struct reads **ret);
/* No job may be under way. */
void reads_free(struct reads *r);
DEFINE_AUTO(reads);

/* Its locations. */
struct locator *reads_locator(struct reads *r);

struct read_job {
	/* Set by the caller. */
	const char *path;		/* absolute, in HDFS */
	const struct store_file *file;	/* NULL: any; another version is -ESTALE */
	struct store_range *ranges;
	unsigned n_ranges;
	enum store_prio prio;
	void (*done)(struct read_job *job, int r);	/* exactly once, never inside; each range has its done and r */
	void *ctx;
	struct err *err;		/* words, when done() says < 0; may be NULL */
	/* The reader's own. */
	struct reads *reads;
	struct task task;
	void *own;
};

void read_start(struct reads *r, struct read_job *job);
/* Hastens done(-ECANCELED). */
void read_cancel(struct read_job *job);

#endif
