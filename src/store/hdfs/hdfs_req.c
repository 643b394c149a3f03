/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/hdfs_req.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "store/engine.h"
#include "store/hdfs/write/checksum.h"
#include "store/hdfs/look.h"
#include "store/hdfs/sum.h"
#include "store/path.h"
#include "store/temporary.h"

/*
 * A request on its way. It goes to the engine's loop as a message and comes back as one; so does a cancellation, which
 * follows it there and cannot overtake it. Home is the loop of who asks: only there is n_away, and the request's end, once
 * all messages are back.
 */
struct hdfs_req {
	struct task task, cancel;
	struct store_req *outer;
	struct hdfs_engine *engine;
	struct loop *away;
	unsigned n_away;
	int r;
	struct hdfs_req *next_ended;
	struct hdfs_req *spare; /* OPEN_WRITER: for the request that ends the writer */
	/* On the engine's loop. */
	void (*stop)(struct hdfs_req *q); /* hastens the end; NULL: it has not begun, or has ended */
	char *path, *to; /* absolute */
	char *after; /* LIST: of a page that showed nothing */
	union {
		struct names_op op;
		struct read_job read;
		struct put put;
		struct look look;
		struct sum sum;
		struct checksum *checksum;
	};
};

/* Home. */

static void req_back(struct hdfs_req *q)
{
	struct store_req *outer = q->outer;
	int r;

	if (q->away != outer->loop)
		loop_drop(outer->loop);
	if (--q->n_away)
		return;
	r = q->r;
	if (outer->op == STORE_OPEN_WRITER && r == 0)
		outer->writer->spare = TAKE(q->spare);
	mem_free(q->spare);
	mem_free(q->path);
	mem_free(q->to);
	mem_free(q->after);
	mem_free(q);
	if (r == -ECANCELED && outer->cancelled)
		r = outer->cancelled;
	store_req_finish(outer, r);
}

static void req_came_back(struct task *t)
{
	struct hdfs_req *q = container_of(t, struct hdfs_req, task), *next;

	for (; q; q = next) {
		next = q->next_ended;
		req_back(q);
	}
}

static void cancel_came_back(struct task *t)
{
	req_back(container_of(t, struct hdfs_req, cancel));
}

static void send_away(struct hdfs_req *q, struct task *t, void (*fn)(struct task *))
{
	t->fn = fn;
	if (q->away != q->outer->loop)
		loop_hold(q->outer->loop);
	q->n_away++;
	loop_post(q->away, t);
}

static void send_home(struct hdfs_req *q, struct task *t, void (*fn)(struct task *))
{
	t->fn = fn;
	loop_post(q->outer->loop, t);
}

/* On the engine's loop. */

/* Those that begin the list and have one home stay with the first; the rest. */
static struct hdfs_req *split_home(struct hdfs_req *q)
{
	struct hdfs_req *rest;

	while (q->next_ended && q->next_ended->outer->loop == q->outer->loop)
		q = q->next_ended;
	rest = q->next_ended;
	q->next_ended = NULL;
	return rest;
}

/* In the order of their ends; the list has the last one first. */
static void go_home(struct task *t)
{
	struct hdfs_engine *e = container_of(t, struct hdfs_engine, go_home);
	struct hdfs_req *q = TAKE(e->ended), *next, *first = NULL;

	for (; q; q = next) {
		next = q->next_ended;
		q->next_ended = first;
		first = q;
	}
	for (q = first; q; q = next) {
		next = split_home(q);
		send_home(q, &q->task, req_came_back);
	}
}

/* Many answers come in one piece: one after the other each would wake who asked. */
static void send_home_soon(struct hdfs_req *q)
{
	struct hdfs_engine *e = q->engine;

	q->next_ended = e->ended;
	e->ended = q;
	if (q->next_ended)
		return;
	e->go_home.fn = go_home;
	loop_post(e->loop, &e->go_home);
}

static void req_end(struct hdfs_req *q, int r)
{
	struct store_req *req = q->outer;

	if (r < 0 && (req->op == STORE_APPEND || req->op == STORE_FLUSH) && !req->writer->r)
		req->writer->r = r;
	q->stop = NULL;
	q->r = r;
	send_home_soon(q);
}

static void read_ended(struct read_job *job, int r)
{
	req_end(job->ctx, r);
}

