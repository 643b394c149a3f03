/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NameNode and DataNodes for tests of writing, on a virtual loop: they stand in for store/hdfs/nn/nn.c and dn.c, at the calls
 * of nn.h and dn.h, and keep what a real cluster would keep: blocks, stamps, replicas. The first DataNode of a pipeline acts
 * for all of them, so that any node may fail at any packet, and others be ahead of it.
 */
#ifndef OLDDOG_TESTS_WRITE_RIG_H
#define OLDDOG_TESTS_WRITE_RIG_H

#include "base/rand.h"
#include "net/conn.h"
#include "store/hdfs/dn/dn.h"
#include "store/hdfs/nn/nn.h"
#include "store/hdfs/write/write.h"

#define RIG_NODES 5u
#define RIG_BLOCKS 512u
#define RIG_BLOCK_MAX 65536u

#define RIG_POOL "BP-1"

/* What may happen, in parts of a million. Zero: nothing. */
struct rig_faults {
	uint32_t setup_ppm;		/* of set-ups: one of the nodes refuses */
	uint32_t packet_ppm;		/* of packets: one of the nodes fails, in one of the ways of enum rig_harm */
	uint32_t kill_ppm;		/* of failures: for good */
	uint32_t not_yet_ppm;		/* of answers: the NameNode has not heard of a block */
	uint32_t congested_ppm;		/* of acknowledgements */
	unsigned how;			/* 1 + an enum rig_harm; 0: any */
	unsigned max_failures;		/* after so many nothing more happens */
	struct pipe_faults wire;	/* of each connection */
	uint32_t cut_ppm;		/* of connections: wire.cut_after, below 40 */
};

struct rig_replica {
	bool is, finalized;
	uint64_t stamp;
	uint32_t n, n_acked;
	uint8_t *bytes;
};

struct rig_node {
	bool dead;
	struct rig_replica replicas[RIG_BLOCKS];
};

struct rig_block {
	uint64_t stamp, n_bytes;
	unsigned n_nodes, nodes[RIG_NODES];
	bool abandoned;
};

/* How a node may fail in the middle. HARM_MUTE: it never acknowledges the packet, and goes on with all else. */
enum rig_harm { HARM_ERROR, HARM_CLOSE, HARM_STALL, HARM_BAD_ACK, HARM_LOST_ACK, HARM_RESTART, HARM_MUTE, N_HARMS };

struct rig {
	struct loop *loop;
	struct hdfs_conf conf;
	struct hdfs_counters counters;
	struct rig_faults faults;
	struct philox_key key;
	uint64_t n_draws;
	unsigned n_failures, n_setups, n_renewals, n_beats;
	struct rig_node nodes[RIG_NODES];
	struct rig_block blocks[RIG_BLOCKS];
	unsigned n_blocks, n_listed, listed[RIG_BLOCKS];	/* of the file, in order */
	uint64_t stamp;
	uint64_t fsync_bytes;
	bool encrypted;		/* the file */
	bool exists, open, deleted, recovered;
	unsigned n_live;	/* connections */
	struct writes *writes;
};

/* Of an ExtendedBlockProto. */
struct rig_ref {
	uint64_t id, stamp, n_bytes;
};

/* The one that stands in now. */
extern struct rig *rig;

void rig_init(struct rig *g, uint64_t seed, unsigned replication, uint64_t block_bytes, uint32_t packet_bytes);
void rig_release(struct rig *g);
/* Also when a test lets an allocation fail. */
void rig_timer_set(struct timer *t, uint64_t at_ns);
uint32_t rig_draw(struct rig *g);
unsigned rig_below(struct rig *g, unsigned n);
bool rig_happens(struct rig *g, uint32_t ppm);
/* The same, and counted, until there were enough. */
bool rig_fails(struct rig *g, uint32_t ppm);
/* The index of a DatanodeInfoProto; an ExtendedBlockProto. */
unsigned rig_node_of(struct str info);
struct rig_ref rig_ref_of(struct str message);
/* Each block is on all nodes that the NameNode believes in, as of shadow; the file has n bytes. finalized: it was closed. */
void rig_check(struct rig *g, const uint8_t *shadow, uint64_t n, bool finalized);

#endif
