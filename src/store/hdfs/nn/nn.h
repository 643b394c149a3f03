/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls to a name service as one user: the active NameNode found and followed, answers matched to calls, calls repeated
 * with the same call id when that is right (nn_policy.h decides), observers for reads, state ids. One connection a
 * NameNode, kept; any number of calls in flight on it. Everything on one loop.
 */
#ifndef OLDDOG_STORE_HDFS_NN_NN_H
#define OLDDOG_STORE_HDFS_NN_NN_H

#include "base/buf.h"
#include "base/err.h"
#include "net/dial.h"
#include "store/hdfs/conf/conf.h"
#include "store/hdfs/counters.h"
#include "store/hdfs/nn/nn_policy.h"
#include "store/hdfs/nn/rpc.h"

#define NN_MAX_BODY (8u << 20)	/* of a request */

struct nn;

struct nn_call {
	/* Set by the caller before nn_submit(). */
	const char *method;	/* static */
	enum nn_kind kind;	/* of nn_policy.h */
	struct buf body;	/* the serialised request; released with the call (nn_call_release) */
	uint64_t deadline_ns;	/* 0: none but those of the configuration */
	void (*done)(struct nn_call *call);	/* on the loop, exactly once, never inside nn_submit() */
	void *ctx;
	/* Results, valid in done(). */
	int r;			/* 0, what exceptions map to (nn_error.h), -ETIMEDOUT, -ECANCELED, .. */
	struct str answer;	/* the response message, in place, when r is 0; gone after done() */
	struct err err;		/* words when r < 0: the NameNode's first line, and which NameNode */
	/* nn's own. */
	struct nn *nn;
	struct rpc_call rpc;
	struct list list;
	struct timer timer;
	uint64_t resume_ns;	/* when a pause ends; 0: none */
	int32_t retry;
	struct nn_tries tries;
	unsigned host;
	bool pinned;		/* to its host: no other is asked */
	bool on_observer, no_observer, ended;
};

/* conf, dialer and counters must outlive it. */
int nn_new(struct loop *loop, const struct hdfs_conf *conf, struct dialer *dialer, struct hdfs_counters *counters,
	struct nn **ret);
/* No call may be under way. */
void nn_free(struct nn *nn);
DEFINE_AUTO(nn);
/* A call that was made before may be made again: it gets another call id. */
void nn_submit(struct nn *nn, struct nn_call *call);
/* Hastens done(-ECANCELED). Only between nn_submit() and done(). */
void nn_cancel(struct nn_call *call);
/* Takes a call back, between nn_submit() and done(): done() will not be called. */
void nn_forget(struct nn_call *call);
/* Frees the body. */
void nn_call_release(struct nn_call *call);
/* "DFSClient_NONMAPREDUCE_<random>_1": the holder of this client's leases. */
const char *nn_client_name(const struct nn *nn);

/* What is known of a NameNode. */
enum nn_state { NN_UNKNOWN, NN_IS_ACTIVE, NN_IS_STANDBY, NN_IS_OBSERVER };

#endif
