/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_nn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "wire/hadoop/pb.h"

#define PREAMBLE_BYTES 7
#define IN_MAX (4u << 20)
#define OUT_MAX (256u << 20)
#define MAX_KEPT 65536

struct fake_nn {
	struct loop *loop;
	struct fake_net *net;
	char host[64];
	uint16_t port;
	fake_method *method;
	void *ctx;
	enum fake_role role;
	bool stopped;
	unsigned queue, n_waiting, n_executed, n_seen, n_pings;
	int64_t state_id;
	struct fake_cache *cache;
	struct list links;
};

/* One connection. */
struct link {
	struct fake_nn *nn;
	struct conn *conn;
	struct list list, answers;
	struct buf in, out;
	size_t out_at;
	bool opened, has_context, closing;
	char user[64], protocol[96];
};

/* One answer that waits for its time. */
struct wait {
	struct link *link;
	struct list list;
	struct timer timer;
	struct buf frame;
	bool closes;
};

struct kept {
	uint8_t client_id[RPC_CLIENT_ID_BYTES];
	int32_t call_id;
	char *exception, *words;
	uint8_t *body;
	size_t n;
};

struct fake_cache {
	unsigned n;
	struct kept kept[MAX_KEPT];
};

static const char *const AT_MOST_ONCE[] = {"create", "append", "rename", "rename2", "concat", "delete", "createSymlink",
	"updatePipeline", "setXAttr", "removeXAttr", "createSnapshot", "deleteSnapshot", "renameSnapshot"};

static void link_ready(struct conn *c, unsigned can, void *ctx);

/* The retry cache. */

struct fake_cache *fake_cache_new(void)
{
	struct fake_cache *c = calloc(1, sizeof(*c));

	assert(c);
	return c;
}

void fake_cache_free(struct fake_cache *c)
{
	for (unsigned i = 0; c && i < c->n; i++) {
		free(c->kept[i].exception);
		free(c->kept[i].words);
		free(c->kept[i].body);
	}
	free(c);
}

static bool is_kept_kind(const char *method)
{
	for (size_t i = 0; i < N_ELEMS(AT_MOST_ONCE); i++)
		if (strcmp(AT_MOST_ONCE[i], method) == 0)
			return true;
	return false;
}

static struct kept *cache_find(struct fake_cache *c, const struct fake_call *call)
{
	for (unsigned i = c->n; i-- > 0;)
		if (c->kept[i].call_id == call->call_id &&
			memcmp(c->kept[i].client_id, call->client_id, RPC_CLIENT_ID_BYTES) == 0)
			return &c->kept[i];
	return NULL;
}

static void cache_add(struct fake_cache *c, const struct fake_call *call, const struct fake_answer *a)
{
	struct kept *k = &c->kept[c->n++];

	assert(c->n <= MAX_KEPT);
	memcpy(k->client_id, call->client_id, RPC_CLIENT_ID_BYTES);
	k->call_id = call->call_id;
	k->exception = a->exception ? strdup(a->exception) : NULL;
	k->words = a->words ? strdup(a->words) : NULL;
	k->body = malloc(a->body.n + 1);
	assert(k->body);
	memcpy(k->body, a->body.n ? a->body.ptr : (const uint8_t *)"", a->body.n);
	k->n = a->body.n;
}

/* Connections. */

static void link_close(struct link *l)
{
	struct list *e;

	while ((e = list_pop(&l->answers))) {
		struct wait *w = container_of(e, struct wait, list);

		timer_clear(&w->timer);
		l->nn->n_waiting--;
		buf_release(&w->frame);
		free(w);
	}
	list_del(&l->list);
	conn_close(l->conn);
	buf_release(&l->in);
	buf_release(&l->out);
	free(l);
}

static void link_want(struct link *l)
{
	bool writes = l->out_at < l->out.n;

	conn_want(l->conn, (l->nn->stopped ? 0u : CONN_READ) | (writes ? CONN_WRITE : 0u), link_ready, l);
}

