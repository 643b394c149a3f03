/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file's blocks are: LocatedBlocksProto and LocatedBlockProto as structs, by hand, since the locations of a large
 * file are thousands of messages. Everything lies in the caller's arena, strings with a NUL.
 */
#ifndef OLDDOG_WIRE_HADOOP_LOCATED_H
#define OLDDOG_WIRE_HADOOP_LOCATED_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define LOCATED_MAX_BLOCKS (1u << 20)	/* of one answer */
#define LOCATED_MAX_NODES 512u		/* of one block: dfs.replication.max */

struct hdfs_node {
	const char *uuid, *ip, *host;
	const char *rack;		/* "/dc1/r1", "" when it was not told */
	uint16_t xfer_port, ipc_port;
	uint32_t n_xceivers;
	uint32_t admin_state;		/* 0: in service */
	struct str message;		/* the DatanodeInfoProto itself, to send back as it came */
};

struct hdfs_block {			/* ExtendedBlockProto */
	const char *pool;
	uint64_t id, stamp, n_bytes;
};

struct hdfs_located {
	struct hdfs_block block;
	uint64_t offset;		/* in the file */
	bool corrupt;
	struct str token;		/* a TokenProto, sent back as it came */
	unsigned n_nodes;
	struct hdfs_node *nodes;	/* nearest first, as the NameNode sorted them */
	const char **storage_ids;	/* n_nodes, or NULL */
	uint32_t *storage_types;	/* n_nodes, or NULL */
	bool is_group;			/* blockIndices are there: erasure coded */
};

struct hdfs_locations {
	uint64_t file_bytes;
	bool under_construction, last_complete, encrypted, erasure_coded;
	size_t n;
	struct hdfs_located *blocks;	/* by offset */
	struct hdfs_located *last;	/* of a file that grows; NULL: none */
};

/* E_PROTOCOL, E_LIMIT, -ENOMEM. Blocks must follow each other by offset. */
int hdfs_locations_parse(struct arena *a, struct str message, struct hdfs_locations *ret);
int hdfs_located_parse(struct arena *a, struct str message, struct hdfs_located *ret);
/* One DatanodeInfoProto. */
int hdfs_node_parse(struct arena *a, struct str message, struct hdfs_node *ret);
/* As field `field` of the message that b holds. */
int buf_hdfs_block(struct buf *b, uint32_t field, const struct hdfs_block *block);
/* The same of a BaseHeaderProto: what each operation on a DataNode begins with. token "": none. */
int buf_hdfs_base(struct buf *b, uint32_t field, const struct hdfs_block *block, struct str token);

#endif
