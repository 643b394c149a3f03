/* SPDX-License-Identifier: Apache-2.0 */
/* Of nn.c and nn_probe.c: what is known of the NameNodes. */
#ifndef OLDDOG_STORE_HDFS_NN_NN_INT_H
#define OLDDOG_STORE_HDFS_NN_NN_INT_H

#include "base/rand.h"
#include "store/hdfs/nn/nn.h"

/* One that did not serve a read well is asked again after this. */
#define NN_SHUN_NS (10 * 1000000000ull)
/* Silence of the active NameNode, with calls waiting, after which the others are asked whether they are active now. */
#define NN_QUIET_NS (5 * 1000000000ull)

struct nn_host {
	struct nn *nn;
	const struct hdfs_namenode *at;
	struct rpc *rpc;		/* NULL: no connection */
	struct dial dial;
	bool dialling, probing;
	unsigned n_failed;		/* dials in a row */
	struct list waiting;		/* calls, for the connection */
	enum nn_state state;
	uint64_t shun_until_ns;
	struct nn_call probe;
	char said[256];			/* why it did not serve a call, last; "" when it did */
};

struct nn {
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct dialer *dialer;
	struct hdfs_counters *counters;
	struct nn_limits limits;
	uint8_t client_id[RPC_CLIENT_ID_BYTES];
	char client_name[64];
	int32_t call_id;		/* the next */
	int64_t state_id;		/* the highest seen; INT64_MIN: none */
	unsigned n, active;
	struct nn_host hosts[HDFS_MAX_NAMENODES];
	/* Calls that have ended and were not told yet. */
	struct list ended;
	struct task tell;
	bool telling, dead;
	struct philox_key key;		/* of pauses */
	uint32_t n_pauses;
	uint64_t probe_at_ns;		/* observers are looked for again then */
	struct nn_call msync;
	bool syncing;
};

/* "nn1 (host:8020)", or the address of a single one. */
const char *nn_host_name(const struct nn_host *h, char *out, size_t n);
/* Asks every NameNode but `but` (NULL: every one) what it is. */
void nn_probe(struct nn *nn, const struct nn_host *but);
/* A host that may answer this read in place of the active NameNode, or NULL. */
struct nn_host *nn_observer_for(struct nn *nn, const struct nn_call *call);
/* Forgets what nn_probe() has under way. */
void nn_probe_release(struct nn *nn);

#endif