static void read_stop(struct hdfs_req *q)
{
	read_cancel(&q->read);
}

static void read_begin(struct hdfs_req *q)
{
	struct store_req *req = q->outer;

	q->stop = read_stop;
	q->read = (struct read_job){.path = q->path, .file = req->file, .ranges = req->ranges, .n_ranges = req->n_ranges,
		.prio = req->prio, .done = read_ended, .ctx = q, .err = req->err};
	read_start(q->engine->reads, &q->read);
}

static void op_stop(struct hdfs_req *q)
{
	names_cancel(&q->op);
}

static void op_begin(struct hdfs_req *q);

/*
 * Takes temporaries out of a page, as file: does. 1: it showed nothing else and there is more, so the next page is asked
 * for.
 */
static int list_tidy(struct hdfs_req *q)
{
	struct store_listing *l = &q->outer->listing;
	const char *last = l->n ? l->entries[l->n - 1].name : NULL;
	char *after = l->more && last && temporary_is(last) ? mem_strdup(last) : NULL;
	size_t n = 0;

	if (l->more && last && temporary_is(last) && !after)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		if (temporary_is(l->entries[i].name))
			mem_free((char *)l->entries[i].name);
		else
			l->entries[n++] = l->entries[i];
	}
	l->n = n;
	if (n || !after) {
		mem_free(after);
		return 0;
	}
	mem_free(q->after);
	q->after = after;
	return 1;
}

/* Those alone that are asked for. They are asked for from their common prefix on, so the first other name ends them. */
static void list_temporaries(struct store_listing *l)
{
	size_t n = 0;

	while (n < l->n && temporary_is(l->entries[n].name))
		n++;
	l->more = l->more && n == l->n;
	for (size_t i = n; i < l->n; i++)
		mem_free((char *)l->entries[i].name);
	l->n = n;
}

static void op_ended(struct names_op *op, int r)
{
	struct hdfs_req *q = container_of(op, struct hdfs_req, op);
	struct store_req *req = q->outer;
	const char *to = req->to;

	if (r == 0 && req->op == STORE_LIST && req->temporaries)
		list_temporaries(&req->listing);
	else if (r == 0 && req->op == STORE_LIST)
		r = list_tidy(q);
	if (r == 1) {
		store_listing_release(&req->listing);
		req->to = q->after;
		op_begin(q);
		req->to = to;
		return;
	}
	req_end(q, r);
}

static void op_begin(struct hdfs_req *q)
{
	q->stop = op_stop;
	q->op = (struct names_op){.req = q->outer, .path = q->path, .to = q->to, .done = op_ended};
	names_start(q->engine->names, &q->op);
}

static void put_ended(struct put *p, int r)
{
	req_end(container_of(p, struct hdfs_req, put), r);
}

static void put_stop(struct hdfs_req *q)
{
	put_cancel(&q->put);
}

static void put_begin(struct hdfs_req *q)
{
	q->stop = put_stop;
	q->put = (struct put){.names = q->engine->names, .writes = q->engine->writes, .req = q->outer, .path = q->path,
		.done = put_ended};
	put_start(&q->put);
}

static void look_ended(struct look *l, int r)
{
	req_end(container_of(l, struct hdfs_req, look), r);
}

static void look_stop(struct hdfs_req *q)
{
	look_cancel(&q->look);
}

static void look_begin(struct hdfs_req *q)
{
	q->stop = look_stop;
	q->look = (struct look){.names = q->engine->names, .reads = q->engine->reads, .req = q->outer, .path = q->path,
		.done = look_ended};
	look_start(&q->look);
}

static void sum_ended(struct sum *s, int r)
{
	req_end(container_of(s, struct hdfs_req, sum), r);
}

static void sum_stop(struct hdfs_req *q)
{
	sum_cancel(&q->sum);
}

static void sum_begin(struct hdfs_req *q)
{
	q->stop = sum_stop;
	q->sum = (struct sum){.names = q->engine->names, .reads = q->engine->reads, .req = q->outer, .path = q->path,
		.done = sum_ended};
	sum_start(&q->sum);
}

/* What DataNodes cannot say by themselves is read. */
static void checksum_ended(struct checksum *c, int r)
{
	struct hdfs_req *q = c->ctx;
	struct store_req *req = q->outer;

	req->checksum = c->sum;
	if (r < 0 && r != -EOPNOTSUPP && req->err)
		*req->err = c->err;
	mem_free(c);
	if (r == -EOPNOTSUPP)
		sum_begin(q);
	else
		req_end(q, r);
}

