/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/nn/rpc.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"

#define IN_BYTES (64u << 10)	/* of the receive buffer, when nothing longer is under way */
#define MANY_CALLS 16u		/* in flight: their answers need not wake anybody one by one */
#define FIRST_BUCKETS 64u
#define MAX_BUCKETS (1u << 20)

struct rpc {
	struct conn *conn;
	struct rpc_conf conf;
	struct loop *loop;
	/* Calls in flight, the oldest first, and by id. */
	struct list calls;
	size_t n_calls, n_buckets;
	struct rpc_call **buckets;
	/* What is to be sent: out from out_at on. */
	struct buf out;
	size_t out_at;
	uint64_t n_queued;	/* bytes ever put into out */
	bool wants_write, flush_posted, dead;
	struct task flush;
	/* What was received: n_in bytes, taken up to in_at. */
	uint8_t *in;
	size_t in_at, n_in, in_cap;
	struct timer timer;
	uint64_t heard_ns, pinged_ns, quiet_at_ns;
	bool *gone;		/* of a callback under way: rpc was freed */
};

static void on_ready(struct conn *c, unsigned can, void *ctx);
static void on_flush(struct task *t);
static void on_timer(struct timer *t);

/* Calls by id. */

static struct rpc_call **bucket_of(struct rpc *rpc, int32_t call_id)
{
	return &rpc->buckets[(uint32_t)call_id & (rpc->n_buckets - 1)];
}

/* More buckets when there are more calls than that. Without memory chains only become longer. */
static void more_buckets(struct rpc *rpc)
{
	size_t n = rpc->n_buckets * 2;
	struct rpc_call **buckets;

	if (rpc->n_calls < rpc->n_buckets || n > MAX_BUCKETS)
		return;
	buckets = mem_calloc(n, sizeof(struct rpc_call *));
	if (!buckets)
		return;
	mem_free(rpc->buckets);
	rpc->buckets = buckets;
	rpc->n_buckets = n;
	LIST_EACH (l, &rpc->calls) {
		struct rpc_call *call = container_of(l, struct rpc_call, list), **at = bucket_of(rpc, call->call_id);

		call->next = *at;
		*at = call;
	}
}

static void calls_add(struct rpc *rpc, struct rpc_call *call)
{
	struct rpc_call **at;

	more_buckets(rpc);
	at = bucket_of(rpc, call->call_id);
	call->next = *at;
	*at = call;
	list_add(&rpc->calls, &call->list);
	rpc->n_calls++;
	call->rpc = rpc;
}

static void calls_del(struct rpc_call *call)
{
	struct rpc *rpc = call->rpc;
	struct rpc_call **at = bucket_of(rpc, call->call_id);

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	list_del(&call->list);
	rpc->n_calls--;
	call->rpc = NULL;
}

static struct rpc_call *calls_find(struct rpc *rpc, int32_t call_id)
{
	struct rpc_call *call = *bucket_of(rpc, call_id);

	while (call && call->call_id != call_id)
		call = call->next;
	return call;
}

/* Beginning and end. */

static void rpc_destroy(struct rpc *rpc)
{
	if (rpc->gone)
		*rpc->gone = true;
	/* A task that is posted cannot be taken back: it frees. */
	rpc->dead = true;
	if (rpc->timer.reserved)
		timer_unreserve(&rpc->timer);
	conn_close(rpc->conn);
	rpc->conn = NULL;
	if (rpc->flush_posted)
		return;
	buf_release(&rpc->out);
	mem_free(rpc->in);
	mem_free(rpc->buckets);
	mem_free(rpc);
}

void rpc_free(struct rpc *rpc)
{
	if (!rpc)
		return;
	assert(rpc->n_calls == 0);
	rpc_destroy(rpc);
}

static void flush_later(struct rpc *rpc)
{
	if (rpc->flush_posted || rpc->wants_write)
		return;
	rpc->flush_posted = true;
	rpc->flush.fn = on_flush;
	loop_post(rpc->loop, &rpc->flush);
}

