/* SPDX-License-Identifier: Apache-2.0 */
/* DataNodes that a block is not to be on, for a while. Bounded: the oldest is forgotten. */
#ifndef OLDDOG_STORE_HDFS_WRITE_WRITE_NODES_H
#define OLDDOG_STORE_HDFS_WRITE_WRITE_NODES_H

#include "base/list.h"
#include "wire/hadoop/located.h"

#define NODE_SET_MAX 256u
#define NODE_SET_NS (600 * 1000000000ull)	/* dfs.client.write.exclude.nodes.cache.expiry.interval.millis */

struct node_set {
	struct list nodes;	/* the oldest first */
	unsigned n;
};

void node_set_init(struct node_set *s);
void node_set_clear(struct node_set *s);
/* 1: it was not there yet; 0; -ENOMEM. */
int node_set_add(struct node_set *s, const struct hdfs_node *node, uint64_t now_ns);
/* Those that are older than NODE_SET_NS are forgotten. */
void node_set_expire(struct node_set *s, uint64_t now_ns);
/* Each as field `field`, a DatanodeInfoProto. */
void buf_node_set(struct buf *b, uint32_t field, const struct node_set *s);

/*
 * Node i, with its storage, goes to place `to`, at or behind its own; those between move up. Behind the n_nodes that at
 * says it has is room for as many as it was parsed with.
 */
void located_move(struct hdfs_located *at, unsigned i, unsigned to);
/* Index of the node with this address "ip:port", or -1. */
int located_find_address(const struct hdfs_located *at, struct str address);
/* Index of the first node of at that before does not have, or -1. */
int located_find_new(const struct hdfs_located *at, const struct hdfs_located *before);

#endif
