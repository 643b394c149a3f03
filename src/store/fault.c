/* SPDX-License-Identifier: Apache-2.0 */
/*
 * #fault=: a store that is slow and fails, by a plan. What a request meets depends on (seed, path, offset) and on nothing
 * else: who reads the same bytes in the same ranges meets the same delays, in whatever order, on either kind of loop.
 */
#include "store/fault.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/rand.h"
#include "base/rd.h"
#include "base/scope.h"
#include "store/engine.h"
#include "store/path.h"

struct fault {
	struct store store;
	struct store *next; /* owned */
	struct fault_conf conf;
	struct philox_key key;
};

/* What one range meets. */
struct fate {
	uint64_t delay_ns;
	int r;		/* 0: nothing */
	double part;	/* of the bytes that are read before r */
};

/* A request on its way: waits, goes on below as req, comes back to outer. */
struct fault_req {
	struct store_req req;
	struct store_req *outer;
	struct timer timer;
	int r;			/* of what is no read: how it fails, perhaps after a part */
	unsigned *index;	/* of req's ranges among outer's */
	struct store_range ranges[];
};

/* Which numbers of the block are what; a second block when four are not enough. */
enum { U_DELAY, U_SLOW, U_FAIL, U_SHORT };
enum { U_STALE, U_PART };
/* Blocks of what reads (and of what has no offset), and of what appends. */
#define DRAW_READ 0
#define DRAW_APPEND 2

static bool happens(uint32_t u, double p)
{
	return uniform_of(u) < p;
}

static struct fate fate_of(const struct fault *f, const struct store_req *req, uint32_t path_hash, uint64_t place)
{
	const struct fault_conf *c = &f->conf;
	struct fate fate = {0};
	uint32_t u[4], v[4];
	uint32_t draw = req->op == STORE_APPEND ? DRAW_APPEND : DRAW_READ;
	bool has_parts = req->op == STORE_READ || req->op == STORE_APPEND;

	philox(f->key, place, path_hash, draw, u);
	philox(f->key, place, path_hash, draw + 1, v);
	fate.delay_ns = c->delay_min_ns + (uint64_t)(uniform_of(u[U_DELAY]) * (double)(c->delay_max_ns - c->delay_min_ns));
	if (happens(u[U_SLOW], c->slow_p))
		fate.delay_ns += c->slow_ns;
	if (happens(u[U_FAIL], c->fail_p)) {
		fate.r = -EIO;
	} else if (req->op == STORE_READ && happens(v[U_STALE], c->stale_p)) {
		fate.r = -ESTALE;
	} else if (has_parts && happens(u[U_SHORT], c->short_p)) {
		fate.r = -EIO;
		fate.part = uniform_of(v[U_PART]);
	}
	return fate;
}

/* SHA-256, so that any language repeats it without another library. */
static uint32_t hash_of_path(const char *path)
{
	uint8_t digest[SHA256_BYTES];
	char clean[STORE_NAME_MAX];
	struct rd r = rd_of(digest, sizeof(digest));

	path_clean(path, clean);
	sha256_of(clean, strlen(clean), digest);
	return rd_u32(&r);
}

/* A request is as slow as its slowest range, as if each went its own way. What fails at once is not passed on. */
static uint64_t read_meets(const struct fault *f, struct fault_req *q)
{
	struct store_req *outer = q->outer, *req = &q->req;
	uint32_t path_hash = hash_of_path(outer->path);
	uint64_t delay_ns = 0;

	req->ranges = q->ranges;
	req->n_ranges = 0;
	for (unsigned i = 0; i < outer->n_ranges; i++) {
		struct fate fate = fate_of(f, outer, path_hash, outer->ranges[i].offset);
		struct store_range part = outer->ranges[i];

		delay_ns = MAX(delay_ns, fate.delay_ns);
		if (fate.r)
			part.length = (uint64_t)(fate.part * (double)part.length);
		if (part.length == outer->ranges[i].length)
			fate.r = 0; /* of an empty range nothing can be missing */
		outer->ranges[i].r = fate.r;
		if (part.length == 0 && fate.r)
			continue;
		q->index[req->n_ranges] = i;
		q->ranges[req->n_ranges++] = part;
	}
	return delay_ns;
}

/* What has no offset lies behind all that have. */
static uint64_t other_meets(const struct fault *f, struct fault_req *q)
{
	struct fate fate = fate_of(f, q->outer, hash_of_path(q->outer->path), UINT64_MAX - q->outer->op);

	q->r = fate.r;
	return fate.delay_ns;
}

/* What is appended has the offset that it would have behind the rest; a part of it may go on. */
static uint64_t append_meets(const struct fault *f, struct fault_req *q)
{
	struct store_req *outer = q->outer;
	struct fate fate = fate_of(f, outer, hash_of_path(outer->path), outer->writer->n_bytes);

	q->ranges[0] = outer->ranges[0];
	if (fate.r)
		q->ranges[0].length = (uint64_t)(fate.part * (double)outer->ranges[0].length);
	if (q->ranges[0].length < outer->ranges[0].length)
		q->r = fate.r;
	q->req.ranges = q->ranges;
	return fate.delay_ns;
}

static bool is_step(enum store_op op)
{
	return op == STORE_APPEND || op == STORE_FLUSH;
}