/* False: the connection is gone. */
static bool link_flush(struct link *l)
{
	while (l->out_at < l->out.n) {
		ssize_t n = conn_send(l->conn, l->out.ptr + l->out_at, l->out.n - l->out_at, NULL, 0);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			link_close(l);
			return false;
		}
		l->out_at += (size_t)n;
	}
	if (l->out_at == l->out.n) {
		buf_clear(&l->out);
		l->out_at = 0;
		if (l->closing) {
			link_close(l);
			return false;
		}
	}
	link_want(l);
	return true;
}

/* Answers. */

static void put_frame(struct buf *b, const struct fake_call *call, const struct fake_answer *a, int64_t state_id, bool no_id)
{
	AUTO_BUF struct buf head = {.max = IN_MAX}, all = {.max = OUT_MAX};
	uint8_t length[4];

	buf_pb_u64(&head, 1, (uint32_t)call->call_id);
	buf_pb_u64(&head, 2, a->fatal ? RPC_FATAL : a->exception ? RPC_ERROR : RPC_SUCCESS);
	buf_pb_u64(&head, 3, 9);
	if (a->exception) {
		buf_pb_str(&head, 4, a->exception);
		buf_pb_str(&head, 5, a->words ? a->words : "");
		buf_pb_u64(&head, 6, a->fatal ? 4 : 1);
	}
	buf_pb_bytes(&head, 7, call->client_id, no_id ? 0 : RPC_CLIENT_ID_BYTES);
	buf_pb_sint(&head, 8, call->retry);
	if (state_id)
		buf_pb_u64(&head, 9, (uint64_t)state_id);
	buf_varint(&all, head.n);
	buf_add(&all, head.ptr, head.n);
	if (!a->exception) {
		buf_varint(&all, a->body.n);
		buf_add(&all, a->body.ptr, a->body.n);
	}
	for (unsigned i = 0; i < 4; i++)
		length[i] = (uint8_t)(all.n >> (24 - 8 * i));
	buf_add(b, length, 4);
	buf_add(b, all.ptr, all.n);
	/* A test may let any allocation fail: then there is no whole frame, and the connection ends. */
	b->r = b->r < 0 || all.r < 0 || head.r < 0 || a->body.r < 0 ? -ENOMEM : 0;
}

static void wait_fire(struct timer *t)
{
	struct wait *w = container_of(t, struct wait, timer);
	struct link *l = w->link;

	list_del(&w->list);
	l->nn->n_waiting--;
	l->closing |= w->closes || (w->frame.r == 0 && buf_add(&l->out, w->frame.ptr, w->frame.n) < 0);
	buf_release(&w->frame);
	free(w);
	if (!l->nn->stopped)
		link_flush(l);
}

/* By a timer in any case: so an answer never comes inside the reading of its call. */
static void answer(struct link *l, const struct fake_call *call, const struct fake_answer *a, bool no_id)
{
	struct wait *w = calloc(1, sizeof(*w));

	assert(w);
	w->link = l;
	buf_init(&w->frame, OUT_MAX);
	if (!a->close)
		put_frame(&w->frame, call, a, l->nn->state_id, no_id);
	w->closes = a->fatal || a->close || w->frame.r < 0;
	timer_init(&w->timer, l->nn->loop, wait_fire);
	/* The second time it cannot be the one that was to fail. */
	if (timer_set(&w->timer, loop_now(l->nn->loop) + a->delay_ns) < 0)
		assert(timer_set(&w->timer, loop_now(l->nn->loop) + a->delay_ns) == 0);
	list_add(&l->answers, &w->list);
	l->nn->n_waiting++;
}

static void refuse(struct link *l, const struct fake_call *call, const char *exception, const char *words, bool fatal)
{
	answer(l, call, &(struct fake_answer){.exception = exception, .words = words, .fatal = fatal}, fatal);
}

