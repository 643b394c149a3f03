/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls to a name service as one user: the active NameNode found and followed, answers matched to calls, calls repeated
 * with the same call id when that is right (nn_policy.h decides), observers for reads, state ids. One or a few pooled
 * connections a NameNode; any number of calls in flight on one. Everything on one loop.
 */
#ifndef OLDDOG_STORE_HDFS_NN_H
#define OLDDOG_STORE_HDFS_NN_H

#include "base/buf.h"
#include "base/err.h"
#include "net/dial.h"
#include "store/hdfs/conf.h"
#include "store/hdfs/counters.h"

struct nn;

/* How a call may be repeated: hdfs facts: ClientProtocol's @Idempotent, @AtMostOnce, @ReadOnly(isCoordinated). */
enum nn_kind {
	NN_READ,		/* idempotent, observers may answer */
	NN_IDEMPOTENT,
	NN_AT_MOST_ONCE,	/* idempotent by the retry cache: same client id and call id */
	NN_ONCE,
};

struct nn_call {
	/* Set by the caller before nn_submit(). */
	const char *method;	/* static */
	enum nn_kind kind;
	struct buf body;	/* the serialised request; released with the call (nn_call_release) */
	uint64_t deadline_ns;	/* 0: none but those of the configuration */
	void (*done)(struct nn_call *call);	/* on the loop, exactly once, never inside nn_submit() */
	void *ctx;
	/* Results, valid in done(). */
	int r;			/* 0, what exceptions map to (nn_error.h), -ETIMEDOUT, -ECANCELED, .. */
	struct str answer;	/* the response message, in place, when r is 0; gone after done() */
	struct err err;		/* words: the NameNode's first line, and which NameNode */
	/* nn's own. */
	struct nn *nn;
	struct nn_call *next;
	struct list list;
	struct timer timer;
	int32_t call_id, retry;
	unsigned n_failovers, n_repeats;
	void *sent_on;
	bool cancelled;
};

/* conf, dialer and counters must outlive it. */
int nn_new(struct loop *loop, const struct hdfs_conf *conf, struct dialer *dialer, struct hdfs_counters *counters,
	struct nn **ret);
/* No call may be under way. */
void nn_free(struct nn *nn);
DEFINE_AUTO(nn);
void nn_submit(struct nn *nn, struct nn_call *call);
/* Hastens done(-ECANCELED). */
void nn_cancel(struct nn_call *call);
void nn_call_release(struct nn_call *call);
/* "DFSClient_NONMAPREDUCE_<random>_1": the holder of this client's leases. */
const char *nn_client_name(const struct nn *nn);

#endif
