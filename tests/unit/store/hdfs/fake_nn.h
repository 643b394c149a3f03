/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NameNode for tests: real RPC over a fake network, on the loop of who asks. What methods answer is a callback's; a
 * state of high availability, a retry cache and a full queue are built in.
 */
#ifndef OLDDOG_TESTS_FAKE_NN_H
#define OLDDOG_TESTS_FAKE_NN_H

#include "fake_net.h"

#include "base/buf.h"
#include "base/str.h"
#include "wire/hadoop/rpc.h"

struct fake_nn;

struct fake_call {
	struct fake_nn *nn;
	char method[64], protocol[96], user[64];
	uint8_t client_id[RPC_CLIENT_ID_BYTES];
	int32_t call_id, retry;
	bool has_state_id;
	int64_t state_id;
	struct str body;	/* the request message */
};

/* Zero: success with an empty message. */
struct fake_answer {
	struct buf body;		/* the response message; the callback only appends */
	const char *exception;		/* class: an error in place of body */
	const char *words;
	bool fatal;			/* FATAL, and the connection is closed */
	bool never;			/* no answer at all */
	bool close;			/* the connection ends in place of an answer; the call has been executed */
	uint64_t delay_ns;
};

typedef void fake_method(void *ctx, const struct fake_call *call, struct fake_answer *answer);

enum fake_role { FAKE_ACTIVE, FAKE_STANDBY, FAKE_OBSERVER };

/* Listens there. method is called for every call that is executed: not for those that the retry cache answers. */
struct fake_nn *fake_nn_new(struct loop *loop, struct fake_net *net, const char *host, uint16_t port, fake_method *method,
	void *ctx);
void fake_nn_free(struct fake_nn *nn);
/* From here on; calls under way are answered as they were executed. */
void fake_nn_role(struct fake_nn *nn, enum fake_role role);
/* Connections are closed, new ones refused; answers that wait are lost. And back. */
void fake_nn_kill(struct fake_nn *nn);
void fake_nn_start(struct fake_nn *nn);
/* SIGSTOP: connections are taken, nothing is read. And back. */
void fake_nn_stop(struct fake_nn *nn, bool stopped);
/* At most so many calls wait for their delay; then FATAL "Server too busy", with an empty client id. 0: any number. */
void fake_nn_queue(struct fake_nn *nn, unsigned n);
/* What both of a pair share; NULL: none. Answers of at-most-once methods are kept there. */
struct fake_cache *fake_cache_new(void);
void fake_cache_free(struct fake_cache *c);
void fake_nn_cache(struct fake_nn *nn, struct fake_cache *c);
/* Answers carry it; 0: they carry none. */
void fake_nn_state_id(struct fake_nn *nn, int64_t id);
/* So far. */
unsigned fake_nn_n_executed(const struct fake_nn *nn);
unsigned fake_nn_n_seen(const struct fake_nn *nn);
unsigned fake_nn_n_pings(const struct fake_nn *nn);

#endif
