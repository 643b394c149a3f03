/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader decides, without doing it: which replica, when a second one too, when to ask anew, when to give up. */
#ifndef OLDDOG_STORE_HDFS_READ_READ_POLICY_H
#define OLDDOG_STORE_HDFS_READ_READ_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* Of one replica's DataNode, as far as it is known. */
struct read_choice {
	unsigned distance;		/* 0: this host, 1: this rack, 2: elsewhere */
	bool failed;			/* this piece, with these locations: not again */
	bool full;			/* as many reads are under way as it gets from us: later */
	bool dead;
	uint64_t latency_ns;		/* 0: not known */
	unsigned n_reads;
};

enum { READ_NOBODY = -1, READ_LATER = -2 };

/*
 * The replica to read: of those that did not fail the living before the dead, the near before the far, and of equals the
 * one that should be soonest, by its recent latency and what it has to do for us; of these the NameNode's first.
 * READ_NOBODY: all failed. READ_LATER: those that are left are full.
 */
int read_policy_choose(const struct read_choice *c, unsigned n);
/*
 * How many reads one DataNode gets from us at once: as many as keep the disks and cores of one that is near busy, and more
 * of one that is far, where most of a small read's time is the way. rtt_ns: of the network; 0: not known.
 */
unsigned read_policy_at_once(uint64_t rtt_ns);
/*
 * After so long without a byte another replica is asked too. configured_ms: where the site's threshold is to hold, else 0:
 * then it follows the latencies that were seen.
 */
uint64_t read_policy_hedge_ns(uint64_t latency_ns, uint64_t configured_ms);
/*
 * Whether the mode alone says that a user may read a file. For the owner that is the owner's bit, whatever else; others may be
 * in any class, and an ACL may take from each. false: the NameNode is to be asked.
 */
bool read_policy_open(bool is_owner, unsigned mode, bool has_acl);
/*
 * Whether locations are asked for again after all replicas failed, n_before times already; *ret_ns: after how long. As
 * Hadoop: a window that grows with each time, with chance in it (0 to 1) so that many clients do not come at once.
 */
bool read_policy_refetch(unsigned n_before, unsigned max, uint64_t window_ms, double chance, uint64_t *ret_ns);

#endif
