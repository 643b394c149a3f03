/* SPDX-License-Identifier: Apache-2.0 */
/* The question for a replica's descriptors: connected, asked, heard, each without waiting. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fd.h"
#include "store/hdfs/dn/local_int.h"
#include "wire/hadoop/pb.h"

#define ASK_NS (10 * NS_PER_S)

static int replica_open(struct kept_replica *k)
{
	uint8_t head[REPLICA_META_HEAD];
	int r = fd_pread_all(k->fds[1], head, sizeof(head), 0);

	if (r == 0)
		r = replica_meta_parse(head, &k->meta);
	if (r < 0)
		return r;
	k->data_fd = k->fds[0];
	k->meta_fd = k->fds[1];
	k->n_fds = 0;
	k->open = true;
	return 0;
}

/* 1: go on reading. */
static int answer_parse(struct kept_replica *k)
{
	struct str message;
	int64_t used = transfer_delimited(k->answer, k->n_answer, &message);
	struct pb p = pb_of(message.p, used > 0 ? message.n : 0);
	uint64_t status = 1;

	if (used < 0)
		return (int)used;
	if (used == 0)
		return k->n_answer < LOCAL_ANSWER_MAX ? 1 : E_PROTOCOL;
	while (pb_next(&p))
		if (p.field == 1)
			status = p.value;
	if (p.rd.bad)
		return E_PROTOCOL;
	if (status)
		return -EREMOTEIO;
	/* A byte of its own carries the descriptors. */
	if (k->n_answer == (size_t)used)
		return 1;
	return k->n_fds == 2 ? replica_open(k) : E_PROTOCOL;
}

static int replica_receive(struct kept_replica *k)
{
	unsigned n_fds = 2 - k->n_fds;
	ssize_t n;

	if (k->n_answer == LOCAL_ANSWER_MAX)
		return E_PROTOCOL;
	n = conn_recv(k->conn, k->answer + k->n_answer, LOCAL_ANSWER_MAX - k->n_answer, k->fds + k->n_fds, &n_fds);
	if (n == -EAGAIN)
		return 1;
	if (n <= 0)
		return n ? (int)n : -EPIPE;
	k->n_fds += n_fds;
	k->n_answer += (size_t)n;
	return answer_parse(k);
}

static int replica_send(struct kept_replica *k)
{
	ssize_t n = conn_send(k->conn, k->op.ptr + k->n_sent, k->op.n - k->n_sent, NULL, 0);

	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	k->n_sent += (size_t)n;
	return 0;
}

static void replica_ready(struct conn *c, unsigned can, void *ctx)
{
	struct kept_replica *k = ctx;
	int r = 1;

	if (can & CONN_WRITE && k->n_sent < k->op.n) {
		r = replica_send(k);
		if (r == 0)
			r = conn_want(c, CONN_READ | (k->n_sent < k->op.n ? CONN_WRITE : 0u), replica_ready, k);
		r = r == 0 ? 1 : r;
	}
	if (r == 1 && can & CONN_READ)
		r = replica_receive(k);
	if (r == 1)
		return;
	if (r < 0 && local_is_of_node(r))
		local_disable(k->local, k->port);
	local_answered(k, r);
}

static void replica_late(struct timer *t)
{
	struct kept_replica *k = container_of(t, struct kept_replica, timer);

	local_disable(k->local, k->port);
	local_answered(k, -ETIMEDOUT);
}

int local_socket_path(const char *pattern, uint16_t port, char *out, size_t n)
{
	const char *at = strstr(pattern, "_PORT");
	int r = at ? snprintf(out, n, "%.*s%u%s", (int)(at - pattern), pattern, port, at + 5) : snprintf(out, n, "%s", pattern);

	return r < 0 || (size_t)r >= n ? -ENAMETOOLONG : 0;
}

static int socket_connect(struct local *l, uint16_t port, struct conn **ret)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = -1;
	int r = local_socket_path(l->conf->domain_socket, port, at.sun_path, sizeof(at.sun_path));

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return conn_of_fd(l->loop, TAKE_FD(fd), ret);
}

/* OpRequestShortCircuitAccessProto. */
static int put_op(struct buf *b, const struct local_read *r)
{
	AUTO_BUF struct buf op;

	buf_init(&op, LOCAL_OP_MAX_BYTES);
	buf_hdfs_base(&op, 1, r->block, r->token);
	buf_pb_u64(&op, 2, 1);
	return op.r < 0 ? op.r : transfer_put_op(b, TRANSFER_SHORT_CIRCUIT_FDS, op.ptr, op.n);
}

int local_ask(struct kept_replica *k, const struct local_read *r)
{
	int code = put_op(&k->op, r);

	timer_init(&k->timer, k->local->loop, replica_late);
	if (code == 0)
		code = socket_connect(k->local, k->port, &k->conn);
	if (code == 0)
		code = replica_send(k);
	if (code == 0)
		code = timer_set(&k->timer, loop_now(k->local->loop) + ASK_NS);
	if (code == 0)
		code = conn_want(k->conn, CONN_READ | (k->n_sent < k->op.n ? CONN_WRITE : 0u), replica_ready, k);
	return code;
}
