/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory pipe: two ends in one loop, whose wire is two queues of parcels. Each parcel has the time at which it
 * arrives; each end has one timer, which is all that wakes it, so that both kinds of loop drive a pipe alike.
 */
#include "net/conn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/rand.h"

/* What one send put on the wire. */
struct parcel {
	struct parcel *next;
	uint64_t at_ns;
	size_t n, taken;
	unsigned n_fds;
	int fds[CONN_MAX_FDS];
	uint8_t bytes[];
};

/* Towards one end. */
struct wire {
	struct parcel *first, **last;
	size_t n_bytes;
	uint64_t at_ns;		/* when the last parcel arrives */
	uint64_t n_sent;	/* parcels so far: the counter of the random numbers */
	uint64_t n_reads;
};

struct pipe;

struct pipe_end {
	struct conn conn;
	struct pipe *pipe;
	unsigned side, want;
	bool closed;
	struct timer timer;
	struct wire in;
};

struct pipe {
	bool records, cut;
	size_t capacity;
	struct pipe_faults faults;
	struct philox_key key;
	uint32_t n_passed; /* records or reads, both ways */
	struct pipe_end ends[2];
};

/* What a random number is for: the third word of its counter, beside the end. */
enum draw { DRAW_PARCEL, DRAW_SPLIT_SEND, DRAW_SPLIT_RECV };

static struct pipe_end *other_end(struct pipe_end *e)
{
	return &e->pipe->ends[!e->side];
}

static void draw(const struct pipe_end *e, enum draw what, uint64_t n, uint32_t ret[4])
{
	philox(e->pipe->key, n, e->side, what, ret);
}

static bool happens(uint32_t u, uint32_t ppm)
{
	return (uint64_t)u * 1000000 >> 32 < ppm;
}

static void parcel_free(struct parcel *p)
{
	for (unsigned i = 0; i < p->n_fds; i++)
		close(p->fds[i]);
	mem_free(p);
}

static void wire_pop(struct wire *w)
{
	struct parcel *p = w->first;

	w->first = p->next;
	if (!w->first)
		w->last = &w->first;
	parcel_free(p);
}

static void wire_clear(struct wire *w)
{
	while (w->first)
		wire_pop(w);
	w->n_bytes = 0;
}

/* The wire ends, for both, at once: what is under way is lost. */
static void pipe_cut(struct pipe *pipe)
{
	pipe->cut = true;
	wire_clear(&pipe->ends[0].in);
	wire_clear(&pipe->ends[1].in);
}

/* When this end can do what; UINT64_MAX is never, as things are. */
static uint64_t readable_at(struct pipe_end *e)
{
	if (e->in.first)
		return e->in.first->at_ns;
	if (e->pipe->cut)
		return 0;
	return other_end(e)->closed ? e->in.at_ns : UINT64_MAX;
}

static uint64_t writable_at(struct pipe_end *e)
{
	struct pipe_end *to = other_end(e);

	return e->pipe->cut || to->closed || to->in.n_bytes < e->pipe->capacity ? 0 : UINT64_MAX;
}

static void end_arm(struct pipe_end *e)
{
	uint64_t at_ns = UINT64_MAX;
	int r;

	if (e->want & CONN_READ)
		at_ns = MIN(at_ns, readable_at(e));
	if (e->want & CONN_WRITE)
		at_ns = MIN(at_ns, writable_at(e));
	if (e->closed || at_ns == UINT64_MAX) {
		timer_clear(&e->timer);
		return;
	}
	r = timer_set(&e->timer, at_ns);
	assert(r == 0); /* reserved */
}

static void pipe_arm(struct pipe *pipe)
{
	end_arm(&pipe->ends[0]);
	end_arm(&pipe->ends[1]);
}

static void end_fire(struct timer *t)
{
	struct pipe_end *e = container_of(t, struct pipe_end, timer);
	uint64_t now_ns = loop_now(e->conn.loop);
	unsigned can = 0;

	if (readable_at(e) <= now_ns)
		can |= CONN_READ;
	if (writable_at(e) <= now_ns)
		can |= CONN_WRITE;
	can &= e->want;
	/* Again next turn, unless ready() changes something: as a level-triggered descriptor would. */
	end_arm(e);
	if (can)
		e->conn.ready(&e->conn, can, e->conn.ctx);
}