static int rpc_begin(struct rpc *rpc)
{
	int r;

	rpc->n_buckets = FIRST_BUCKETS;
	rpc->buckets = mem_calloc(FIRST_BUCKETS, sizeof(struct rpc_call *));
	rpc->in = mem_alloc(IN_BYTES);
	rpc->in_cap = IN_BYTES;
	if (!rpc->buckets || !rpc->in)
		return -ENOMEM;
	r = timer_reserve(&rpc->timer);
	if (r == 0)
		r = rpc_put_open(&rpc->out, RPC_AUTH_SIMPLE, rpc->conf.client_id, rpc->conf.protocol, rpc->conf.user, NULL);
	if (r == 0)
		r = conn_want(rpc->conn, CONN_READ, on_ready, rpc);
	rpc->n_queued = rpc->out.n;
	return r;
}

int rpc_new(struct conn *conn, const struct rpc_conf *conf, struct rpc **ret)
{
	struct rpc *rpc = mem_zalloc(sizeof(*rpc));
	int r;

	if (!rpc) {
		conn_close(conn);
		return -ENOMEM;
	}
	rpc->conn = conn;
	rpc->conf = *conf;
	rpc->loop = conn->loop;
	list_init(&rpc->calls);
	buf_init(&rpc->out, RPC_MAX_UNSENT);
	timer_init(&rpc->timer, rpc->loop, on_timer);
	rpc->heard_ns = rpc->pinged_ns = loop_now(rpc->loop);
	r = rpc_begin(rpc);
	if (r < 0) {
		rpc_destroy(rpc);
		return r;
	}
	flush_later(rpc);
	*ret = rpc;
	return 0;
}

static uint64_t n_sent(const struct rpc *rpc)
{
	return rpc->n_queued - (rpc->out.n - rpc->out_at);
}

/* for_all: what every call is told in place of an end; of_one: what one of them is told. */
static void end_with(struct rpc *rpc, int r, const struct rpc_answer *for_all, struct rpc_call *one,
	const struct rpc_answer *of_one)
{
	uint64_t sent = n_sent(rpc);

	conn_close(rpc->conn);
	rpc->conn = NULL;
	rpc->dead = true;
	/* Nobody has it after this, so that nobody else frees it. */
	rpc->conf.ended(rpc, r, rpc->conf.ctx);
	if (one) {
		calls_del(one);
		one->done(one, 0, of_one);
	}
	for (struct list *l = rpc->calls.next; l != &rpc->calls; l = rpc->calls.next) {
		struct rpc_call *call = container_of(l, struct rpc_call, list);

		call->sent = sent > call->begins;
		calls_del(call);
		call->done(call, for_all ? 0 : r, for_all);
	}
	rpc_destroy(rpc);
}

void rpc_end(struct rpc *rpc, int r)
{
	end_with(rpc, r, NULL, NULL, NULL);
}

/* Sending. */

/* False: the connection has ended, rpc is gone. */
static bool flush(struct rpc *rpc)
{
	bool more;

	while (rpc->out_at < rpc->out.n) {
		ssize_t n = conn_send(rpc->conn, rpc->out.ptr + rpc->out_at, rpc->out.n - rpc->out_at, NULL, 0);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			rpc_end(rpc, n == -EPIPE ? -ECONNRESET : (int)n);
			return false;
		}
		rpc->out_at += (size_t)n;
	}
	more = rpc->out_at < rpc->out.n;
	if (!more) {
		buf_clear(&rpc->out);
		rpc->out_at = 0;
	}
	if (more != rpc->wants_write)
		conn_want(rpc->conn, CONN_READ | (more ? CONN_WRITE : 0u), on_ready, rpc);
	rpc->wants_write = more;
	return true;
}

static void on_flush(struct task *t)
{
	struct rpc *rpc = container_of(t, struct rpc, flush);

	rpc->flush_posted = false;
	if (rpc->dead) {
		rpc_destroy(rpc);
		return;
	}
	flush(rpc);
}