static void checksum_stop(struct hdfs_req *q)
{
	checksum_cancel(q->checksum);
}

static void checksum_begin(struct hdfs_req *q)
{
	struct hdfs_engine *e = q->engine;
	struct checksum *c = mem_zalloc(sizeof(*c));
	int r = -ENOMEM;

	if (c) {
		q->stop = checksum_stop;
		q->checksum = c;
		*c = (struct checksum){.loop = e->loop, .conf = &e->conf, .nn = e->nn, .dns = e->dns, .path = q->path,
			.done = checksum_ended, .ctx = q};
		r = checksum_start(c);
	}
	if (r < 0) {
		mem_free(c);
		req_end(q, r);
	}
}

static bool ends_writer(enum store_op op)
{
	return op == STORE_COMMIT || op == STORE_ABORT;
}

static bool is_writers(enum store_op op)
{
	return ends_writer(op) || op == STORE_APPEND || op == STORE_FLUSH;
}

/* What is not would get other names on its way, silently. */
static bool is_utf8(const char *path)
{
	struct str rest = str_of(path);

	while (rest.n) {
		size_t n = str_utf8_length(rest);

		if (!n)
			return false;
		rest = (struct str){rest.p + n, rest.n - n};
	}
	return true;
}

static char *absolute(const char *path)
{
	char clean[STORE_NAME_MAX];

	path_clean(path, clean);
	return mem_printf("/%s", clean);
}

static int req_prepare(struct hdfs_req *q)
{
	struct store_req *req = q->outer;
	bool renames = req->op == STORE_RENAME || req->op == STORE_RENAME_NEW;

	/* A writer knows its path. */
	if (is_writers(req->op))
		return 0;
	if (!is_utf8(req->path) || (renames && !is_utf8(req->to)))
		return err_set(req->err, -EILSEQ, "names in HDFS are UTF-8, and this one is not");
	q->path = absolute(req->path);
	q->to = renames ? absolute(req->to) : NULL;
	return q->path && (q->to || !renames) ? hdfs_engine_ready(q->engine) : -ENOMEM;
}

static void req_begin(struct task *t)
{
	struct hdfs_req *q = container_of(t, struct hdfs_req, task);
	enum store_op op = q->outer->op;
	int r = ends_writer(op) ? 0 : q->outer->cancelled;

	if (r == 0)
		r = req_prepare(q);
	if (r < 0)
		req_end(q, r);
	else if (op == STORE_READ)
		read_begin(q);
	else if (op == STORE_STAT && q->outer->visible)
		look_begin(q);
	else if (put_can(op))
		put_begin(q);
	else if (names_can(op))
		op_begin(q);
	else if (op == STORE_CHECKSUM)
		checksum_begin(q);
	else
		req_end(q, -EOPNOTSUPP);
}

static void req_cancel(struct task *t)
{
	struct hdfs_req *q = container_of(t, struct hdfs_req, cancel);

	if (q->stop)
		q->stop(q);
	send_home(q, t, cancel_came_back);
}

/* There. */

static struct hdfs_req *req_new(struct store_req *req)
{
	struct hdfs_req *q = ends_writer(req->op) ? TAKE(req->writer->spare) : mem_zalloc(sizeof(*q));

	if (q && req->op == STORE_OPEN_WRITER) {
		q->spare = mem_zalloc(sizeof(*q));
		if (!q->spare)
			mem_free(TAKE(q));
	}
	return q;
}

void hdfs_req_submit(struct hdfs_engine *e, struct store_req *req)
{
	struct hdfs_req *q = req_new(req);
	int r = q ? hdfs_engine_start(e, &q->away) : -ENOMEM;

	if (r < 0) {
		if (q)
			mem_free(q->spare);
		mem_free(q);
		if (is_writers(req->op) && !req->writer->r)
			req->writer->r = r;
		store_req_finish(req, r);
		return;
	}
	q->outer = req;
	q->engine = e;
	req->engine = q;
	send_away(q, &q->task, req_begin);
}

void hdfs_req_cancel(struct store_req *req)
{
	struct hdfs_req *q = req->engine;

	send_away(q, &q->cancel, req_cancel);
}
