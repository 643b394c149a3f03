/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas of this host: the DataNode gives their descriptors through its domain socket (REQUEST_SHORT_CIRCUIT_FDS), they
 * are kept for a while, and read on a pool, checksums verified. What this cannot do the DataNode does: callers fall back.
 */
#ifndef OLDDOG_STORE_HDFS_DN_LOCAL_H
#define OLDDOG_STORE_HDFS_DN_LOCAL_H

#include "base/list.h"
#include "net/conn.h"
#include "net/pool.h"
#include "store/hdfs/conf/conf.h"
#include "store/hdfs/dn/replica.h"
#include "wire/hadoop/located.h"

#define LOCAL_MAX_REPLICAS 256u		/* kept open: two descriptors each */

struct local;

/* Where nothing is local (no socket in the site, a virtual loop), it serves nobody. */
int local_new(struct loop *loop, const struct hdfs_conf *conf, struct local **ret);
/* No read may be under way. */
void local_free(struct local *l);
DEFINE_AUTO(local);
/* The path of a DataNode's domain socket: "_PORT" in the site's pattern is the DataNode's. 0 or -ENAMETOOLONG. */
int local_socket_path(const char *pattern, uint16_t port, char *out, size_t n);
/* Whether the node is this host. */
bool local_is_here(const struct local *l, const struct hdfs_node *node);
/* Whether it is, and its domain socket may be tried. */
bool local_serves(const struct local *l, const struct hdfs_node *node);

/* One read, embedded in its user's struct. There is no way back: it ends soon. */
struct local_read {
	/* Set by the caller, stays until done(). */
	const struct hdfs_block *block;
	struct str token;
	const struct hdfs_node *node;
	uint64_t offset;
	const struct block_seg *segs;
	unsigned n_segs;
	/*
	 * Exactly once, never inside. -EBADMSG: the replica is bad. Other failures: ask the DataNode. read.n_done bytes
	 * are right in any case.
	 */
	void (*done)(struct local_read *r, int code);
	void *ctx;
	/* Result and its own. */
	struct replica_read read;
	struct local *local;
	struct kept_replica *replica;
	struct list list;
	struct job job;
	int code;
};

/* 0, or -ENOMEM, or what the socket said: done() is not called. */
int local_read_start(struct local *l, struct local_read *r);

#endif
