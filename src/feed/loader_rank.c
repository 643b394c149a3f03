/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's connection: its questions, and the batches that answer them. */
#include "feed/loader_int.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define RECORDS_A_TURN 16

static void rank_serve(void *ctx);

/* Sending. */

static void record_free(struct record *rec)
{
	if (!rec)
		return;
	list_del(&rec->list);
	buf_release(&rec->bytes);
	mem_free(rec);
}

/* false: the connection is of no use any more. */
static bool send_queue(struct rank *r)
{
	while (!list_empty(&r->queue)) {
		struct record *rec = container_of(r->queue.next, struct record, list);
		ssize_t n = conn_send(r->conn, rec->bytes.ptr, rec->bytes.n, &rec->fd, rec->fd >= 0);

		if (n == -EAGAIN)
			return true;
		if (n < 0)
			return false;
		record_free(rec);
		r->n_queued--;
	}
	return true;
}

static void on_ready(struct conn *c, unsigned can, void *ctx);

/* A record that does not reach its rank would be waited for without end: the connection's end is seen at once. */
static void rank_cut_off(struct rank *r)
{
	r->over = true;
	(void)timer_set(&r->end, loop_now(r->loader->loop)); /* reserved */
}

static void on_end(struct timer *t)
{
	struct rank *r = container_of(t, struct rank, end);

	loader_rank_gone(r->loader, r);
}

static void rank_flush(struct rank *r)
{
	bool writing;

	if (!send_queue(r)) {
		rank_cut_off(r);
		return;
	}
	writing = !list_empty(&r->queue);
	if (writing == r->writing)
		return;
	r->writing = writing;
	/* What waits would wait for ever. */
	if (conn_want(r->conn, CONN_READ | (writing ? CONN_WRITE : 0), on_ready, r) < 0)
		rank_cut_off(r);
}

static void rank_send(struct rank *r, const struct rankmsg *m, int fd)
{
	struct record *rec;

	if (r->over)
		return;
	rec = r->n_queued >= LOADER_MAX_QUEUE ? NULL : mem_zalloc(sizeof(*rec));
	if (!rec) {
		rank_cut_off(r);
		return;
	}
	list_init(&rec->list);
	buf_init(&rec->bytes, RANKMSG_MAX_BYTES);
	rec->fd = fd;
	if (rankmsg_encode(m, &rec->bytes) < 0) {
		record_free(rec);
		rank_cut_off(r);
		return;
	}
	list_add(&r->queue, &rec->list);
	r->n_queued++;
	rank_flush(r);
}

void rank_warn(struct rank *r, const char *words)
{
	rank_send(r, &(struct rankmsg){.type = RANKMSG_WARN, .words = words}, -1);
}

static void rank_fail(struct rank *r, int code, const struct err *e, bool over)
{
	rank_send(r, &(struct rankmsg){.type = RANKMSG_FAIL, .code = code, .over = over, .words = err_words(e, code)}, -1);
	r->over |= over;
}

/* Batches. */

static int remember(struct rank *r, struct stream_batch *b)
{
	uint32_t id = b->slot->id;

	if (VEC_RESERVE(&r->held, id + 1) < 0 || VEC_RESERVE(&r->known, id + 1) < 0)
		return -ENOMEM;
	for (; r->held.n <= id; r->held.n++, r->known.n++) {
		r->held.ptr[r->held.n] = NULL;
		r->known.ptr[r->known.n] = false;
	}
	r->held.ptr[id] = b;
	return 0;
}

static int head_bytes(const struct stream_batch *b, uint32_t *ret)
{
	AUTO_BUF struct buf buf;
	int e;

	buf_init(&buf, BATCHHEAD_ROOM);
	e = batch_head_encode(&b->head, &buf);
	*ret = (uint32_t)buf.n;
	return e;
}

static void send_batch(struct rank *r, struct stream_batch *b)
{
	struct rankmsg m = {.type = RANKMSG_BATCH, .slot = b->slot->id, .slot_bytes = b->slot->n_bytes,
		.end = b->head.end, .n_left = stream_batches_left(r->stream), .n_batches = stream_batches(r->stream)};
	int e = remember(r, b), fd;

	e = e < 0 ? e : head_bytes(b, &m.head_bytes);
	if (e < 0) {
		rank_fail(r, e, NULL, true);
		return;
	}
	fd = r->known.ptr[m.slot] ? -1 : b->slot->fd;
	r->known.ptr[m.slot] = true;
	rank_send(r, &m, fd);
}

