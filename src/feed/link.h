/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's connection to its job's olddog-loader: found, or started and then found. Blocking with time limits, for code
 * that has no loop of its own.
 */
#ifndef OLDDOG_FEED_LINK_H
#define OLDDOG_FEED_LINK_H

#include <stdint.h>

#include "net/conn.h"
#include "wire/rankmsg.h"

struct link {
	struct loop *loop;		/* conn wants one; it never runs */
	struct conn *conn;
	int fd;				/* conn's; -1: not connected */
	uint8_t *bytes;			/* the last record */
};

/* A moment by clock_monotonic_ns(); UINT64_MAX: never. */
uint64_t link_deadline(int timeout_ms);

int link_init(struct link *l);
void link_release(struct link *l);
/* job: "" is a loader of our own, that nobody else finds. -ETIMEDOUT, -EINTR, -ENOENT, ... with words. */
int link_connect(struct link *l, const char *job, uint64_t deadline_ns, struct err *e);
void link_close(struct link *l);
int link_send(struct link *l, const struct rankmsg *m);
/*
 * One record and what descriptor came with it (or -1), the caller's. Text in ret is good until the next call. -EPIPE: the
 * loader is gone; -EAGAIN past the deadline; -EINTR; E_PROTOCOL.
 */
int link_recv(struct link *l, uint64_t deadline_ns, struct rankmsg *ret, int *ret_fd);

#endif
