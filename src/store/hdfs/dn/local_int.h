/* SPDX-License-Identifier: Apache-2.0 */
/* What local.c (replicas that are kept, and reads of them) and local_ask.c (the question for descriptors) share. */
#ifndef OLDDOG_STORE_HDFS_DN_LOCAL_INT_H
#define OLDDOG_STORE_HDFS_DN_LOCAL_INT_H

#include <netinet/in.h>

#include "store/hdfs/dn/local.h"

#define LOCAL_MAX_ADDRESSES 64u
#define LOCAL_MAX_PORTS 64u		/* DataNodes of one host */
#define LOCAL_ANSWER_MAX 4096u
#define LOCAL_OP_MAX_BYTES (1u << 20)

/* A replica whose descriptors are here, or asked for. */
struct kept_replica {
	struct local *local;
	struct list list;	/* the longest unused first */
	struct list waiting;	/* local_reads, until it is open */
	unsigned n_users;
	bool open, gone;	/* gone: in no list, freed by its last user */
	char *pool;
	uint64_t id, stamp, used_ns;
	uint16_t port;
	int data_fd, meta_fd;
	struct replica_meta meta;
	/* The question. */
	struct conn *conn;
	struct timer timer;
	struct buf op;
	size_t n_sent, n_answer;
	uint8_t answer[LOCAL_ANSWER_MAX];
	int fds[2];
	unsigned n_fds;
};

struct local {
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct pool *pool;
	char addresses[LOCAL_MAX_ADDRESSES][INET6_ADDRSTRLEN];
	unsigned n_addresses;
	struct {
		uint16_t port;
		uint64_t until_ns;
	} disabled[LOCAL_MAX_PORTS];
	struct list replicas;
	unsigned n_replicas;
};

/* -- local.c -- */
/*
 * Whether a failure says that all of the node's replicas are better asked for elsewhere: not a block that it cannot give, a
 * queue that was full just then, nor what this process is short of.
 */
bool local_is_of_node(int code);
void local_disable(struct local *l, uint16_t port);
/* The answer to the question for descriptors, for all who wait; k may be gone then. */
void local_answered(struct kept_replica *k, int code);

/* -- local_ask.c -- */
/* Asks as r does; local_answered() comes later, not when this fails. */
int local_ask(struct kept_replica *k, const struct local_read *r);

#endif
