/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over a socket: a stream, or SOCK_SEQPACKET with descriptors beside the bytes. */
#include "net/conn.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct conn_socket {
	struct conn conn;
	struct watch watch; /* on while something is wanted */
	int fd;
	bool records;
	unsigned want;
};

union fd_control {
	struct cmsghdr header; /* aligns */
	char bytes[CMSG_SPACE(CONN_MAX_FDS * sizeof(int))];
};

/* That the other side is gone comes under several names. */
static int socket_errno(void)
{
	switch (errno) {
	case ECONNRESET:
	case ENOTCONN:
	case ESHUTDOWN:
		return -EPIPE;
	}
	return -errno;
}

static void msg_put_fds(struct msghdr *msg, union fd_control *control, const int *fds, unsigned n_fds)
{
	struct cmsghdr *c;

	memset(control, 0, sizeof(*control));
	msg->msg_control = control->bytes;
	msg->msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
}

static ssize_t socket_send(struct conn *conn, const struct iovec *iov, unsigned n_iov, const int *fds, unsigned n_fds)
{
	struct conn_socket *s = container_of(conn, struct conn_socket, conn);
	struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = n_iov};
	union fd_control control;
	ssize_t sent;

	if (n_fds && !s->records)
		return -EOPNOTSUPP;
	if (n_fds)
		msg_put_fds(&msg, &control, fds, n_fds);
	do
		sent = sendmsg(s->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? socket_errno() : sent;
}

/* Gives those that there is room for, closes the others. */
static void msg_take_fds(struct msghdr *msg, int *ret_fds, unsigned *n_fds)
{
	unsigned room = *n_fds, n = 0;
	int fd;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(fd)) <= c->cmsg_len; at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (n < room)
				ret_fds[n++] = fd;
			else
				close(fd);
		}
	}
	*n_fds = n;
}

static ssize_t socket_recv(struct conn *conn, const struct iovec *iov, unsigned n_iov, int *ret_fds, unsigned *n_fds)
{
	struct conn_socket *s = container_of(conn, struct conn_socket, conn);
	union fd_control control;
	struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = n_iov, .msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t got;

	do
		got = recvmsg(s->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		*n_fds = 0;
		return socket_errno();
	}
	if (msg.msg_flags & MSG_TRUNC)
		*n_fds = 0;
	msg_take_fds(&msg, ret_fds, n_fds);
	return msg.msg_flags & MSG_TRUNC ? -EMSGSIZE : got;
}

static void socket_ready(struct watch *w, uint32_t events)
{
	struct conn_socket *s = container_of(w, struct conn_socket, watch);
	unsigned can = 0;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		can |= CONN_READ;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		can |= CONN_WRITE;
	can &= s->want;
	if (can)
		s->conn.ready(&s->conn, can, s->conn.ctx);
}

/* Nothing wanted is no watch at all: epoll reports hang-ups even to those who ask for nothing. */
static int socket_want(struct conn *conn, unsigned want)
{
	struct conn_socket *s = container_of(conn, struct conn_socket, conn);
	uint32_t events = (want & CONN_READ ? EPOLLIN : 0u) | (want & CONN_WRITE ? EPOLLOUT : 0u);

	s->want = want;
	if (!want) {
		watch_stop(&s->watch);
		return 0;
	}
	if (s->watch.loop)
		return watch_change(&s->watch, events);
	return watch_start(&s->watch, conn->loop, s->fd, events, socket_ready);
}

static void socket_close(struct conn *conn)
{
	struct conn_socket *s = container_of(conn, struct conn_socket, conn);

	watch_stop(&s->watch);
	close(s->fd);
	mem_free(s);
}

static const struct conn_ops socket_ops = {
	.name = "socket",
	.send = socket_send,
	.recv = socket_recv,
	.want = socket_want,
	.close = socket_close,
};

int conn_of_fd(struct loop *loop, int fd, struct conn **ret_conn)
{
	AUTO_CLOSE int owned = fd;
	socklen_t n = sizeof(int);
	struct conn_socket *s;
	int type;

	if (loop_is_virtual(loop))
		return -EOPNOTSUPP;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) < 0)
		return -errno;
	if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
		return -EPROTOTYPE;
	s = mem_zalloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->conn = (struct conn){.ops = &socket_ops, .loop = loop};
	s->fd = TAKE_FD(owned);
	s->records = type == SOCK_SEQPACKET;
	*ret_conn = &s->conn;
	return 0;
}
