/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a Hadoop IPC server (a NameNode's, a DataNode's, HAServiceProtocol): any number of calls in flight,
 * answers matched by call id in whatever order they come. Calls that are made in one turn of the loop leave in one send.
 * What an answer or an end means, and what to do then, is for the caller (nn.h); rpc_ask() is for one call and no more.
 */
#ifndef OLDDOG_STORE_HDFS_NN_RPC_H
#define OLDDOG_STORE_HDFS_NN_RPC_H

#include "base/err.h"
#include "base/list.h"
#include "net/dial.h"
#include "wire/hadoop/rpc.h"

#define RPC_PING_NS (60 * 1000000000ull)	/* ipc.ping.interval */
#define RPC_MAX_UNSENT (64u << 20)		/* bytes of calls that the server does not take; more is -EAGAIN */

struct rpc;

struct rpc_call {
	/* Set by the caller. No other call with this id may be in flight on the connection. */
	int32_t call_id;
	/*
	 * Exactly once, never inside rpc_send(). r 0: answer is there, in place until it returns; its status may still
	 * be an exception. r < 0: the connection ended, and sent says whether the server may have the call.
	 */
	void (*done)(struct rpc_call *call, int r, const struct rpc_answer *answer);
	bool sent;
	/* The connection's own. */
	struct rpc *rpc;
	struct list list;
	struct rpc_call *next;
	uint64_t begins, at_ns;
};

struct rpc_conf {
	const char *protocol;		/* RPC_CLIENT_PROTOCOL, ..; static */
	const char *user;		/* used by rpc_new() only */
	const uint8_t *client_id;	/* RPC_CLIENT_ID_BYTES; as long as the connection */
	/* Called after each so many ns without a byte from the server while calls wait; 0: never. May rpc_end(). */
	uint64_t quiet_ns;
	void (*quiet)(struct rpc *rpc, void *ctx);
	uint64_t timeout_ns;		/* without a byte from the server while calls wait; 0: none. Past it: -ETIMEDOUT */
	/*
	 * The connection has ended: -ECONNRESET, -ETIMEDOUT, E_PROTOCOL, .. Called once, before the calls in flight are
	 * told. rpc is gone when it returns. Never inside rpc_new() or rpc_send().
	 */
	void (*ended)(struct rpc *rpc, int r, void *ctx);
	void *ctx;
};

/* Owns conn from here on, also when it fails. */
int rpc_new(struct conn *conn, const struct rpc_conf *conf, struct rpc **ret);
/* Without ended(). No call may be in flight. */
void rpc_free(struct rpc *rpc);
DEFINE_AUTO(rpc);
/* Ends it as if the connection had failed with r: ended(), then every call. Not inside its own callbacks. */
void rpc_end(struct rpc *rpc, int r);
/* head's client_id and call_id may be 0: the connection's and the call's are used. 0, -ENOMEM, -EAGAIN: done() is not called. */
int rpc_send(struct rpc *rpc, struct rpc_call *call, const struct rpc_head *head, const char *method, const void *body,
	size_t n);
/* done() will not be called; the answer, when it comes, is dropped. */
void rpc_forget(struct rpc_call *call);
/* Whether calls wait and nothing was heard for quiet_ns. */
bool rpc_is_quiet(const struct rpc *rpc);

/* One call to one server on a connection of its own, embedded in its user's struct. */
struct rpc_ask {
	/* Set by the caller. */
	struct loop *loop;
	struct dialer *dialer;
	const char *protocol, *user, *method;
	const void *body;		/* the serialised request; until done() */
	size_t n;
	uint64_t deadline_ns;		/* by loop_now(); not 0 */
	void (*done)(struct rpc_ask *ask, int r);	/* exactly once, never inside; not after rpc_ask_cancel() */
	void *ctx;
	/* Results, in done() only. */
	struct str answer;		/* in place, when r is 0 */
	struct err err;			/* words, else */
	bool connected;			/* somebody took the connection */
	/* Its own. */
	struct dial dial;
	bool dialling;
	struct rpc *rpc;
	struct rpc_call call;
	struct timer timer;
	uint8_t client_id[RPC_CLIENT_ID_BYTES];
	char where[80];
};

void rpc_ask(struct rpc_ask *ask, const char *host, uint16_t port);
void rpc_ask_cancel(struct rpc_ask *ask);

#endif
