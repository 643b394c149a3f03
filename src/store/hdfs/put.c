/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/put.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "store/engine.h"
#include "store/hdfs/version.h"
#include "store/path.h"
#include "store/temporary.h"

/* Of a content that is handed to the writer at once: between two looks at whether somebody cancelled. */
#define SLICE_BYTES (8u << 20)

struct put_writer {
	struct store_writer writer; /* first */
	struct write_file *file; /* NULL: not open, or closed */
	char *path;
	char *temporary; /* NULL: it appends */
	bool exclusive;
	uint64_t id; /* of what is written, whatever it is called */
};

static void writer_free(struct put_writer *w)
{
	if (!w)
		return;
	mem_free(w->path);
	mem_free(w->temporary);
	mem_free(w);
}

static inline void writer_freep(struct put_writer **w)
{
	writer_free(*w);
}

static char *temporary_beside(const char *path)
{
	char name[TEMPORARY_NAME_BYTES];
	struct str parent = path_parent(path);

	return temporary_name(name) < 0 ? NULL : mem_printf("%.*s/%s", STR_ARG(parent), name);
}

static int writer_new(struct put *p, struct put_writer **ret)
{
	const struct store_how *how = p->req->op == STORE_OPEN_WRITER ? p->req->how : NULL;
	struct put_writer *w CLEANUP(writer_freep) = mem_zalloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->path = mem_strdup(p->path);
	if (!w->path)
		return -ENOMEM;
	w->exclusive = p->req->op == STORE_CREATE_EXCLUSIVE || (how && how->exclusive);
	if (!(how && how->append)) {
		w->temporary = temporary_beside(p->path);
		if (!w->temporary)
			return -ENOMEM;
	}
	*ret = TAKE(w);
	return 0;
}

/* Steps: each names what comes after it. */

static void step_done(struct write_step *step, int r)
{
	struct put *p = container_of(step, struct put, step);

	p->may_cancel = PUT_NOTHING;
	p->then(p, r);
}

/* What is tidied up goes on when the request was cancelled, and has no words. */
static struct write_step *step_of(struct put *p, bool tidies, void (*then)(struct put *p, int r))
{
	p->step = (struct write_step){.done = step_done, .err = tidies ? NULL : p->req->err};
	p->then = then;
	p->may_cancel = tidies ? PUT_NOTHING : PUT_STEP;
	return &p->step;
}

static void op_done(struct names_op *op, int r)
{
	struct put *p = container_of(op, struct put, op);

	p->may_cancel = PUT_NOTHING;
	p->then(p, r);
}

static void name_step(struct put *p, enum store_op op, const char *path, const char *to, bool tidies,
	void (*then)(struct put *p, int r))
{
	p->sub = (struct store_req){.loop = p->req->loop, .op = op, .path = path, .to = to, .err = tidies ? NULL : p->req->err};
	p->op = (struct names_op){.req = &p->sub, .path = path, .to = to, .done = op_done};
	p->then = then;
	p->may_cancel = tidies ? PUT_NOTHING : PUT_NAME;
	names_start(p->names, &p->op);
}

void put_cancel(struct put *p)
{
	if (p->may_cancel == PUT_NAME)
		names_cancel(&p->op);
	else if (p->may_cancel == PUT_STEP && p->step.file)
		write_cancel(p->step.file);
}

/* Ends. */

static void put_gone(struct put *p, int r)
{
	writer_free(TAKE(p->writer));
	p->done(p, p->r);
}

static void remove_temporary(struct put *p, int r)
{
	p->writer->file = NULL;
	if (p->writer->temporary)
		name_step(p, STORE_REMOVE, p->writer->temporary, NULL, true, put_gone);
	else
		put_gone(p, 0);
}

/* Nothing is left of it, and r is told. */
static void put_give_up(struct put *p, int r)
{
	p->r = r;
	if (p->writer->file)
		write_abort(p->writer->file, step_of(p, true, remove_temporary));
	else
		remove_temporary(p, 0);
}

/* A step of a writer leaves the writer to its user, who can only end it; a whole file is given up. */
static void put_failed(struct put *p, int r)
{
	if (p->req->op == STORE_APPEND || p->req->op == STORE_FLUSH) {
		p->writer->writer.r = r;
		p->done(p, r);
		return;
	}
	put_give_up(p, r);
}

static void put_published(struct put *p)
{
	p->r = 0;
	put_gone(p, 0);
}

/* Publishing. */

/* What is there may be ours, published before the answer was lost; or somebody's, or nothing: directories are renamed too. */
static void put_judged(struct put *p, int r)
{
	if (r == 0 && hdfs_version_is_of(p->sub.stat.file.version, p->writer->id))
		p->r = 0;
	put_gone(p, 0);
}

/*
 * rename failed, or its answer is lost. Once the temporary is removed it can never happen any more; when there is none to
 * remove, it has happened, or somebody has moved what it was in.
 */
