/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <string.h>

#include "base/scope.h"

const struct place_kind place_kinds[] = {
	{"file, real time", "file", ""},
	{"file, virtual time", "file", "", .is_virtual = true},
	{"file with faults, virtual time", "file", "#fault=delay:1s-30s,slow:0.1:60s,seed:5", .is_virtual = true},
	{"ram, real time", "ram", ""},
	{"ram, virtual time", "ram", "", .is_virtual = true},
	{"ram without rename, virtual time", "ram-norename", "", .is_virtual = true, .no_rename = true},
	{"ram with faults, virtual time", "ram", "#fault=delay:1s-30s,slow:0.1:60s,seed:5", .is_virtual = true},
	{"ram with faults twice, real time", "ram", "#fault=delay:1us-100us&fault=delay:1us-100us,seed:2"},
	{"hdfs, real time", "hdfs", "", .is_hdfs = true},
};
size_t n_place_kinds = N_ELEMS(place_kinds) - 1;

static void __attribute__((constructor)) count_kinds(void)
{
	n_place_kinds += getenv("OLDDOG_TEST_HDFS") != NULL;
}

/* Not by mem_printf(): tests make that one fail. */
static char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	assert(n >= 0);
	return s;
}

static char *new_folder(void)
{
	const char *top = getenv("TMPDIR");
	char *folder = text("%s/olddog-test-XXXXXX", top ? top : "/tmp");

	assert(folder && mkdtemp(folder));
	return folder;
}

struct place *place_open(const struct place_kind *kind)
{
	static unsigned n;
	struct place *p = mem_zalloc(sizeof(*p));
	AUTO_FREE char *url = NULL;
	struct err e = {0};
	int r;

	assert(p);
	p->kind = kind;
	if (strcmp(kind->scheme, "file") == 0)
		p->folder = new_folder();
	if (p->folder)
		url = text("file://%s%s", p->folder, kind->filters);
	else if (kind->is_hdfs)
		url = text("%s/test-%d-%u%s", getenv("OLDDOG_TEST_HDFS"), (int)getpid(), n++, kind->filters);
	else
		url = text("%s:test%u/top%s", kind->scheme, n++, kind->filters);
	r = store_open(url, &p->store, &p->path, &e);
	if (r < 0)
		fprintf(stderr, "%s\n", e.words);
	assert(r == 0);
	r = (kind->is_virtual ? loop_new_virtual : loop_new)(&p->loop);
	assert(r == 0);
	return p;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

void place_close(struct place *p)
{
	if (p->folder)
		nftw(p->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (p->kind->is_hdfs)
		store_remove_tree(p->store, p->path, NULL);
	store_unref(p->store);
	loop_free(p->loop);
	mem_free(p->path);
	mem_free(p->folder);
	mem_free(p);
}

char *place_path(const struct place *p, const char *name)
{
	return text("%s/%s", p->path, name);
}

static void note_done(struct store_req *req)
{
	*(bool *)req->ctx = true;
}

int place_run(struct place *p, struct store_req *req, const char *name, const char *to)
{
	bool renames = req->op == STORE_RENAME || req->op == STORE_RENAME_NEW;
	AUTO_FREE char *path = place_path(p, name), *to_path = to && renames ? place_path(p, to) : NULL;
	bool done = false;
	int r;

	req->loop = p->loop;
	req->path = path;
	req->to = to_path ? to_path : to;
	req->done = note_done;
	req->ctx = &done;
	store_submit(p->store, req);
	assert(!done);
	r = loop_run_until(p->loop, &done);
	assert(r == 0);
	return req->r;
}

int place_put(struct place *p, enum store_op op, const char *name, const void *bytes, size_t n)
{
	struct store_range content = {.buf = (void *)bytes, .length = n};
	struct store_req req = {.op = op, .ranges = &content, .n_ranges = 1};

	return place_run(p, &req, name, NULL);
}

int place_stat(struct place *p, const char *name, struct store_stat *ret)
{
	struct store_req req = {.op = STORE_STAT};
	int r = place_run(p, &req, name, NULL);

	*ret = req.stat;
	return r;
}

ssize_t place_get(struct place *p, const char *name, void *bytes, size_t n)
{
	struct store_range range = {.buf = bytes, .length = n};
	struct store_req req = {.op = STORE_READ, .ranges = &range, .n_ranges = 1};
	int r = place_run(p, &req, name, NULL);

	return r == 0 || r == -ENODATA ? (ssize_t)range.done : r;
}

void place_touch(struct place *p, const char *name)
{
	AUTO_FREE char *path = p->folder ? text("%s/%s", p->folder, name) : NULL;
	AUTO_CLOSE int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
	int r = path ? fd : place_put(p, STORE_WRITE, name, "", 0);

	assert(r >= 0);
}
