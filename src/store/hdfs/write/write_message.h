/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of writing, by hand over wire/hadoop/pb.h: nodes and tokens go back as they came, without being taken apart.
 * Field numbers: ClientNamenodeProtocol.proto, datatransfer.proto. The makers append a message to b, whose error is sticky.
 */
#ifndef OLDDOG_STORE_HDFS_WRITE_WRITE_MESSAGE_H
#define OLDDOG_STORE_HDFS_WRITE_WRITE_MESSAGE_H

#include "store/hdfs/write/write_nodes.h"
#include "store/hdfs/write/write_policy.h"
#include "wire/hadoop/crc.h"
#include "wire/hadoop/located.h"
#include "wire/hadoop/packet.h"

#define MESSAGE_MAX (1u << 20)

/* The file that calls are about. */
struct write_name {
	const char *path, *client;
	uint64_t file_id;
};

struct create_call {
	uint16_t mode, unmasked;	/* with, and without the umask */
	bool overwrite;
	uint32_t replication;
	uint64_t block_bytes;
};

void put_create(struct buf *b, const struct write_name *name, const struct create_call *c);
void put_append(struct buf *b, const struct write_name *name);
/* previous NULL: none. */
void put_add_block(struct buf *b, const struct write_name *name, const struct hdfs_block *previous, const struct node_set *exclude);
void put_abandon(struct buf *b, const struct write_name *name, const struct hdfs_block *block);
void put_complete(struct buf *b, const struct write_name *name, const struct hdfs_block *last);
void put_fsync(struct buf *b, const struct write_name *name, uint64_t last_bytes);
void put_renew(struct buf *b, const char *client);
void put_recover_lease(struct buf *b, const struct write_name *name);
/* at: the nodes that there are. */
void put_additional(struct buf *b, const struct write_name *name, const struct hdfs_block *block, const struct hdfs_located *at,
	const struct node_set *exclude);
void put_block_for_pipeline(struct buf *b, const struct write_name *name, const struct hdfs_block *block);
void put_pipeline(struct buf *b, const struct write_name *name, const struct hdfs_block *old, const struct hdfs_block *new,
	const struct hdfs_located *at);

/* What opens a block on the pipeline's first node. */
struct write_setup {
	const struct hdfs_located *at;	/* its nodes, in order */
	struct hdfs_block block;	/* n_bytes: of a whole block, so that DataNodes see to the room */
	struct str token;		/* "": none */
	const char *client;
	enum write_wire_stage stage;
	uint64_t min_bytes, max_bytes;	/* that a replica has: acknowledged, and sent */
	uint64_t stamp;			/* the new one */
	enum crc_kind kind;
	uint32_t bytes_per_sum;
};

/* Whole operations, as transfer_put_op() has them. */
int put_op_write(struct buf *b, const struct write_setup *s);
/* at->nodes[target] gets what the node has that is asked. */
int put_op_transfer(struct buf *b, const struct hdfs_located *at, const struct hdfs_block *block, struct str token,
	const char *client, unsigned target);
int put_op_checksum(struct buf *b, const struct hdfs_block *block, struct str token);

enum transfer_status {
	TRANSFER_SUCCESS = 0, TRANSFER_ERROR = 1, TRANSFER_ERROR_CHECKSUM = 2, TRANSFER_ERROR_TOKEN = 5, TRANSFER_OOB_RESTART = 8,
	TRANSFER_IN_PROGRESS = 12,
};

struct op_answer {			/* BlockOpResponseProto, in place */
	uint32_t status;
	struct str bad_link;		/* "ip:port" of the node that failed, or "" */
	struct str words;
	struct str checksum;		/* an OpBlockChecksumResponseProto, or "" */
};

int op_answer_parse(struct str message, struct op_answer *ret);

#define ACK_MAX_NODES 512u
#define ACK_MAX_BYTES 16384u

struct write_ack {			/* PipelineAckProto */
	int64_t seqno;
	unsigned n_replies;
	int bad;			/* the last that is no success; -1: none */
	uint32_t status;		/* its own */
	bool congested;			/* some node is */
};

int write_ack_parse(struct str message, struct write_ack *ret);

struct block_sum {			/* OpBlockChecksumResponseProto */
	uint32_t kind;			/* enum crc_kind; CRC_NONE: not told */
	uint32_t bytes_per_sum;
	bool composite;
	uint32_t crc;			/* of a composite one */
};

int block_sum_parse(struct str message, struct block_sum *ret);

/* Field `field` of the message, a message itself. False when it is not there, or when this is none. */
bool message_field(struct str message, uint32_t field, struct str *ret);
/* A field that is a number; otherwise when it is not there. */
uint64_t message_number(struct str message, uint32_t field, uint64_t otherwise);

#endif
