/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking wrappers: one request on a private loop, or the thread's, and words when it fails. */
#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "store/engine.h"
#include "store/temporary.h"

#define LIST_MAX_ENTRIES (1u << 24)
#define SHOWN_BYTES 384 /* of a path in words, which have 512 in all */

static void sync_done(struct store_req *req)
{
	*(bool *)req->ctx = true;
}

static _Thread_local struct loop *lent;

void store_lend_loop(struct loop *loop)
{
	lent = loop;
}

static int run_on(struct loop *loop, struct store *s, struct store_req *req)
{
	bool done = false;
	int r;

	req->loop = loop;
	req->prio = STORE_PRIO_NORMAL;
	req->blocking = true;
	req->done = sync_done;
	req->ctx = &done;
	store_submit(s, req);
	r = loop_run_until(loop, &done);
	return r < 0 ? r : req->r;
}

/* Runs req (op, path and what belongs to it are set) to its end. */
static int sync_run(struct store *s, struct store_req *req)
{
	AUTO(loop) struct loop *own = NULL;
	struct loop *loop = TAKE(lent);
	int r = loop ? 0 : loop_new(&own);

	if (r == 0)
		r = run_on(loop ? loop : own, s, req);
	lent = loop;
	return r;
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

/* The same, with words when it fails: the engine's when it has some. */
static int sync_call(struct store *s, struct store_req *req, const char *verb, struct err *e)
{
	char path[SHOWN_BYTES], why[SHOWN_BYTES];
	struct err words = {0};
	int r;

	req->err = e ? &words : NULL;
	r = sync_run(s, req);
	if (r >= 0)
		return 0;
	if (!words.code)
		return store_fail(s, req->path, r, verb, e);
	return err_set(e, r, "cannot %s %s%s: %s", verb, s->base ? s->base : "", shown(req->path, path),
		str_printable(str_of(words.words), why, sizeof(why)));
}

static int stat_or_look(struct store *s, const char *path, bool visible, struct store_stat *ret, struct err *e)
{
	struct store_req req = {.op = STORE_STAT, .path = path, .visible = visible};
	int r = sync_call(s, &req, "look at", e);

	if (r == 0)
		*ret = req.stat;
	return r;
}

int store_stat(struct store *s, const char *path, struct store_stat *ret, struct err *e)
{
	return stat_or_look(s, path, false, ret, e);
}

int store_look(struct store *s, const char *path, struct store_stat *ret, struct err *e)
{
	return stat_or_look(s, path, true, ret, e);
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
	int r = sync_call(s, &req, "list", e);

	if (r == 0)
		*ret = req.listing;
	return r;
}

int store_list_temporaries(struct store *s, const char *path, const char *after, struct store_listing *ret, struct err *e)
{
	struct store_req req = {.op = STORE_LIST, .path = path, .to = after ? after : TEMPORARY_PREFIX, .temporaries = true};
	int r = sync_call(s, &req, "list", e);

	if (r == 0)
		*ret = req.listing;
	return r;
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

	return sync_call(s, &req, "read", e);
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

	return sync_call(s, &req, op == STORE_WRITE ? "write" : "create", e);
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

	return sync_call(s, &req, verb, e);
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

int store_rename_new(struct store *s, const char *from, const char *to, struct err *e)
{
	return sync_change(s, STORE_RENAME_NEW, from, to, "rename", e);
}

int store_remove_tree(struct store *s, const char *path, struct err *e)
{
	return sync_change(s, STORE_REMOVE_TREE, path, NULL, "remove", e);
}

int store_trash(struct store *s, const char *path, struct err *e)
{
	return sync_change(s, STORE_TRASH, path, NULL, "move to the trash", e);
}

int store_concat(struct store *s, const char *path, const char *const *paths, unsigned n, struct err *e)
{
	struct store_req req = {.op = STORE_CONCAT, .path = path, .paths = paths, .n_paths = n};

	return sync_call(s, &req, "add files to", e);
}

int store_set(struct store *s, const char *path, const struct store_set *set, struct err *e)
{
	struct store_req req = {.op = STORE_SET, .path = path, .set = set};

	return sync_call(s, &req, "change attributes of", e);
}

int store_checksum(struct store *s, const char *path, struct store_checksum *ret, struct err *e)
{
	struct store_req req = {.op = STORE_CHECKSUM, .path = path};
	int r = sync_call(s, &req, "sum up", e);

	if (r == 0)
		*ret = req.checksum;
	return r;
}

int store_space(struct store *s, struct store_space *ret, struct err *e)
{
	return store_space_at(s, "", ret, e);
}

int store_space_at(struct store *s, const char *path, struct store_space *ret, struct err *e)
{
	struct store_req req = {.op = STORE_SPACE, .path = path};
	int r = sync_call(s, &req, "measure", e);

	if (r == 0)
		*ret = req.space;
	return r;
}

int store_summary(struct store *s, const char *path, struct store_summary *ret, struct err *e)
{
	struct store_req req = {.op = STORE_SUMMARY, .path = path};
	int r = sync_call(s, &req, "sum up", e);

	if (r == 0)
		*ret = req.summary;
	return r;
}

int store_locate(struct store *s, const char *path, uint64_t offset, uint64_t length, struct store_places *ret, struct err *e)
{
	struct store_range range = {.offset = offset, .length = length};
	struct store_req req = {.op = STORE_LOCATE, .path = path, .ranges = &range, .n_ranges = 1};
	int r = sync_call(s, &req, "locate", e);

	if (r == 0)
		*ret = req.places;
	return r;
}

/* Writing piece by piece. */

int store_create(struct store *s, const char *path, const struct store_how *how, struct store_writer **ret, struct err *e)
{
	struct store_req req = {.op = STORE_OPEN_WRITER, .path = path, .how = how};
	int r = sync_call(s, &req, how && how->append ? "append to" : "create", e);

	if (r == 0)
		*ret = req.writer;
	return r;
}

int store_append(struct store *s, const char *path, struct store_writer *w, const void *p, size_t n, struct err *e)
{
	struct store_range range = {.length = n, .buf = (void *)p};
	struct store_req req = {.op = STORE_APPEND, .path = path, .writer = w, .ranges = &range, .n_ranges = 1};

	return sync_call(s, &req, "write", e);
}

int store_flush(struct store *s, const char *path, struct store_writer *w, bool disk, struct err *e)
{
	struct store_req req = {.op = STORE_FLUSH, .path = path, .writer = w, .disk = disk};

	return sync_call(s, &req, "write", e);
}

int store_commit(struct store *s, const char *path, struct store_writer *w, struct err *e)
{
	struct store_req req = {.op = STORE_COMMIT, .path = path, .writer = w};

	return sync_call(s, &req, "write", e);
}

void store_abort(struct store *s, const char *path, struct store_writer *w)
{
	struct store_req req = {.op = STORE_ABORT, .path = path, .writer = w};

	sync_call(s, &req, "give up", NULL);
}