static void put_settled(struct put *p, int r)
{
	if (r != -ENOENT)
		put_gone(p, 0);
	else
		name_step(p, STORE_STAT, p->writer->path, NULL, true, put_judged);
}

static void put_renamed(struct put *p, int r)
{
	if (r == 0) {
		put_published(p);
		return;
	}
	p->r = r;
	name_step(p, STORE_REMOVE, p->writer->temporary, NULL, true, put_settled);
}

static void put_rename(struct put *p)
{
	if (p->req->cancelled)
		put_give_up(p, p->req->cancelled);
	else
		name_step(p, p->writer->exclusive ? STORE_RENAME_NEW : STORE_RENAME, p->writer->temporary, p->writer->path, false,
			put_renamed);
}

static void put_closed(struct put *p, int r)
{
	struct put_writer *w = p->writer;

	if (r < 0) {
		put_give_up(p, r);
		return;
	}
	w->file = NULL;
	if (w->temporary)
		put_rename(p);
	else
		put_published(p);
}

static void put_close(struct put *p)
{
	write_close(p->writer->file, step_of(p, false, put_closed));
}

/* Bytes. */

static void put_bytes(struct put *p, int r);

static void put_written(struct put *p)
{
	p->writer->writer.n_bytes += p->at;
	if (p->req->op == STORE_APPEND)
		p->done(p, 0);
	else
		put_close(p);
}

static void put_bytes(struct put *p, int r)
{
	const struct store_range *content = &p->req->ranges[0];
	const uint8_t *from = content->buf;
	uint64_t at = p->at, n = MIN(content->length - at, SLICE_BYTES);

	if (r == 0)
		r = p->req->cancelled;
	if (r < 0) {
		put_failed(p, r);
	} else if (n == 0) {
		put_written(p);
	} else {
		p->at += n;
		write_bytes(p->writer->file, step_of(p, false, put_bytes), from + at, n);
	}
}

static void put_opened(struct put *p, int r)
{
	if (r < 0 && write_was_refused(r)) {
		p->r = r;
		put_gone(p, 0);
		return;
	}
	if (r < 0) {
		put_give_up(p, r);
		return;
	}
	p->writer->file = p->step.file;
	p->writer->id = write_file_id(p->step.file);
	if (p->req->op != STORE_OPEN_WRITER) {
		put_bytes(p, 0);
		return;
	}
	p->req->writer = &p->writer->writer;
	p->done(p, 0);
}

static void put_open(struct put *p)
{
	/* The temporary's name is nobody else's. */
	struct store_how how = {.exclusive = true};
	int r = p->path[1] ? writer_new(p, &p->writer) : -EISDIR;

	if (r < 0) {
		p->done(p, r);
		return;
	}
	if (p->req->op == STORE_OPEN_WRITER && p->req->how) {
		how = *p->req->how;
		how.exclusive = !how.append;
	}
	write_open(p->writes, step_of(p, false, put_opened), p->writer->temporary ? p->writer->temporary : p->path, &how);
}

/* Steps of a writer. */

static void put_flushed(struct put *p, int r)
{
	if (r < 0)
		put_failed(p, r);
	else
		p->done(p, 0);
}

static void put_commit(struct put *p)
{
	int r = p->writer->writer.r ? p->writer->writer.r : p->req->cancelled;

	if (r < 0)
		put_give_up(p, r);
	else
		put_close(p);
}

/* What was appended stays. Closed, the file is free for the next writer at once; else its lease must run out. */
static void put_let_go(struct put *p, int r)
{
	if (r == 0)
		p->writer->file = NULL;
	put_give_up(p, 0);
}

static void put_step(struct put *p)
{
	struct put_writer *w = container_of(p->req->writer, struct put_writer, writer);

	p->writer = w;
	if (p->req->op == STORE_COMMIT)
		put_commit(p);
	else if (p->req->op == STORE_ABORT && !w->temporary && w->writer.r == 0)
		write_close(w->file, step_of(p, true, put_let_go));
	else if (p->req->op == STORE_ABORT)
		put_give_up(p, 0);
	else if (w->writer.r < 0)
		p->done(p, w->writer.r);
	else if (p->req->op == STORE_APPEND)
		put_bytes(p, 0);
	else
		write_flush(w->file, step_of(p, false, put_flushed), p->req->disk);
}

bool put_can(enum store_op op)
{
	return op == STORE_WRITE || op == STORE_CREATE_EXCLUSIVE || (op >= STORE_OPEN_WRITER && op <= STORE_ABORT);
}

void put_start(struct put *p)
{
	p->writer = NULL;
	p->at = 0;
	p->r = 0;
	p->may_cancel = PUT_NOTHING;
	if (p->req->op == STORE_WRITE || p->req->op == STORE_CREATE_EXCLUSIVE || p->req->op == STORE_OPEN_WRITER)
		put_open(p);
	else
		put_step(p);
}
