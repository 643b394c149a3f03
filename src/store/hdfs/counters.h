/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the client counts, from one table: olddog's --stats prints them, tests of faults require them. Of one engine,
 * changed on its loop only, read from anywhere.
 */
#ifndef OLDDOG_STORE_HDFS_COUNTERS_H
#define OLDDOG_STORE_HDFS_COUNTERS_H

#include <stdint.h>

/* name, what it counts. */
#define HDFS_COUNTERS(X)                                                                                     \
	X(nn_calls, "calls to NameNodes, repeats included")                                                  \
	X(nn_repeats, "calls sent again, with the same call id")                                             \
	X(nn_failovers, "times another NameNode was turned to")                                              \
	X(nn_connects, "connections to NameNodes")                                                           \
	X(dn_connects, "connections to DataNodes")                                                           \
	X(dn_reused, "operations on a DataNode's connection that was open")                                  \
	X(bytes_read, "bytes of files that DataNodes sent and that were right")                              \
	X(bytes_local, "bytes of files read from this host's replicas, and that were right")                 \
	X(local_fallbacks, "reads of this host's replicas that went through the DataNode after all")         \
	X(bytes_written, "bytes of files that a pipeline acknowledged")                                      \
	X(bad_checksums, "chunks that differed from their checksums")                                        \
	X(failed_reads, "block reads that ended early, for whatever reason")                                 \
	X(dead_nodes, "DataNodes taken for dead for a while")                                                \
	X(refetches, "times a file's locations were asked for again after failures")                         \
	X(hedges, "second reads of what a first was slow with")                                              \
	X(hedge_wins, "of these, those that were there first")                                               \
	X(excluded_nodes, "DataNodes that a new block was not to be on")                                     \
	X(pipeline_updates, "times a block went on with a new generation stamp")                             \
	X(pipeline_additions, "DataNodes added to a pipeline that had lost one")                             \
	X(pipeline_returns, "DataNodes taken back into a pipeline that had suspected them")                  \
	X(blocks_abandoned, "blocks given back to the NameNode before a byte was in them")                   \
	X(lease_renewals, "leases renewed")

struct hdfs_counters {
#define X(name, words) _Atomic uint64_t name;
	HDFS_COUNTERS(X)
#undef X
};

#endif
