/* SPDX-License-Identifier: Apache-2.0 */
/* What the client needs of the site: one table of keys, in conf_table.c, gives the fields, their defaults and the man page. */
#ifndef OLDDOG_STORE_HDFS_CONF_CONF_H
#define OLDDOG_STORE_HDFS_CONF_CONF_H

#include "base/buf.h"
#include "store/hdfs/conf/site.h"

#define HDFS_MAX_NAMENODES 16u

struct hdfs_address {
	char *host;
	uint16_t port;		/* 8020 when the site does not say */
};

struct hdfs_namenode {
	char *id;		/* "nn1"; "" of a single one */
	struct hdfs_address rpc;
};

struct hdfs_conf {
	char *authority;	/* of the URL: a nameservice, or host:port */
	char *nameservice;	/* "" when the authority is an address */
	char *origin;		/* words: where the NameNodes' names come from, for when they are not known; NULL: none */
	unsigned n_namenodes;
	struct hdfs_namenode namenodes[HDFS_MAX_NAMENODES];
	bool observer_reads, random_order;
	char *user;		/* HADOOP_USER_NAME, else the login name */
	char *domain_socket;	/* dfs.domain.socket.path with _PORT in it; NULL: none */
	bool short_circuit, use_hostnames;
	/* Of NameNode calls. */
	unsigned failover_max_attempts;
	uint64_t failover_base_ms, failover_max_ms;
	uint64_t rpc_timeout_ms, connect_timeout_ms;
	unsigned connect_retries;
	/* Of DataNodes. */
	uint64_t socket_timeout_ms, socket_keepalive_ms;
	uint64_t prefetch_blocks;
	unsigned acquire_failures;
	uint64_t retry_window_ms;
	uint64_t hedge_after_ms;	/* dfs.client.hedged.read.threshold.millis */
	unsigned hedge_threads;		/* 0: hedging by recent latency; see read_policy.h */
	/* Of writing. */
	uint64_t block_bytes;
	unsigned replication;
	uint32_t bytes_per_sum;
	unsigned checksum_kind;		/* enum crc_kind */
	uint32_t packet_bytes;
	unsigned block_retries;		/* dfs.client.block.write.retries */
	unsigned umask;			/* fs.permissions.umask-mode */
	bool replace_datanode;		/* dfs.client.block.write.replace-datanode-on-failure.* by Hadoop's DEFAULT rule */
	bool replace_best_effort;
	unsigned replace_enough;	/* replicas without which writing ends when none can be added; 0: all */
	uint64_t trash_minutes;		/* fs.trash.interval */
};

/*
 * authority: "cluster", "host:port", or "" for fs.defaultFS. The address of one of a nameservice's NameNodes
 * stands for the nameservice, that one first: whichever is active answers. Refuses by name what is not built (Kerberos,
 * encrypted transfers) and what is none of ours (viewfs).
 */
int hdfs_conf_of(struct site *site, const char *authority, struct hdfs_conf *ret, struct err *e);
void hdfs_conf_release(struct hdfs_conf *c);
/* The man page olddog-hdfs(5), keys from the table. */
void hdfs_conf_page(struct buf *to);

#endif
