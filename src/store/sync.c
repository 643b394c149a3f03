/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking wrappers: one request on a private loop, and words when it fails. */
#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "store/engine.h"

#define LIST_MAX_ENTRIES (1u << 24)
#define SHOWN_BYTES 384 /* of a path in words, which have 512 in all */

static void sync_done(struct store_req *req)
{
	*(bool *)req->ctx = true;
}

/* Runs req (op, path and what belongs to it are set) to its end. */
static int sync_run(struct store *s, struct store_req *req)
{
	AUTO(loop) struct loop *loop = NULL;
	bool done = false;
	int r = loop_new(&loop);

	if (r < 0)
		return r;
	req->loop = loop;
	req->prio = STORE_PRIO_NORMAL;
	req->done = sync_done;
	req->ctx = &done;
	store_submit(s, req);
	r = loop_run_until(loop, &done);
	return r < 0 ? r : req->r;
}

/* Names in a directory are strangers': they must not reach a terminal as they are. */
static const char *shown(const char *path, char out[SHOWN_BYTES])
{
	return str_printable(str_of(path), out, SHOWN_BYTES);
}

int store_fail(struct store *s, const char *what, int r, const char *verb, struct err *e)
{
	const char *why = err_text(r);
	char path[SHOWN_BYTES];

	if (r == -ESTALE)
		why = "it changed since it was looked at";
	if (r == -ENODATA)
		why = "it ends before that";
	return err_set(e, r, "cannot %s %s%s: %s", verb, s->base ? s->base : "", shown(what, path), why);
}

int store_stat(struct store *s, const char *path, struct store_stat *ret, struct err *e)
{
	struct store_req req = {.op = STORE_STAT, .path = path};
	int r = sync_run(s, &req);

	if (r < 0)
		return store_fail(s, path, r, "look at", e);
	*ret = req.stat;
	return 0;
}

/* The page's entries become all's. */
static int listing_join(struct store_listing *all, struct store_listing *page)
{
	struct store_entry *p;

	if (all->n + page->n > LIST_MAX_ENTRIES)
		return -E2BIG;
	if (all->n + page->n > all->cap) {
		size_t cap = MAX(2 * all->cap, all->n + page->n);

		p = mem_realloc(all->entries, cap, sizeof(*p));
		if (!p)
			return -ENOMEM;
		all->entries = p;
		all->cap = cap;
	}
	if (page->n)
		memcpy(all->entries + all->n, page->entries, page->n * sizeof(*p));
	all->n += page->n;
	page->n = 0;
	return 0;
}

int store_list_page(struct store *s, const char *path, const char *after, struct store_listing *ret, struct err *e)
{
	struct store_req req = {.op = STORE_LIST, .path = path, .to = after};
	int r = sync_run(s, &req);

	if (r < 0)
		return store_fail(s, path, r, "list", e);
	*ret = req.listing;
	return 0;
}

static int list_more(struct store *s, const char *path, struct store_listing *all, struct err *e)
{
	struct store_listing page;
	int r = store_list_page(s, path, all->n ? all->entries[all->n - 1].name : NULL, &page, e);

	if (r < 0)
		return r;
	all->more = page.more;
	r = listing_join(all, &page);
	store_listing_release(&page);
	return r < 0 ? store_fail(s, path, r, "list", e) : 0;
}

int store_list(struct store *s, const char *path, struct store_listing *ret, struct err *e)
{
	struct store_listing all = {.more = true};
	int r = 0;

	while (r == 0 && all.more)
		r = list_more(s, path, &all, e);
	if (r < 0) {
		store_listing_release(&all);
		return r;
	}
	*ret = all;
	return 0;
}

int store_pread(struct store *s, const char *path, const struct store_file *file, void *buf, size_t n, uint64_t offset,
	struct err *e)
{
	struct store_range range = {.offset = offset, .length = n, .buf = buf};
	struct store_req req = {.op = STORE_READ, .path = path, .file = file, .ranges = &range, .n_ranges = 1};
	int r = sync_run(s, &req);

	return r < 0 ? store_fail(s, path, r, "read", e) : 0;
}

int store_read_all(struct store *s, const char *path, size_t max, void **ret_p, size_t *ret_n, struct err *e)
{
	AUTO_FREE uint8_t *p = NULL;
	char words[SHOWN_BYTES];
	struct store_stat st;
	size_t n;
	int r = store_stat(s, path, &st, e);

	if (r < 0)
		return r;
	if (st.kind != STORE_FILE)
		return store_fail(s, path, st.kind == STORE_DIR ? -EISDIR : -EINVAL, "read", e);
	if (st.file.length > max)
		return err_set(e, -EFBIG, "%s%s has %llu bytes; at most %zu are read here", s->base ? s->base : "",
			shown(path, words), (unsigned long long)st.file.length, max);
	n = (size_t)st.file.length;
	p = n < SIZE_MAX ? mem_alloc(n + 1) : NULL;
	if (!p)
		return store_fail(s, path, -ENOMEM, "read", e);
	r = n ? store_pread(s, path, &st.file, p, n, 0, e) : 0;
	if (r < 0)
		return r;
	p[n] = 0;
	*ret_p = TAKE(p);
	*ret_n = n;
	return 0;
}

static int sync_put(struct store *s, enum store_op op, const char *path, const void *p, size_t n, struct err *e)
{
	struct store_range range = {.length = n, .buf = (void *)p};
	struct store_req req = {.op = op, .path = path, .ranges = &range, .n_ranges = 1};
	int r = sync_run(s, &req);

	return r < 0 ? store_fail(s, path, r, op == STORE_WRITE ? "write" : "create", e) : 0;
}

int store_write_all(struct store *s, const char *path, const void *p, size_t n, struct err *e)
{
	return sync_put(s, STORE_WRITE, path, p, n, e);
}

int store_create_exclusive(struct store *s, const char *path, const void *p, size_t n, struct err *e)
{
	return sync_put(s, STORE_CREATE_EXCLUSIVE, path, p, n, e);
}

static int sync_change(struct store *s, enum store_op op, const char *path, const char *to, const char *verb, struct err *e)
{
	struct store_req req = {.op = op, .path = path, .to = to};
	int r = sync_run(s, &req);

	return r < 0 ? store_fail(s, path, r, verb, e) : 0;
}

int store_mkdir(struct store *s, const char *path, struct err *e)
{
	return sync_change(s, STORE_MKDIR, path, NULL, "make directory", e);
}

int store_remove(struct store *s, const char *path, struct err *e)
{
	return sync_change(s, STORE_REMOVE, path, NULL, "remove", e);
}

int store_rename(struct store *s, const char *from, const char *to, struct err *e)
{
	return sync_change(s, STORE_RENAME, from, to, "rename", e);
}