static void send_end(struct rank *r)
{
	rank_send(r, &(struct rankmsg){.type = RANKMSG_END, .end = stream_consumed(r->stream),
		.n_left = stream_batches_left(r->stream), .n_batches = stream_batches(r->stream)}, -1);
}

static void rank_serve(void *ctx)
{
	struct rank *r = ctx;
	struct stream_batch *b;
	struct err e = {0};
	int x;

	if (!r->asked || !r->opened || r->over)
		return;
	x = stream_next(r->stream, &b, &e);
	if (x == -EAGAIN)
		return;
	r->asked = false;
	if (x == 0)
		send_batch(r, b);
	else if (x == E_END)
		send_end(r);
	else
		rank_fail(r, x, &e, x != -ENOBUFS);
}

static int rank_release(struct rank *r, uint32_t slot)
{
	if (slot >= r->held.n || !r->held.ptr[slot])
		return E_PROTOCOL;
	stream_release(r->stream, r->held.ptr[slot]);
	r->held.ptr[slot] = NULL;
	return 0;
}

/* Opening. */

static int make_spec(struct rank *r, struct err *e)
{
	int x = spec_copy(plan_spec(r->plan->plan), &r->spec);

	if (x < 0)
		return err_set(e, x, "no memory for a spec");
	if (r->open.n_fields)
		x = spec_select_fields(r->spec, r->open.fields, r->open.n_fields, e);
	if (x == 0 && r->open.transform)
		x = spec_apply_transform(r->spec, NULL, r->open.transform, e);
	return x;
}

static uint64_t global_batch(const struct rank *r)
{
	const struct spec *spec = plan_spec(r->plan->plan);
	uint64_t batch = r->open.batch ? r->open.batch : spec->batch, all;
	bool global = r->open.batch ? r->open.batch_is_global : spec->batch_is_global;

	if (global)
		return batch;
	return __builtin_mul_overflow(batch, (uint64_t)r->open.dp_size, &all) ? UINT64_MAX : all;
}

static int open_stream(struct rank *r, struct err *e)
{
	struct stream_conf conf = {.dp_rank = r->open.dp_rank, .dp_size = r->open.dp_size, .global_batch = global_batch(r),
		.has_tail = r->open.tail != 0, .tail = r->open.tail - 1, .consumed = r->open.consumed,
		.n_epochs = r->open.n_epochs, .ready = rank_serve, .ctx = r};

	if (r->open.tail > TAIL_CARRY + 1)
		return err_set(e, -EINVAL, "tail %u is unknown", r->open.tail);
	return stream_open(r->shared->engine, &conf, &r->stream, e);
}

static int check_order(const struct rank *r, struct err *e)
{
	const uint8_t *ours = plan_order_id(r->plan->plan);
	char a[17], b[17];

	if (!r->open.has_order_id || memcmp(ours, r->open.order_id, SHA256_BYTES) == 0)
		return 0;
	hex_of(r->open.order_id, 8, a);
	hex_of(ours, 8, b);
	return err_set(e, E_OTHER_ORDER, "the state is of the order %s, the plan's is %s: other data, seed or shuffle; a "
		"position of one means nothing in the other", a, b);
}

static void send_opened(struct rank *r)
{
	const struct plan *plan = r->plan->plan;
	struct rankmsg m = {.type = RANKMSG_OPENED, .version = RANKMSG_VERSION, .has_order_id = true,
		.n_samples = plan_n_samples(plan), .epoch_len = plan_epoch_len(plan), .global_batch = global_batch(r),
		.seed = plan_spec(plan)->seed, .pid = (uint32_t)getpid(), .n_left = stream_batches_left(r->stream),
		.n_batches = stream_batches(r->stream)};

	memcpy(m.order_id, plan_order_id(plan), SHA256_BYTES);
	memcpy(m.fields_id, r->shared->fields_id, SHA256_BYTES);
	rank_send(r, &m, -1);
	r->opened = true;
}

