/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block that cannot go on as it was becomes. Pure: no I/O, no clock. Source of the rules: what Hadoop's client does
 * (hdfs facts 1.9 and 2.3; dfs.client.block.write.replace-datanode-on-failure.policy DEFAULT), so that a cluster sees the
 * same from both. One more: who was left out on suspicion alone may come back (WRITE_BACK), where Hadoop's gives up.
 */
#ifndef OLDDOG_STORE_HDFS_WRITE_WRITE_POLICY_H
#define OLDDOG_STORE_HDFS_WRITE_WRITE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* Where a block is. */
enum write_stage {
	WRITE_SETUP,		/* a new block: no byte is in it */
	WRITE_REOPEN,		/* the last block of a file that is appended to */
	WRITE_STREAM,
	WRITE_ENDING,		/* all bytes acknowledged, the last packet is under way */
};

/* As BlockConstructionStage has them. */
enum write_wire_stage {
	WIRE_SETUP_APPEND = 0, WIRE_APPEND_RECOVERY = 1, WIRE_STREAMING_RECOVERY = 3, WIRE_CLOSE_RECOVERY = 5,
	WIRE_SETUP_CREATE = 6,
};

enum write_fate {
	WRITE_ON,		/* with the nodes that are left, and a new generation stamp */
	WRITE_ADD,		/* the same, after one node was added and has a copy */
	WRITE_BACK,		/* with one that was left out on suspicion, in the place of the last */
	WRITE_WAIT,		/* the same nodes again in a while: one of them restarts */
	WRITE_NEW_BLOCK,	/* give the block back, leave the node out, ask for another */
	WRITE_GIVE_UP,
};

struct write_break {
	enum write_stage stage;
	unsigned n_nodes;		/* of the pipeline that broke */
	unsigned n_aside;		/* left out on suspicion, who have all that was acknowledged */
	int bad;			/* index; -1: nobody said */
	bool restarts;			/* the bad one said that it is about to */
	uint64_t waited_ns;		/* for a restart, so far */
	unsigned replication;
	bool appended, flushed;		/* the file; the block: readers may rely on what is in it */
	bool replace;			/* dfs.client.block.write.replace-datanode-on-failure.enable */
	unsigned n_setups, max_setups;	/* of new blocks in a row that failed, this one included */
	unsigned n_breaks;		/* in a row without an acknowledgement between, this one included */
};

struct write_verdict {
	enum write_fate fate;
	unsigned bad;			/* index of the node to leave out; n_nodes: none */
	bool suspected;			/* bad is a guess: nobody named it */
	const char *words;		/* of WRITE_GIVE_UP; static */
};

#define WRITE_MAX_BREAKS 5u			/* dfs.client.pipeline.recovery.max-retries */
#define WRITE_RESTART_NS (30 * 1000000000ull)	/* dfs.client.datanode-restart.timeout */
#define WRITE_RESTART_POLL_NS (4 * 1000000000ull)
#define WRITE_MAX_ADDITIONS 3u			/* nodes tried for one addition */
#define WRITE_ACK_PER_NODE_NS (5 * 1000000000ull)	/* longer patience for each node of a pipeline */

struct write_verdict write_decide(const struct write_break *b);

/*
 * Whether a block goes on with the n_nodes that are left when no node could be added. best_effort, enough:
 * dfs.client.block.write.replace-datanode-on-failure.best-effort and .min-replication.
 */
bool write_goes_on_without(unsigned n_nodes, bool best_effort, unsigned enough);

/* What the DataNodes are told; recovery: not the first set-up of this stage. */
enum write_wire_stage write_wire_stage(enum write_stage stage, bool recovery);
/* Whether an added node must get the bytes that there are. */
bool write_needs_copy(enum write_stage stage);

/*
 * The nth wait (0 is the first) for a NameNode that has not heard of the DataNodes' blocks yet; 0: give up. Java begins with
 * 400 ms; most reports are there after few, so that we ask sooner, and give up as late.
 */
uint64_t write_poll_ns(unsigned n);
/* How long to send nothing after a node said that it is congested; before_ns: the last such wait, 0: none; u: random. */
uint64_t write_backoff_ns(uint64_t before_ns, uint32_t u);

#endif
