/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: non-blocking, by ops. A record connection keeps the bounds of each send (SOCK_SEQPACKET, and may
 * pass descriptors); a stream does not. A memory pipe is either, between two ends in one thread, with a fault plan.
 */
#ifndef OLDDOG_NET_CONN_H
#define OLDDOG_NET_CONN_H

#include <sys/types.h>
#include <sys/uio.h>

#include "net/loop.h"

#define CONN_MAX_FDS 8
#define CONN_MAX_IOV 1024	/* of one call: IOV_MAX */

enum conn_want { CONN_READ = 1, CONN_WRITE = 2 };

struct conn;

struct conn_ops {
	const char *name;
	/* As conn_send() and conn_recv() of pieces, conn_want(), conn_close(). All required. */
	ssize_t (*send)(struct conn *c, const struct iovec *iov, unsigned n_iov, const int *fds, unsigned n_fds);
	ssize_t (*recv)(struct conn *c, const struct iovec *iov, unsigned n_iov, int *ret_fds, unsigned *n_fds);
	int (*want)(struct conn *c, unsigned want);
	void (*close)(struct conn *c);
};

struct conn {
	const struct conn_ops *ops;
	struct loop *loop;
	/* Called when a wanted direction may go on, and at the end of the connection. Level-triggered. */
	void (*ready)(struct conn *c, unsigned can, void *ctx);
	void *ctx;
};

/*
 * Sends up to n > 0 bytes (a record: all or nothing). Bytes sent, -EAGAIN, -EPIPE (the other side is gone), -EMSGSIZE.
 * At most CONN_MAX_FDS fds, on record connections only (-EOPNOTSUPP); they are duplicated.
 */
ssize_t conn_send(struct conn *c, const void *p, size_t n, const int *fds, unsigned n_fds);
/*
 * Receives up to n > 0 bytes, or one record. 0 or -EPIPE is the end, -EAGAIN: nothing now. A record longer than n is
 * -EMSGSIZE and lost. ret_fds has room for *n_fds descriptors (n_fds NULL: none), which become the caller's
 * (O_CLOEXEC) and are counted in *n_fds; descriptors that nobody has room for are closed.
 */
ssize_t conn_recv(struct conn *c, void *p, size_t n, int *ret_fds, unsigned *n_fds);
/* The same from, and into, at most CONN_MAX_IOV pieces of memory, one behind the other; together n > 0 bytes. */
ssize_t conn_sendv(struct conn *c, const struct iovec *iov, unsigned n_iov);
ssize_t conn_recvv(struct conn *c, const struct iovec *iov, unsigned n_iov);
/* In place of what was wanted before; 0: nothing, and then ready may be NULL. ready may close the connection. */
int conn_want(struct conn *c, unsigned want, void (*ready)(struct conn *, unsigned, void *), void *ctx);
/* Closes and frees; NULL is a no-op. ready is not called again. */
void conn_close(struct conn *c);
static inline void conn_closep(struct conn **c)
{
	conn_close(*c);
}
#define AUTO_CONN __attribute__((cleanup(conn_closep)))

/* A connected socket, stream or SOCK_SEQPACKET; takes fd, also when it fails. */
int conn_of_fd(struct loop *loop, int fd, struct conn **ret_conn);

/* What a memory pipe does to what passes. Zero: nothing. Decided by the pipe's own random numbers from seed. */
struct pipe_faults {
	uint64_t seed;
	uint64_t delay_min_ns, delay_max_ns;	/* order within a direction is kept */
	uint32_t cut_after;			/* after so many records received, or reads, both ways together, both
						   directions end and lose what is under way; 0: never */
	uint32_t stall_ppm;			/* of records: the direction stops for stall_ns */
	uint64_t stall_ns;
	uint32_t flip_ppm;			/* of records: one bit is flipped */
	uint32_t split_ppm;			/* of a stream's sends and reads: only a part passes */
};

/*
 * Two ends in one loop. records: as SOCK_SEQPACKET, else a stream (whose records, above, are its sends). faults may
 * be NULL. capacity_bytes (not 0) bounds what is under way per direction; a longer record is -EMSGSIZE. An end that
 * waits for what nobody will send keeps no loop running: loop_run_until() then says -EDEADLK.
 */
int conn_pipe(struct loop *loop, bool records, size_t capacity_bytes, const struct pipe_faults *faults,
	struct conn **ret_a, struct conn **ret_b);

#endif
