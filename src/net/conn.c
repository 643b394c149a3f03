/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: the only caller of the tables, and what holds for all of them. */
#include "net/conn.h"

#include <assert.h>
#include <errno.h>

ssize_t conn_send(struct conn *c, const void *p, size_t n, const int *fds, unsigned n_fds)
{
	assert(n && n_fds <= CONN_MAX_FDS);
	return c->ops->send(c, p, n, fds, n_fds);
}

ssize_t conn_recv(struct conn *c, void *p, size_t n, int *ret_fds, unsigned *n_fds)
{
	unsigned none = 0;

	assert(n);
	return c->ops->recv(c, p, n, ret_fds, n_fds ? n_fds : &none);
}

int conn_want(struct conn *c, unsigned want, void (*ready)(struct conn *, unsigned, void *), void *ctx)
{
	assert(ready || !want);
	c->ready = ready;
	c->ctx = ctx;
	return c->ops->want(c, want);
}

void conn_close(struct conn *c)
{
	if (c)
		c->ops->close(c);
}