static void execute(struct link *l, const struct fake_call *call)
{
	struct fake_nn *nn = l->nn;
	struct fake_answer a = {.body = {.max = OUT_MAX}};
	bool kept = nn->cache && is_kept_kind(call->method);
	struct kept *k = kept ? cache_find(nn->cache, call) : NULL;

	if (k) {
		a.exception = k->exception;
		a.words = k->words;
		buf_add(&a.body, k->body, k->n);
	} else {
		nn->n_executed++;
		nn->method(nn->ctx, call, &a);
		if (kept && a.body.r == 0)
			cache_add(nn->cache, call, &a);
	}
	if (!a.never)
		answer(l, call, &a, false);
	buf_release(&a.body);
}

static void answer_state(struct link *l, const struct fake_call *call)
{
	struct fake_answer a = {.body = {.max = 64}};

	buf_pb_u64(&a.body, 1, l->nn->role == FAKE_ACTIVE ? 1 : l->nn->role == FAKE_STANDBY ? 2 : 3);
	answer(l, call, &a, false);
	buf_release(&a.body);
}

static bool is_read(const char *method)
{
	return strncmp(method, "get", 3) == 0 || strncmp(method, "list", 4) == 0;
}

static void take_call(struct link *l, const struct fake_call *call)
{
	struct fake_nn *nn = l->nn;

	nn->n_seen++;
	if (nn->queue && nn->n_waiting >= nn->queue)
		refuse(l, call, "org.apache.hadoop.ipc.RetriableException", "Server too busy - disconnecting", true);
	else if (strcmp(call->method, "getHAServiceState") == 0)
		answer_state(l, call);
	else if (nn->role == FAKE_STANDBY || (nn->role == FAKE_OBSERVER && !(is_read(call->method) && call->has_state_id)))
		refuse(l, call, "org.apache.hadoop.ipc.StandbyException",
			"Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error\n\tat X",
			false);
	else
		execute(l, call);
}

/* Requests. */

static void copy(char *to, size_t n, struct str s)
{
	assert(s.n < n);
	memcpy(to, s.p, s.n);
	to[s.n] = 0;
}

static void read_head(struct str message, struct fake_call *call)
{
	struct pb p = pb_of(message.p, message.n);

	while (pb_next(&p)) {
		if (p.field == 3)
			call->call_id = (int32_t)pb_zigzag(p.value);
		else if (p.field == 4 && p.bytes.n == RPC_CLIENT_ID_BYTES)
			memcpy(call->client_id, p.bytes.p, RPC_CLIENT_ID_BYTES);
		else if (p.field == 5)
			call->retry = (int32_t)pb_zigzag(p.value);
		else if (p.field == 8) {
			call->has_state_id = true;
			call->state_id = (int64_t)p.value;
		}
	}
	assert(!p.rd.bad);
}

static void read_context(struct link *l, struct str message)
{
	struct pb p = pb_of(message.p, message.n);

	while (pb_next(&p)) {
		if (p.field == 3)
			copy(l->protocol, sizeof(l->protocol), p.bytes);
		if (p.field == 2) {
			struct pb user = pb_of(p.bytes.p, p.bytes.n);

			while (pb_next(&user))
				if (user.field == 1)
					copy(l->user, sizeof(l->user), user.bytes);
		}
	}
	l->has_context = true;
}

static void read_method(struct str message, struct fake_call *call)
{
	struct pb p = pb_of(message.p, message.n);

	while (pb_next(&p)) {
		if (p.field == 1)
			copy(call->method, sizeof(call->method), p.bytes);
		if (p.field == 2)
			copy(call->protocol, sizeof(call->protocol), p.bytes);
	}
}

static void take_frame(struct link *l, const uint8_t *p, size_t n)
{
	struct rd rd = rd_of(p, n);
	struct fake_call call = {.nn = l->nn};
	struct str head = rd_delimited(&rd), second;

	read_head(head, &call);
	if (call.call_id == RPC_CALL_PING) {
		l->nn->n_pings++;
		return;
	}
	second = rd_delimited(&rd);
	if (call.call_id == RPC_CALL_CONTEXT) {
		read_context(l, second);
		return;
	}
	assert(l->has_context && call.call_id >= 0 && !rd.bad);
	read_method(second, &call);
	copy(call.user, sizeof(call.user), str_of(l->user));
	call.body = rd_delimited(&rd);
	assert(!rd.bad && rd_left(&rd) == 0);
	take_call(l, &call);
}

