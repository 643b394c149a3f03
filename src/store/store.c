/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of the stores, and the only caller of their tables: which scheme and filters a URL names, what every request
 * must satisfy before an engine sees it, its deadline and cancellation, and done() exactly once and never inside.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "store/engine.h"
#include "store/path.h"
#include "store/url.h"

static const struct store_scheme {
	const char *name;
	int (*open)(const char *rest, struct store **ret_store, char **ret_path, struct err *e);
	/* As store_counters_of_all(); NULL: nothing is counted. */
	void (*counters)(void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx);
	/* As store_doctor(), of what follows the scheme; NULL: its operations tell all there is. */
	void (*doctor)(const char *url, const char *rest, struct doctor *d);
} schemes[] = {
	{"file", file_open, NULL, file_doctor},
	{"hdfs", hdfs_open, hdfs_counters_of_all, hdfs_doctor},
	{"ram", ram_open, NULL, NULL},
	{"ram-norename", ram_norename_open, NULL, NULL},
};

static const struct store_filter {
	const char *name;
	int (*open)(struct str value, struct store *next, struct store **ret_store, struct err *e);
} filters[] = {
	{"fault", fault_open},
};

static const struct store_scheme *scheme_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMS(schemes); i++)
		if (strcmp(schemes[i].name, name) == 0)
			return &schemes[i];
	return NULL;
}

static const struct store_filter *filter_find(struct str name)
{
	for (size_t i = 0; i < N_ELEMS(filters); i++)
		if (str_eq(name, filters[i].name))
			return &filters[i];
	return NULL;
}

static bool is_filter(struct str name)
{
	return filter_find(name) != NULL;
}

int store_url(const char *text, struct url *ret, struct err *e)
{
	return url_parse(text, is_filter, ret, e);
}

/* One more name behind those that are there. */
static void name_add(char *names, size_t n_bytes, const char *name, const char *after)
{
	size_t n = strlen(names);

	snprintf(names + n, n_bytes - n, "%s%s%s", n ? ", " : "", name, after);
}

static int no_scheme(const char *url, const char *name, struct err *e)
{
	char names[256] = "";

	for (size_t i = 0; i < N_ELEMS(schemes); i++)
		name_add(names, sizeof(names), schemes[i].name, ":");
	return err_set(e, -EPROTONOSUPPORT, "%s: there is no store %s: here, only %s (a file of that name is ./%s)", url, name,
		names, url);
}

static int no_filter(const char *url, struct str name, struct err *e)
{
	char names[256] = "";

	for (size_t i = 0; i < N_ELEMS(filters); i++)
		name_add(names, sizeof(names), filters[i].name, "");
	return err_set(e, -EINVAL, "%s: there is no filter \"%.*s\", only %s (a '#' in a name is %%23)", url, STR_ARG(name),
		names);
}

static int open_engine(const struct url *u, const char *url, struct store **ret_store, char **ret_path, struct err *e)
{
	const struct store_scheme *scheme = scheme_find(u->scheme);

	if (!u->scheme[0])
		return file_open_bare(u->rest, ret_store, ret_path, e);
	if (!scheme)
		return no_scheme(url, u->scheme, e);
	if (path_climbs(str_of(u->rest)))
		return err_set(e, -EINVAL, "%s: a URL has no \"..\" in it", url);
	return scheme->open(u->rest, ret_store, ret_path, e);
}

/* The first filter lies next to the engine. *s is what there is so far; NULL after a failure. */
static int open_filters(const struct url *u, const char *url, struct store **s, struct err *e)
{
	struct str list = str_of(u->filters), name, value;

	while (url_next_filter(&list, &name, &value)) {
		const struct store_filter *filter = filter_find(name);
		int r;

		if (!filter)
			return no_filter(url, name, e);
		r = filter->open(value, TAKE(*s), s, e);
		if (r < 0)
			return err_prefix(e, r, "%s: ", url);
	}
	return 0;
}

int store_open(const char *url, struct store **ret_store, char **ret_path, struct err *e)
{
	AUTO_URL struct url u = {NULL};
	AUTO_STORE struct store *s = NULL;
	AUTO_FREE char *path = NULL;
	int r = store_url(url, &u, e);

	if (r == 0)
		r = open_engine(&u, url, &s, &path, e);
	if (r == 0)
		r = open_filters(&u, url, &s, e);
	if (r < 0)
		return r == -ENOMEM ? err_set(e, r, "%s: %s", url, err_text(r)) : r;
	*ret_store = TAKE(s);
	*ret_path = TAKE(path);
	return 0;
}

int store_doctor(const char *url, struct doctor *d)
{
	AUTO_URL struct url u = {NULL};
	struct err e = {0};
	int r = store_url(url, &u, &e);
	const struct store_scheme *scheme = r == 0 ? scheme_find(u.scheme) : NULL;

	if (r == 0 && !u.scheme[0])
		file_doctor(url, u.rest, d);
	else if (scheme && scheme->doctor && !path_climbs(str_of(u.rest)))
		scheme->doctor(url, u.rest, d);
	else
		doctor_any(url, d);
	return d->r;
}

