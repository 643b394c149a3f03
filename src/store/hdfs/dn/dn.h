/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DataNodes: connections kept for a while, which nodes are dead and slow. What is known of a node lives here, for all
 * readers and writers of the engine.
 */
#ifndef OLDDOG_STORE_HDFS_DN_DN_H
#define OLDDOG_STORE_HDFS_DN_DN_H

#include "net/dial.h"
#include "store/hdfs/conf/conf.h"
#include "store/hdfs/counters.h"
#include "wire/hadoop/located.h"

struct dn_pool;

/* What is known of a DataNode, by uuid. As long as the pool. */
struct dn_info {
	const char *uuid;
	uint64_t dead_until_ns;		/* 0: alive, as far as is known */
	uint64_t latency_ns;		/* to the first byte, smoothed; 0: not known */
	uint64_t rtt_ns;		/* the quickest connect, which is the network's time alone; 0: not known */
	unsigned n_reads;		/* under way */
	unsigned n_failures;		/* in a row */
	struct dn_info *next;		/* the pool's own */
};

int dn_pool_new(struct loop *loop, const struct hdfs_conf *conf, struct dialer *dialer, struct hdfs_counters *counters,
	struct dn_pool **ret);
void dn_pool_free(struct dn_pool *p);
DEFINE_AUTO(dn_pool);
struct dialer *dn_dialer(const struct dn_pool *p);
/* NULL: no memory. */
struct dn_info *dn_info_of(struct dn_pool *p, const struct hdfs_node *node);

/* One connection that is wanted, embedded in its user's struct. */
struct dn_lease {
	void (*done)(struct dn_lease *l, int r);	/* never inside dn_take() */
	void *ctx;
	/* Results. */
	struct conn *conn;		/* nothing of an earlier operation is in it; the lease's until dn_give() */
	bool reused;			/* a failure before the first byte says nothing: try again with fresh */
	/* The pool's own. */
	struct dn_pool *pool;
	struct dn_info *info;
	struct dial dial;
	struct timer timer;		/* armed: an open connection was there */
	uint64_t dialled_ns;
	bool dialling;
	char key[80];			/* address and port */
};

/*
 * An open connection that waits (not when fresh), else a new one. Each take is ended by dn_cancel() before done(), or by
 * dn_give() after a done() of 0.
 */
void dn_take(struct dn_pool *p, struct dn_lease *l, const struct hdfs_node *node, bool fresh);
void dn_cancel(struct dn_lease *l);
/* Gives the connection back, for others when it is clean (the operation was read to its end), else closes it. */
void dn_give(struct dn_lease *l, bool clean);
/* A node that failed is dead for a while, longer each time. Several operations that fail at once count as one. */
void dn_failed(struct dn_pool *p, struct dn_info *info);
bool dn_is_dead(const struct dn_pool *p, const struct dn_info *info);
/* By what a node is called: its address, or its name where the site says dfs.client.use.datanode.hostname. */
const char *dn_host(const struct dn_pool *p, const struct hdfs_node *node);
void dn_worked(struct dn_pool *p, struct dn_info *info, uint64_t latency_ns);

#endif