static void take_bytes(struct link *l)
{
	size_t at = 0;

	if (!l->opened && l->in.n >= PREAMBLE_BYTES) {
		assert(memcmp(l->in.ptr, "hrpc\x09\0\0", PREAMBLE_BYTES) == 0);
		l->opened = true;
		at = PREAMBLE_BYTES;
	}
	while (l->opened && l->in.n - at >= 4) {
		const uint8_t *p = l->in.ptr + at;
		size_t n = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];

		if (l->in.n - at < n + 4)
			break;
		take_frame(l, p + 4, n);
		at += n + 4;
	}
	memmove(l->in.ptr, l->in.ptr + at, l->in.n - at);
	l->in.n -= at;
}

static void link_ready(struct conn *c, unsigned can, void *ctx)
{
	struct link *l = ctx;
	uint8_t bytes[16384];
	ssize_t n;

	if ((can & CONN_WRITE) && !link_flush(l))
		return;
	if (!(can & CONN_READ))
		return;
	n = conn_recv(c, bytes, sizeof(bytes), NULL, NULL);
	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		link_close(l);
		return;
	}
	if (buf_add(&l->in, bytes, (size_t)n) < 0)
		link_close(l);
	else
		take_bytes(l);
}

static void on_accept(void *ctx, struct conn *conn)
{
	struct fake_nn *nn = ctx;
	struct link *l = calloc(1, sizeof(*l));

	assert(l);
	l->nn = nn;
	l->conn = conn;
	list_init(&l->answers);
	list_add(&nn->links, &l->list);
	buf_init(&l->in, IN_MAX);
	buf_init(&l->out, OUT_MAX);
	link_want(l);
}

/* The NameNode. */

struct fake_nn *fake_nn_new(struct loop *loop, struct fake_net *net, const char *host, uint16_t port, fake_method *method,
	void *ctx)
{
	struct fake_nn *nn = mem_zalloc(sizeof(*nn));

	assert(nn);
	nn->loop = loop;
	nn->net = net;
	snprintf(nn->host, sizeof(nn->host), "%s", host);
	nn->port = port;
	nn->method = method;
	nn->ctx = ctx;
	list_init(&nn->links);
	fake_net_listen(net, host, port, on_accept, nn);
	return nn;
}

static void close_all(struct fake_nn *nn)
{
	LIST_EACH (e, &nn->links)
		link_close(container_of(e, struct link, list));
}

void fake_nn_free(struct fake_nn *nn)
{
	if (nn)
		close_all(nn);
	mem_free(nn);
}

void fake_nn_role(struct fake_nn *nn, enum fake_role role)
{
	nn->role = role;
}

void fake_nn_kill(struct fake_nn *nn)
{
	close_all(nn);
	fake_net_set(nn->net, nn->host, nn->port, FAKE_REFUSES);
}

void fake_nn_start(struct fake_nn *nn)
{
	fake_net_set(nn->net, nn->host, nn->port, FAKE_LISTENS);
}

void fake_nn_stop(struct fake_nn *nn, bool stopped)
{
	nn->stopped = stopped;
	LIST_EACH (e, &nn->links) {
		struct link *l = container_of(e, struct link, list);

		if (stopped)
			link_want(l);
		else
			link_flush(l);
	}
}

void fake_nn_queue(struct fake_nn *nn, unsigned n)
{
	nn->queue = n;
}

void fake_nn_cache(struct fake_nn *nn, struct fake_cache *c)
{
	nn->cache = c;
}

void fake_nn_state_id(struct fake_nn *nn, int64_t id)
{
	nn->state_id = id;
}

unsigned fake_nn_n_executed(const struct fake_nn *nn)
{
	return nn->n_executed;
}

unsigned fake_nn_n_seen(const struct fake_nn *nn)
{
	return nn->n_seen;
}

unsigned fake_nn_n_pings(const struct fake_nn *nn)
{
	return nn->n_pings;
}