/* What was sent makes room. */
static void shift_out(struct rpc *rpc)
{
	if (rpc->out_at < IN_BYTES || rpc->out_at < rpc->out.n / 2)
		return;
	memmove(rpc->out.ptr, rpc->out.ptr + rpc->out_at, rpc->out.n - rpc->out_at);
	rpc->out.n -= rpc->out_at;
	rpc->out_at = 0;
}

/* Since when the server owes something and says nothing. */
static uint64_t quiet_since(const struct rpc *rpc)
{
	return MAX(rpc->heard_ns, container_of(rpc->calls.next, struct rpc_call, list)->at_ns);
}

static uint64_t next_look(const struct rpc *rpc)
{
	uint64_t since_ns = quiet_since(rpc), at_ns = MAX(since_ns, rpc->pinged_ns) + RPC_PING_NS;

	if (rpc->conf.quiet_ns)
		at_ns = MIN(at_ns, MAX(since_ns, rpc->quiet_at_ns) + rpc->conf.quiet_ns);
	return rpc->conf.timeout_ns ? MIN(at_ns, since_ns + rpc->conf.timeout_ns) : at_ns;
}

bool rpc_is_quiet(const struct rpc *rpc)
{
	return rpc->n_calls && loop_now(rpc->loop) >= quiet_since(rpc) + rpc->conf.quiet_ns;
}

int rpc_send(struct rpc *rpc, struct rpc_call *call, const struct rpc_head *head, const char *method, const void *body,
	size_t n)
{
	struct rpc_head h = *head;
	size_t before;
	int r;

	shift_out(rpc);
	before = rpc->out.n;
	h.client_id = h.client_id ? h.client_id : rpc->conf.client_id;
	h.call_id = call->call_id;
	r = rpc_put_call(&rpc->out, &h, rpc->conf.protocol, method, body, n);
	if (r < 0) {
		rpc->out.n = before;
		rpc->out.r = 0;
		return r == -E2BIG ? -EAGAIN : r;
	}
	call->begins = rpc->n_queued;
	call->sent = false;
	call->at_ns = loop_now(rpc->loop);
	rpc->n_queued += rpc->out.n - before;
	calls_add(rpc, call);
	if (!timer_armed(&rpc->timer))
		timer_set(&rpc->timer, next_look(rpc));
	flush_later(rpc);
	return 0;
}

void rpc_forget(struct rpc_call *call)
{
	if (call->rpc)
		calls_del(call);
}

static void ping(struct rpc *rpc)
{
	size_t before = rpc->out.n;

	if (rpc_put_ping(&rpc->out, rpc->conf.client_id) < 0) {
		rpc->out.n = before;
		rpc->out.r = 0;
	}
	rpc->n_queued += rpc->out.n - before;
	flush_later(rpc);
}

/* The timer is not moved with every call: it looks, and is set to when there may be something to do. */
static void on_timer(struct timer *t)
{
	struct rpc *rpc = container_of(t, struct rpc, timer);
	uint64_t now_ns = loop_now(rpc->loop), since_ns;

	if (list_empty(&rpc->calls))
		return;
	since_ns = quiet_since(rpc);
	if (rpc->conf.timeout_ns && now_ns >= since_ns + rpc->conf.timeout_ns) {
		rpc_end(rpc, -ETIMEDOUT);
		return;
	}
	if (now_ns >= MAX(since_ns, rpc->pinged_ns) + RPC_PING_NS) {
		rpc->pinged_ns = now_ns;
		ping(rpc);
	}
	if (rpc->conf.quiet_ns && now_ns >= MAX(since_ns, rpc->quiet_at_ns) + rpc->conf.quiet_ns) {
		rpc->quiet_at_ns = now_ns;
		timer_set(t, next_look(rpc));
		rpc->conf.quiet(rpc, rpc->conf.ctx);
		return;
	}
	timer_set(t, next_look(rpc));
}

