/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lease of a client: one for all files that it writes, renewed by one call while there are any. A NameNode lets others
 * take over after 60 s without, and closes the files by itself after 20 minutes.
 */
#ifndef OLDDOG_STORE_HDFS_WRITE_LEASE_H
#define OLDDOG_STORE_HDFS_WRITE_LEASE_H

#include "store/hdfs/nn/nn.h"

#define LEASE_RENEW_NS (25 * 1000000000ull)	/* below half of the soft limit, with a call's time to spare */
#define LEASE_AGAIN_NS (1000000000ull)		/* after a call that failed */

struct lease {
	struct loop *loop;
	struct nn *nn;
	struct hdfs_counters *counters;
	struct timer timer;
	struct nn_call call;
	unsigned n_users;
	bool calling;
};

/* 0 or -ENOMEM. */
int lease_init(struct lease *l, struct loop *loop, struct nn *nn, struct hdfs_counters *counters);
/* No user is left, and no call is under way: the last lease_drop() cancels it, and the loop tells its end. */
void lease_release(struct lease *l);
void lease_use(struct lease *l);
void lease_drop(struct lease *l);

#endif
