/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pipeline: the connection to a block's first DataNode, which passes packets on to the next, and brings back what all of
 * them say. It sets the block up, sends what there is of a file's packets, reads acknowledgements, keeps the connection alive
 * while there is nothing to send, and sees when it is not answered. It ends by itself only by broke().
 */
#ifndef OLDDOG_STORE_HDFS_WRITE_PIPELINE_H
#define OLDDOG_STORE_HDFS_WRITE_PIPELINE_H

#include "store/hdfs/dn/dn.h"
#include "store/hdfs/write/write_message.h"
#include "store/hdfs/write/write_packets.h"

/* Read in one go; an acknowledgement of three nodes has some 20 bytes. */
#define PIPELINE_IN_BYTES (2 * ACK_MAX_BYTES)

struct pipeline {
	/* Set by the user before pipeline_start(). */
	struct loop *loop;
	struct dn_pool *dns;
	const struct hdfs_conf *conf;
	struct packets *packets;
	/* Never inside pipeline_start() or pipeline_kick(). Each may stop the pipeline. */
	void (*up)(struct pipeline *p);		/* the block is set up; nothing is sent before pipeline_kick() */
	void (*acked)(struct pipeline *p);	/* more is acknowledged: acked_seqno, acked_bytes, ended */
	void (*broke)(struct pipeline *p);	/* r, bad, restarts, err; it is stopped */
	/* Results. */
	int64_t acked_seqno;			/* over all blocks of the file */
	uint64_t acked_bytes, sent_bytes;	/* of the block: its first so many */
	uint64_t n_acked_fresh;			/* ever: bytes of the file */
	bool ended;				/* the last packet of the block is acknowledged */
	int r, bad;				/* index of the node that failed; -1: nobody said which */
	bool restarts;
	struct err err;
	/* Its own. */
	struct dn_lease lease;
	struct conn *conn;
	struct timer timer;
	struct buf out;				/* what opens the block; then heartbeats */
	size_t n_out_sent, n_slot_sent;		/* of out; of the first packet to send */
	unsigned want, n_nodes;
	const struct hdfs_located *at;
	bool leasing, is_up, kicked, beating, failed;
	uint64_t heard_ns, sent_ns, quiet_until_ns, backoff_ns;
	int64_t beat_behind;			/* the last packet sent before the last heartbeat */
	uint8_t *in;
	size_t n_in;
};

/* Once. -ENOMEM. */
int pipeline_init(struct pipeline *p);
void pipeline_release(struct pipeline *p);
/* s and what it points to: until up() or broke(). */
void pipeline_start(struct pipeline *p, const struct write_setup *s);
/* There is something to send, or there may be. */
void pipeline_kick(struct pipeline *p);
/* Closes the connection; nothing is called any more. What was sent is to be replayed by its user. */
void pipeline_stop(struct pipeline *p);

#endif
