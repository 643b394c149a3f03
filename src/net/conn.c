/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: the only caller of the tables, and what holds for all of them. */
#include "net/conn.h"

#include <assert.h>
#include <errno.h>

ssize_t conn_send(struct conn *c, const void *p, size_t n, const int *fds, unsigned n_fds)
{
	struct iovec iov = {.iov_base = (void *)p, .iov_len = n};

	assert(n && n_fds <= CONN_MAX_FDS);
	return c->ops->send(c, &iov, 1, fds, n_fds);
}

ssize_t conn_sendv(struct conn *c, const struct iovec *iov, unsigned n_iov)
{
	assert(n_iov && n_iov <= CONN_MAX_IOV);
	return c->ops->send(c, iov, n_iov, NULL, 0);
}

ssize_t conn_recv(struct conn *c, void *p, size_t n, int *ret_fds, unsigned *n_fds)
{
	struct iovec iov = {.iov_base = p, .iov_len = n};
	unsigned none = 0;

	assert(n);
	return c->ops->recv(c, &iov, 1, ret_fds, n_fds ? n_fds : &none);
}

ssize_t conn_recvv(struct conn *c, const struct iovec *iov, unsigned n_iov)
{
	unsigned none = 0;

	assert(n_iov && n_iov <= CONN_MAX_IOV);
	return c->ops->recv(c, iov, n_iov, NULL, &none);
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