void store_init(struct store *s, const struct store_ops *ops)
{
	s->ops = ops;
	s->refs = 1;
	s->base = NULL;
}

struct store *store_ref(struct store *s)
{
	s->refs++;
	return s;
}

void store_unref(struct store *s)
{
	if (s && --s->refs == 0) {
		mem_free(s->base);
		s->ops->free(s);
	}
}

/* The life of a request. */

static bool only_looks(enum store_op op)
{
	switch (op) {
	case STORE_READ:
	case STORE_STAT:
	case STORE_LIST:
	case STORE_CHECKSUM:
	case STORE_LOCATE:
	case STORE_SPACE:
	case STORE_SUMMARY:
	case STORE_XATTR_GET:
	case STORE_XATTR_LIST:
		return true;
	default:
		return false;
	}
}

/* A writer is gone after these, whatever comes: they always reach the engine. */
static bool ends_writer(enum store_op op)
{
	return op == STORE_COMMIT || op == STORE_ABORT;
}

static void fail_ranges(struct store_req *req, int r)
{
	if (req->op != STORE_READ)
		return;
	for (unsigned i = 0; i < req->n_ranges; i++)
		if (req->ranges[i].r == 0 && req->ranges[i].done < req->ranges[i].length)
			req->ranges[i].r = r;
}

static void drop_results(struct store_req *req)
{
	store_listing_release(&req->listing);
	store_places_release(&req->places);
	if (req->op == STORE_XATTR_GET || req->op == STORE_XATTR_LIST) {
		mem_free(req->xattr.value);
		req->xattr.value = NULL;
		req->xattr.n = 0;
	}
}

static void req_done(struct task *task)
{
	struct store_req *req = container_of(task, struct store_req, job.task);
	int cancelled = req->cancelled;

	/* Who cancelled wants no data. But a change that has happened has happened, and is told as it went. */
	if (cancelled && only_looks(req->op))
		req->r = cancelled;
	if (req->r < 0) {
		fail_ranges(req, req->r);
		drop_results(req);
	}
	timer_clear(&req->timer);
	req->done(req);
}

void store_req_finish(struct store_req *req, int r)
{
	assert(!req->finished);
	req->finished = true;
	req->r = r;
	for (unsigned i = 0; r == 0 && req->op == STORE_READ && i < req->n_ranges; i++)
		if (req->r == 0)
			req->r = req->ranges[i].r;
	req->job.task.fn = req_done;
	loop_post(req->loop, &req->job.task);
}

void store_cancel_as(struct store_req *req, int code)
{
	if (req->cancelled)
		return;
	req->cancelled = code;
	if (!req->finished && req->store->ops->cancel)
		req->store->ops->cancel(req->store, req);
}

void store_cancel(struct store_req *req)
{
	store_cancel_as(req, -ECANCELED);
}

static void deadline_passed(struct timer *t)
{
	store_cancel_as(container_of(t, struct store_req, timer), -ETIMEDOUT);
}

static void req_init(struct store *s, struct store_req *req)
{
	assert(req->loop && req->done);
	req->store = s;
	req->next = NULL;
	req->engine = NULL;
	req->r = 0;
	req->cancelled = 0;
	req->finished = false;
	req->stat = (struct store_stat){0};
	req->listing = (struct store_listing){NULL};
	req->places = (struct store_places){NULL};
	if (req->op == STORE_XATTR_GET || req->op == STORE_XATTR_LIST)
		req->xattr.value = NULL;
	if (req->op == STORE_OPEN_WRITER)
		req->writer = NULL;
	for (unsigned i = 0; req->op == STORE_READ && i < req->n_ranges; i++)
		req->ranges[i].done = 0, req->ranges[i].r = 0;
	timer_init(&req->timer, req->loop, deadline_passed);
}

static int arm_deadline(struct store_req *req)
{
	if (!req->deadline_ns)
		return 0;
	if (req->deadline_ns <= loop_now(req->loop))
		return -ETIMEDOUT;
	return timer_set(&req->timer, req->deadline_ns);
}

void store_submit(struct store *s, struct store_req *req)
{
	int r;

	req_init(s, req);
	r = store_check(req);
	if (r == 0)
		r = arm_deadline(req);
	/* Then the end of a writer is no success any more, and an end all the same. */
	if (r < 0 && ends_writer(req->op) && req->writer) {
		req->cancelled = r;
		r = 0;
	}
	if (r < 0)
		store_req_finish(req, r);
	else
		s->ops->submit(s, req);
}

void store_pass(struct store *next, struct store_req *req)
{
	req_init(next, req);
	next->ops->submit(next, req);
}

void store_hand_down(struct store *next, struct store_req *req)
{
	req->store = next;
	next->ops->submit(next, req);
}

void store_counters(struct store *s, void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx)
{
	if (s->ops->counters)
		s->ops->counters(s, fn, ctx);
}

void store_counters_of_all(void (*fn)(void *ctx, const char *name, uint64_t value), void *ctx)
{
	for (size_t i = 0; i < N_ELEMS(schemes); i++)
		if (schemes[i].counters)
			schemes[i].counters(fn, ctx);
}