/* Faults that the parcel meets: all from its own block of numbers, so that one fault does not shift another. */
static void parcel_post(struct pipe_end *to, struct parcel *p)
{
	const struct pipe_faults *f = &to->pipe->faults;
	struct wire *w = &to->in;
	uint32_t u[4];
	uint64_t delay_ns, bit;

	draw(to, DRAW_PARCEL, w->n_sent++, u);
	delay_ns = f->delay_min_ns + (uint64_t)(uniform_of(u[0]) * (double)(f->delay_max_ns - f->delay_min_ns));
	if (happens(u[1], f->stall_ppm))
		delay_ns += f->stall_ns;
	w->at_ns = MAX(w->at_ns, loop_now(to->conn.loop) + delay_ns);
	p->at_ns = w->at_ns;
	if (happens(u[2], f->flip_ppm)) {
		bit = (uint64_t)u[3] * (p->n * 8) >> 32;
		p->bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	*w->last = p;
	w->last = &p->next;
	w->n_bytes += p->n;
}

static size_t iov_bytes(const struct iovec *iov, unsigned n_iov)
{
	size_t n = 0;

	for (unsigned i = 0; i < n_iov; i++)
		n += iov[i].iov_len;
	return n;
}

/* The first n bytes of the pieces, to or from p. */
static void iov_copy(const struct iovec *iov, uint8_t *p, size_t n, bool into_iov)
{
	for (; n; iov++) {
		size_t part = MIN(n, iov->iov_len);

		if (part && into_iov)
			memcpy(iov->iov_base, p, part);
		else if (part)
			memcpy(p, iov->iov_base, part);
		p += part;
		n -= part;
	}
}

static struct parcel *parcel_new(const struct iovec *iov, size_t n, const int *fds, unsigned n_fds)
{
	struct parcel *p = mem_alloc(sizeof(*p) + n);

	if (!p)
		return NULL;
	*p = (struct parcel){.n = n};
	iov_copy(iov, p->bytes, n, false);
	while (p->n_fds < n_fds) {
		int fd = fcntl(fds[p->n_fds], F_DUPFD_CLOEXEC, 0);

		if (fd < 0) {
			parcel_free(p);
			return NULL;
		}
		p->fds[p->n_fds++] = fd;
	}
	return p;
}

/* A stream may pass a part only, at any moment. */
static size_t split(struct pipe_end *e, enum draw what, uint64_t count, size_t n)
{
	uint32_t u[4];

	if (e->pipe->records || !e->pipe->faults.split_ppm)
		return n;
	draw(e, what, count, u);
	return happens(u[0], e->pipe->faults.split_ppm) ? 1 + ((uint64_t)u[1] * n >> 32) : n;
}

static ssize_t pipe_send(struct conn *conn, const struct iovec *iov, unsigned n_iov, const int *fds, unsigned n_fds)
{
	struct pipe_end *e = container_of(conn, struct pipe_end, conn), *to = other_end(e);
	struct pipe *pipe = e->pipe;
	size_t room = pipe->capacity - to->in.n_bytes, n = iov_bytes(iov, n_iov);
	struct parcel *p;

	if (n_fds && !pipe->records)
		return -EOPNOTSUPP;
	if (pipe->cut || to->closed)
		return -EPIPE;
	if (pipe->records && n > pipe->capacity)
		return -EMSGSIZE;
	if (!room || (pipe->records && n > room))
		return -EAGAIN;
	n = split(e, DRAW_SPLIT_SEND, to->in.n_sent, MIN(n, room));
	p = parcel_new(iov, n, fds, n_fds);
	if (!p)
		return -ENOMEM;
	parcel_post(to, p);
	end_arm(to);
	return (ssize_t)n;
}

static void parcel_give_fds(struct parcel *p, int *ret_fds, unsigned *n_fds)
{
	unsigned n = MIN(*n_fds, p->n_fds);

	for (unsigned i = 0; i < n; i++)
		ret_fds[i] = TAKE_FD(p->fds[i]);
	for (unsigned i = n; i < p->n_fds; i++)
		close(p->fds[i]);
	p->n_fds = 0;
	*n_fds = n;
}

static void count_passed(struct pipe *pipe)
{
	pipe->n_passed++;
	if (pipe->faults.cut_after && pipe->n_passed >= pipe->faults.cut_after)
		pipe_cut(pipe);
}

static ssize_t recv_record(struct pipe_end *e, const struct iovec *to, size_t n, int *ret_fds, unsigned *n_fds)
{
	struct parcel *p = e->in.first;
	ssize_t r = (ssize_t)p->n;

	if (p->n > n) {
		*n_fds = 0;
		r = -EMSGSIZE;
	} else {
		iov_copy(to, p->bytes, p->n, true);
	}
	parcel_give_fds(p, ret_fds, n_fds);
	e->in.n_bytes -= p->n;
	wire_pop(&e->in);
	return r;
}

static ssize_t recv_stream(struct pipe_end *e, const struct iovec *to, size_t n, unsigned *n_fds)
{
	struct parcel *p = e->in.first;

	*n_fds = 0;
	n = split(e, DRAW_SPLIT_RECV, e->in.n_reads++, MIN(n, p->n - p->taken));
	iov_copy(to, p->bytes + p->taken, n, true);
	p->taken += n;
	e->in.n_bytes -= n;
	if (p->taken == p->n)
		wire_pop(&e->in);
	return (ssize_t)n;
}

static ssize_t pipe_recv(struct conn *conn, const struct iovec *to, unsigned n_iov, int *ret_fds, unsigned *n_fds)
{
	struct pipe_end *e = container_of(conn, struct pipe_end, conn);
	size_t n = iov_bytes(to, n_iov);
	ssize_t r;

	if (readable_at(e) > loop_now(conn->loop) || !e->in.first) {
		*n_fds = 0;
		return readable_at(e) > loop_now(conn->loop) ? -EAGAIN : 0;
	}
	r = e->pipe->records ? recv_record(e, to, n, ret_fds, n_fds) : recv_stream(e, to, n, n_fds);
	count_passed(e->pipe);
	pipe_arm(e->pipe);
	return r;
}

static int pipe_want(struct conn *conn, unsigned want)
{
	struct pipe_end *e = container_of(conn, struct pipe_end, conn);

	e->want = want;
	end_arm(e);
	return 0;
}

static void pipe_close(struct conn *conn)
{
	struct pipe_end *e = container_of(conn, struct pipe_end, conn), *other = other_end(e);

	e->closed = true;
	wire_clear(&e->in);
	timer_unreserve(&e->timer);
	if (other->closed) {
		mem_free(e->pipe);
		return;
	}
	other->in.at_ns = MAX(other->in.at_ns, loop_now(conn->loop));
	end_arm(other);
}

static const struct conn_ops pipe_ops = {
	.name = "pipe",
	.send = pipe_send,
	.recv = pipe_recv,
	.want = pipe_want,
	.close = pipe_close,
};

static int end_init(struct pipe *pipe, struct loop *loop, unsigned side)
{
	struct pipe_end *e = &pipe->ends[side];

	e->conn = (struct conn){.ops = &pipe_ops, .loop = loop};
	e->pipe = pipe;
	e->side = side;
	e->in.last = &e->in.first;
	timer_init(&e->timer, loop, end_fire);
	return timer_reserve(&e->timer);
}

int conn_pipe(struct loop *loop, bool records, size_t capacity_bytes, const struct pipe_faults *faults,
	struct conn **ret_a, struct conn **ret_b)
{
	AUTO_FREE struct pipe *pipe = mem_zalloc(sizeof(*pipe));
	int r;

	assert(capacity_bytes);
	if (!pipe)
		return -ENOMEM;
	pipe->records = records;
	pipe->capacity = capacity_bytes;
	if (faults)
		pipe->faults = *faults;
	assert(pipe->faults.delay_min_ns <= pipe->faults.delay_max_ns);
	pipe->key = philox_key_of(pipe->faults.seed, "pipe");
	r = end_init(pipe, loop, 0);
	if (r < 0)
		return r;
	r = end_init(pipe, loop, 1);
	if (r < 0) {
		timer_unreserve(&pipe->ends[0].timer);
		return r;
	}
	*ret_a = &pipe->ends[0].conn;
	*ret_b = &pipe->ends[1].conn;
	TAKE(pipe);
	return 0;
}
