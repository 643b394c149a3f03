/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to names: resolved on a pool, connected without blocking, given up at a deadline. A dialer is an ops table,
 * so that a test can give memory pipes to its own servers, on virtual time (CONTRACTS C8).
 */
#ifndef OLDDOG_NET_DIAL_H
#define OLDDOG_NET_DIAL_H

#include "base/list.h"
#include "net/conn.h"

struct dialer;

/* One attempt, embedded in its user's struct; the user's until done() or dial_cancel(). */
struct dial {
	struct loop *loop;
	uint64_t deadline_ns;		/* by loop_now(); 0: none. Past it: -ETIMEDOUT */
	/*
	 * 0 and a stream that is the user's from here on; or what getaddrinfo (-ENOENT: no such name, -EAGAIN: the name
	 * service does not answer) or the last address's connect said.
	 */
	void (*done)(struct dial *d, int r, struct conn *conn);
	void *ctx;
	/* The dialer's own. */
	struct dialer *dialer;
	struct timer timer;
	struct list list;
	int r;
	void *attempt;
};

struct dialer_ops {
	/* All required. start finishes later, never inside. */
	void (*start)(struct dialer *dialer, struct dial *d, const char *host, uint16_t port);
	void (*cancel)(struct dialer *dialer, struct dial *d);
	void (*free)(struct dialer *dialer);
};

struct dialer {
	const struct dialer_ops *ops;
};

/*
 * TCP, with TCP_NODELAY and SO_KEEPALIVE; all addresses of a name are tried in turn, each with its part of the time that is
 * left. A dialer is of one thread. host is copied.
 */
int dialer_new_tcp(struct dialer **ret);
/* No dial may be under way. NULL is a no-op. */
void dialer_free(struct dialer *dialer);
DEFINE_AUTO(dialer);

void dial_start(struct dialer *dialer, struct dial *d, const char *host, uint16_t port);
/* done() is not called. */
void dial_cancel(struct dial *d);

#endif