static void fault_end(struct fault_req *q, int r)
{
	struct store_req *outer = q->outer;

	if (r < 0 && is_step(outer->op) && !outer->writer->r)
		outer->writer->r = r;
	mem_free(q);
	store_req_finish(outer, r);
}

/* A range that was cut short on purpose keeps its reason, unless the store below had one before that. */
static void fault_came_back(struct store_req *req)
{
	struct fault_req *q = container_of(req, struct fault_req, req);
	struct store_req *outer = q->outer;

	for (unsigned i = 0; req->op == STORE_READ && i < req->n_ranges; i++) {
		struct store_range *range = &outer->ranges[q->index[i]];

		range->done = req->ranges[i].done;
		if (req->ranges[i].r < 0)
			range->r = req->ranges[i].r;
	}
	store_req_above(outer, req);
	fault_end(q, req->r < 0 ? req->r : q->r);
}

/* Fails before the store below has heard of it. But a writer is ended all the same. */
static void fault_give_up(struct fault_req *q, int r)
{
	struct fault *f = container_of(q->outer->store, struct fault, store);
	bool ends = q->outer->op == STORE_COMMIT || q->outer->op == STORE_ABORT;

	if (!ends) {
		fault_end(q, r);
		return;
	}
	q->r = q->outer->op == STORE_COMMIT ? r : 0;
	q->req.op = STORE_ABORT;
	store_pass(f->next, &q->req);
}

static void fault_go_on(struct timer *t)
{
	struct fault_req *q = container_of(t, struct fault_req, timer);
	struct fault *f = container_of(q->outer->store, struct fault, store);
	bool has_part = q->req.op == STORE_APPEND && q->ranges[0].length;

	if ((q->r < 0 && !has_part) || (q->req.op == STORE_READ && q->req.n_ranges == 0))
		fault_give_up(q, q->r);
	else
		store_pass(f->next, &q->req);
}

static uint64_t fault_meets(const struct fault *f, struct fault_req *q)
{
	switch (q->outer->op) {
	case STORE_READ:
		return read_meets(f, q);
	case STORE_APPEND:
		return append_meets(f, q);
	case STORE_ABORT:
		return 0;
	default:
		return other_meets(f, q);
	}
}

static struct fault_req *fault_req_new(struct store_req *outer)
{
	unsigned n = outer->op == STORE_READ || outer->op == STORE_APPEND ? outer->n_ranges : 0;
	struct fault_req *q = mem_zalloc(sizeof(*q) + n * (sizeof(q->ranges[0]) + sizeof(q->index[0])));

	if (!q)
		return NULL;
	q->index = (unsigned *)&q->ranges[n];
	q->outer = outer;
	store_req_below(&q->req, outer);
	q->req.done = fault_came_back;
	timer_init(&q->timer, outer->loop, fault_go_on);
	outer->engine = q;
	return q;
}

static void fault_short_of_memory(struct fault *f, struct store_req *outer)
{
	bool ends = outer->op == STORE_COMMIT || outer->op == STORE_ABORT;

	if ((ends || is_step(outer->op)) && !outer->writer->r)
		outer->writer->r = -ENOMEM;
	/* The end of a writer must not be lost: it is told below, where it ends for want of memory. */
	if (ends) {
		store_hand_down(f->next, outer);
		return;
	}
	store_req_finish(outer, -ENOMEM);
}

static void fault_submit(struct store *store, struct store_req *outer)
{
	struct fault *f = container_of(store, struct fault, store);
	struct fault_req *q = fault_req_new(outer);
	uint64_t delay_ns;

	if (!q) {
		fault_short_of_memory(f, outer);
		return;
	}
	/* Only an end of a writer comes to here when its deadline has passed. */
	if (outer->cancelled) {
		fault_give_up(q, outer->cancelled);
		return;
	}
	delay_ns = fault_meets(f, q);
	if (delay_ns == 0)
		fault_go_on(&q->timer);
	else if (timer_set(&q->timer, loop_now(outer->loop) + delay_ns) < 0)
		fault_give_up(q, -ENOMEM);
}

static void fault_cancel(struct store *store, struct store_req *outer)
{
	struct fault_req *q = outer->engine;

	if (!timer_armed(&q->timer)) {
		store_cancel_as(&q->req, outer->cancelled);
		return;
	}
	timer_clear(&q->timer);
	fault_give_up(q, outer->cancelled);
}

static void fault_counters(struct store *store, void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx)
{
	store_counters(container_of(store, struct fault, store)->next, fn, ctx);
}

static void fault_free(struct store *store)
{
	struct fault *f = container_of(store, struct fault, store);

	store_unref(f->next);
	mem_free(f);
}

static const struct store_ops fault_ops = {
	.name = "fault",
	.submit = fault_submit,
	.cancel = fault_cancel,
	.counters = fault_counters,
	.free = fault_free,
};

int fault_open(struct str value, struct store *next, struct store **ret_store, struct err *e)
{
	AUTO_STORE struct store *owned = next;
	AUTO_FREE struct fault *f = mem_zalloc(sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	r = fault_conf_parse(value, &f->conf, e);
	if (r < 0)
		return r;
	store_init(&f->store, &fault_ops);
	f->store.base = next->base ? mem_strdup(next->base) : NULL;
	if (next->base && !f->store.base)
		return -ENOMEM;
	f->key = philox_key_of(f->conf.seed, "fault");
	f->next = TAKE(owned);
	*ret_store = &TAKE(f)->store;
	return 0;
}
