/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network for tests: a dialer whose connections are memory pipes to servers in the same thread, on one loop. Addresses
 * listen, refuse, or say nothing; every connection may have a plan of faults.
 */
#ifndef OLDDOG_TESTS_FAKE_NET_H
#define OLDDOG_TESTS_FAKE_NET_H

#include "net/dial.h"

#define FAKE_PIPE_BYTES (1u << 20)

struct fake_net;

enum fake_state { FAKE_REFUSES, FAKE_LISTENS, FAKE_IS_SILENT };

/* A server's end, its own from here on. */
typedef void fake_accept(void *ctx, struct conn *conn);

struct fake_net *fake_net_new(struct loop *loop);
void fake_net_free(struct fake_net *net);
struct dialer *fake_net_dialer(struct fake_net *net);
/* Other names are -ENOENT. */
void fake_net_listen(struct fake_net *net, const char *host, uint16_t port, fake_accept *accept, void *ctx);
void fake_net_set(struct fake_net *net, const char *host, uint16_t port, enum fake_state state);
/*
 * Of connections from here on, to this port (0: all). Each gets seed + its number, so that two differ; NULL: none. With
 * n_times > 0 only so many connections.
 */
void fake_net_faults(struct fake_net *net, uint16_t port, const struct pipe_faults *faults, unsigned n_times);
/* Of all connections; 1 ms when nothing was set. */
void fake_net_dial_ns(struct fake_net *net, uint64_t ns);
unsigned fake_net_n_dials(const struct fake_net *net);

#endif
