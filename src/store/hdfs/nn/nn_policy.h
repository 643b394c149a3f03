/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a call that a NameNode did not answer with a result: a pure function of what kind of call it is, what
 * happened, and what was tried before. Repeats have the same client id and call id, so the NameNode's retry cache
 * answers for a call that it has executed already.
 *
 * Limits are Hadoop's (dfs.client.failover.*, ipc.client.connect.*), but time is not lost where Java loses it: the other
 * NameNodes are asked at once, and only when all of them have said no there is a pause, twice as long each time. With two
 * NameNodes and Hadoop's defaults, both without an active one, a call fails after some 45 s in place of 2 min 42 s.
 */
#ifndef OLDDOG_STORE_HDFS_NN_NN_POLICY_H
#define OLDDOG_STORE_HDFS_NN_NN_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* How a call may be repeated: ClientProtocol's @Idempotent, @AtMostOnce, @ReadOnly(isCoordinated). */
enum nn_kind {
	NN_READ,		/* idempotent, observers may answer */
	NN_IDEMPOTENT,
	NN_AT_MOST_ONCE,	/* idempotent by the retry cache: same client id and call id */
	NN_ONCE,
};

/* What happened in place of a result. */
enum nn_fault {
	NN_ANSWERED,		/* an exception that is the answer */
	NN_STANDBY,		/* StandbyException: not executed, another NameNode is active or none is */
	NN_TRY_ACTIVE,		/* ObserverRetryOnActiveException */
	NN_RETRIABLE,		/* RetriableException: not executed, later */
	NN_BUSY,		/* the queue of calls was full: not executed, and the connection is gone */
	NN_SAFE_MODE,		/* will end by itself */
	NN_REFUSED,		/* no connection: nobody listens, or no route */
	NN_NO_NAME,		/* no connection: the host's name is not known */
	NN_CONNECT_TIMEOUT,
	NN_CUT_UNSENT,		/* the connection ended before a byte of the call was sent */
	NN_CUT,			/* it ended afterwards: the call may have been executed */
	NN_SILENT,		/* no answer in time: it may have been, or will be */
};

struct nn_limits {
	unsigned n_namenodes;
	unsigned max_failovers;		/* dfs.client.failover.max.attempts */
	unsigned max_repeats;		/* on one NameNode: Hadoop's dfs.client.retry.max.attempts */
	unsigned connect_retries;	/* ipc.client.connect.max.retries; for a single NameNode */
	uint64_t base_ns, max_ns;	/* dfs.client.failover.sleep.base.millis, .max.millis */
	uint64_t connect_timeout_ns;	/* ipc.client.connect.timeout */
};

/* Those that repeats of one call are bounded by. */
struct nn_tries {
	unsigned n_failovers, n_repeats;
	unsigned n_cuts;	/* of the repeats: after a connection that ended */
	unsigned n_connects;	/* repeats after a connection that did not come up; not of n_repeats */
};

enum nn_action {
	NN_END,			/* the call fails */
	NN_REPEAT,		/* to the same NameNode */
	NN_FAIL_OVER,		/* to the next one, or to the one that others have turned to meanwhile */
	NN_TO_ACTIVE,		/* from an observer; costs no try */
};

struct nn_verdict {
	enum nn_action action;
	uint64_t delay_ns;
};

/* random spreads the pauses of many clients: any number, equally likely. */
struct nn_verdict nn_decide(const struct nn_limits *l, enum nn_kind kind, enum nn_fault fault, bool on_observer,
	const struct nn_tries *tries, uint32_t random);
/*
 * How long a connection may take to come up. While there are other NameNodes to ask, a host that is off must not cost the
 * whole of the timeout; it gets more when it has failed before, for links that are slow.
 */
uint64_t nn_connect_ns(const struct nn_limits *l, unsigned n_failed);

#endif
