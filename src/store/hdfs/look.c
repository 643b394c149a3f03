/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/look.h"

#include <errno.h>

#include "store/hdfs/version.h"

/* Behind every byte: the answer has the last block alone, however long the file is. */
#define BEHIND_ALL INT64_MAX

/* "ID-LENGTH-MS", of a stat. */
static uint64_t id_of(const char *version)
{
	uint64_t id = 0;

	for (; *version >= '0' && *version <= '9'; version++)
		id = id * 10 + (uint64_t)(*version - '0');
	return id;
}

static void look_located(struct lookup *u, int r)
{
	struct look *l = container_of(u, struct look, lookup);
	struct store_file *f = &l->req->stat.file;

	/* The NameNode said what it is before: one that may not be read, or is gone by now, is that all the same. */
	if (r == -EACCES || r == -ENOENT || r == -EOPNOTSUPP) {
		l->done(l, 0);
		return;
	}
	if (r == 0 && u->stretch->growing) {
		l->req->stat.growing = true;
		f->length = u->stretch->file_bytes;
		hdfs_version_growing(id_of(f->version), f->version);
	}
	if (r == 0)
		stretch_unref(u->stretch);
	else if (l->req->err)
		*l->req->err = u->err;
	l->done(l, r);
}

static void look_named(struct names_op *op, int r)
{
	struct look *l = container_of(op, struct look, op);

	if (r < 0 || l->req->stat.kind != STORE_FILE) {
		l->done(l, r);
		return;
	}
	l->locates = true;
	l->lookup = (struct lookup){.path = l->path, .offset = BEHIND_ALL, .length = 1, .done = look_located};
	lookup_start(reads_locator(l->reads), &l->lookup);
}

void look_start(struct look *l)
{
	l->locates = false;
	l->op = (struct names_op){.req = l->req, .path = l->path, .done = look_named};
	names_start(l->names, &l->op);
}

void look_cancel(struct look *l)
{
	if (l->locates)
		lookup_cancel(&l->lookup);
	else
		names_cancel(&l->op);
}