static void send_warnings(struct rank *r)
{
	const struct buf *w = &r->plan->warnings;

	for (size_t at = 0; at < w->n; at += strlen((const char *)w->ptr + at) + 1)
		rank_warn(r, (const char *)w->ptr + at);
}

void rank_plan_ready(struct rank *r)
{
	struct err e = r->plan->err;
	int x = r->plan->r;

	send_warnings(r);
	x = x < 0 ? x : check_order(r, &e);
	x = x < 0 ? x : make_spec(r, &e);
	x = x < 0 ? x : engine_join(r, &e);
	x = x < 0 ? x : open_stream(r, &e);
	if (x < 0)
		rank_fail(r, x, &e, true);
	else
		send_opened(r);
}

static int take_open(struct rank *r, const void *p, size_t n)
{
	struct err e = {0};
	int x;

	if (r->open_bytes)
		return E_PROTOCOL;
	r->open_bytes = mem_dup(p, n);
	if (!r->open_bytes)
		return -ENOMEM;
	x = rankmsg_decode(r->open_bytes, n, &r->open);
	if (x < 0 || r->open.n_paths == 0)
		return E_PROTOCOL;
	if (r->open.version != RANKMSG_VERSION) {
		x = err_set(&e, E_PROTOCOL, "this olddog-loader speaks version %d, the rank version %u: all of a job must be "
			"of one olddog", RANKMSG_VERSION, r->open.version);
		rank_fail(r, x, &e, true);
		return 0;
	}
	return plan_join(r);
}

/* Receiving. */

static int take_record(struct rank *r, const void *p, size_t n)
{
	struct rankmsg m;
	int x = rankmsg_decode(p, n, &m);

	if (x < 0)
		return x;
	if (m.type == RANKMSG_OPEN)
		return take_open(r, p, n);
	if (!r->opened)
		return E_PROTOCOL;
	if (m.type == RANKMSG_RELEASE)
		return rank_release(r, m.slot);
	if (m.type != RANKMSG_NEXT || r->asked)
		return E_PROTOCOL;
	r->asked = true;
	rank_serve(r);
	return 0;
}

/* One record. false: there is none now, or the rank is gone. */
static bool receive(struct rank *r)
{
	static uint8_t bytes[RANKMSG_MAX_BYTES];
	unsigned n_fds = 0;
	ssize_t n = conn_recv(r->conn, bytes, sizeof(bytes), NULL, &n_fds);
	int x;

	if (n == -EAGAIN)
		return false;
	x = n > 0 ? take_record(r, bytes, (size_t)n) : -EPIPE;
	if (x == 0)
		return true;
	loader_rank_gone(r->loader, r);
	return false;
}

static void on_ready(struct conn *c, unsigned can, void *ctx)
{
	struct rank *r = ctx;

	if (can & CONN_WRITE)
		rank_flush(r);
	/* Who asks without end lets the others have their turn. */
	if (can & CONN_READ)
		for (unsigned n = 0; n < RECORDS_A_TURN && receive(r); n++)
			;
}

int rank_new(struct loader *l, int fd)
{
	AUTO_CLOSE int owned = fd;
	struct rank *r = mem_zalloc(sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->loader = l;
	r->held.max = r->known.max = LOADER_MAX_SLOTS;
	list_init(&r->list);
	list_init(&r->waiting);
	list_init(&r->queue);
	timer_init(&r->end, l->loop, on_end);
	e = timer_reserve(&r->end);
	if (e < 0) {
		mem_free(r);
		return e;
	}
	e = conn_of_fd(l->loop, TAKE_FD(owned), &r->conn);
	e = e < 0 ? e : conn_want(r->conn, CONN_READ, on_ready, r);
	if (e < 0) {
		rank_free(r);
		return e;
	}
	list_add(&l->ranks, &r->list);
	return 0;
}

void rank_free(struct rank *r)
{
	list_del(&r->list);
	stream_close(r->stream);
	engine_leave(r);
	plan_leave(r);
	while (!list_empty(&r->queue))
		record_free(container_of(r->queue.next, struct record, list));
	conn_close(r->conn);
	timer_unreserve(&r->end);
	spec_free(r->spec);
	vec_release(&r->held);
	vec_release(&r->known);
	mem_free(r->open_bytes);
	mem_free(r);
}