/* Receiving. */

/* False: rpc is gone. */
static bool take_fatal(struct rpc *rpc, const struct rpc_answer *answer)
{
	struct rpc_call *call = calls_find(rpc, answer->call_id);

	/* Negative: of the connection, and so of all its calls. Else the others are only lost with it. */
	end_with(rpc, -ECONNRESET, answer->call_id < 0 ? answer : NULL, call, answer);
	return false;
}

static bool take_frame(struct rpc *rpc, const uint8_t *frame, size_t n)
{
	struct rpc_answer answer;
	struct rpc_call *call;
	bool gone = false;
	int r = rpc_parse(frame, n, &answer);

	if (r < 0) {
		rpc_end(rpc, r);
		return false;
	}
	if (answer.status == RPC_FATAL)
		return take_fatal(rpc, &answer);
	call = calls_find(rpc, answer.call_id);
	/* Of a call that nobody waits for any more. */
	if (!call)
		return true;
	calls_del(call);
	rpc->gone = &gone;
	call->done(call, 0, &answer);
	if (!gone)
		rpc->gone = NULL;
	return !gone;
}

/* Keeps what is no whole frame yet at the beginning, and gives the memory of a long one back. */
static void settle(struct rpc *rpc)
{
	uint8_t *p;

	if (rpc->in_at == rpc->n_in)
		rpc->in_at = rpc->n_in = 0;
	if (rpc->n_in || rpc->in_cap <= 16 * IN_BYTES)
		return;
	p = mem_realloc(rpc->in, IN_BYTES, 1);
	if (!p)
		return;
	rpc->in = p;
	rpc->in_cap = IN_BYTES;
}

/* Room for what is missing of a frame; by doubling, so that a length alone takes no memory. */
static int make_room(struct rpc *rpc)
{
	uint8_t *p;

	if (rpc->n_in < rpc->in_cap)
		return 0;
	if (rpc->in_at) {
		memmove(rpc->in, rpc->in + rpc->in_at, rpc->n_in - rpc->in_at);
		rpc->n_in -= rpc->in_at;
		rpc->in_at = 0;
		return 0;
	}
	p = mem_realloc(rpc->in, rpc->in_cap * 2, 1);
	if (!p)
		return -ENOMEM;
	rpc->in = p;
	rpc->in_cap *= 2;
	return 0;
}

/* False: rpc is gone. */
static bool take_frames(struct rpc *rpc)
{
	while (rpc->n_in > rpc->in_at) {
		int64_t n = rpc_frame_bytes(rpc->in + rpc->in_at, rpc->n_in - rpc->in_at);
		const uint8_t *frame = rpc->in + rpc->in_at + 4;

		if (n < 0) {
			rpc_end(rpc, (int)n);
			return false;
		}
		if (n == 0 || (uint64_t)n > rpc->n_in - rpc->in_at)
			break;
		rpc->in_at += (size_t)n;
		if (!take_frame(rpc, frame, (size_t)n - 4))
			return false;
	}
	settle(rpc);
	return true;
}

/* One read a turn: what is left makes the descriptor ready again. */
static void receive(struct rpc *rpc)
{
	int r = make_room(rpc);
	ssize_t n = r < 0 ? r : conn_recv(rpc->conn, rpc->in + rpc->n_in, rpc->in_cap - rpc->n_in, NULL, NULL);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		rpc_end(rpc, n == 0 || n == -EPIPE ? -ECONNRESET : (int)n);
		return;
	}
	rpc->heard_ns = loop_now(rpc->loop);
	rpc->n_in += (size_t)n;
	if (take_frames(rpc) && rpc->n_calls >= MANY_CALLS)
		loop_gather(rpc->loop);
}

static void on_ready(struct conn *c, unsigned can, void *ctx)
{
	struct rpc *rpc = ctx;

	if ((can & CONN_WRITE) && rpc->wants_write && !flush(rpc))
		return;
	if (can & CONN_READ)
		receive(rpc);
}
