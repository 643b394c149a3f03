/* SPDX-License-Identifier: Apache-2.0 */
/* One file: what is at its target, the bytes, their checksum, attributes. */
#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "store/copy_int.h"
#include "wire/hadoop/crc.h"

int copy_pump_init(struct copy_pump *p, struct copy *c)
{
	int r;

	*p = (struct copy_pump){.copy = c};
	r = loop_new(&p->loop);
	for (unsigned i = 0; i < 2 && r == 0; i++) {
		p->pieces[i] = mem_alloc(COPY_PIECE_BYTES);
		r = p->pieces[i] ? 0 : -ENOMEM;
	}
	return r;
}

void copy_pump_release(struct copy_pump *p)
{
	mem_free(p->pieces[0]);
	mem_free(p->pieces[1]);
	loop_free(p->loop);
}

/* A request of the pump, and whether it is under way. */
struct step {
	struct store_req req;
	struct store_range range;
	struct err err;
	bool here;		/* where the store can, it is done when it is started */
	bool done;
};

static void step_done(struct store_req *req)
{
	*(bool *)req->ctx = true;
}

static void step_start(struct copy_pump *p, struct store *s, struct step *step, enum store_op op, const char *path, void *piece,
	uint64_t offset, uint64_t n)
{
	step->range = (struct store_range){.offset = offset, .length = n, .buf = piece};
	step->req = (struct store_req){.loop = p->loop, .op = op, .path = path, .ranges = &step->range, .n_ranges = 1,
		.file = step->req.file, .writer = step->req.writer, .prio = STORE_PRIO_NORMAL, .blocking = step->here,
		.done = step_done, .ctx = &step->done, .err = &step->err};
	step->done = false;
	store_submit(s, &step->req);
}

/* The end of a step that was started. */
static int step_end(struct copy_pump *p, struct store *s, struct step *step, const char *verb, struct err *e)
{
	int r = loop_run_until(p->loop, &step->done);

	if (r < 0 || step->req.r >= 0)
		return r;
	if (!step->err.code)
		return store_fail(s, step->req.path, step->req.r, verb, e);
	return err_set(e, step->req.r, "cannot %s %s%.200s: %s", verb, s->base ? s->base : "", step->req.path, step->err.words);
}

/* The next piece of n_in bytes is read, while the n_out before it are written; what is done here comes second. */
static void start_both(struct copy_pump *p, const struct copy_task *t, const char *to, struct step *in, struct step *out,
	uint64_t at, uint64_t n_in, uint64_t n_out, unsigned turn)
{
	out->here = true;
	in->here = t->from_store->ops->blocks && !(n_out && t->to_store->ops->blocks);
	if (n_in && !in->here)
		step_start(p, t->from_store, in, STORE_READ, t->from, p->pieces[turn], at, n_in);
	if (n_out)
		step_start(p, t->to_store, out, STORE_APPEND, to, p->pieces[!turn], 0, n_out);
	if (n_in && in->here)
		step_start(p, t->from_store, in, STORE_READ, t->from, p->pieces[turn], at, n_in);
}

static int pump(struct copy_pump *p, const struct copy_task *t, uint64_t offset, uint64_t length, const char *to,
	struct store_writer *w, uint32_t *crc, struct err *e)
{
	struct step in = {.done = true}, out = {.done = true};
	uint64_t n_read = 0, n_written = 0;
	unsigned turn = 0;
	int r = 0, r_out;

	in.req.file = &t->stat.file;
	out.req.writer = w;
	while (r == 0 && n_written < length) {
		uint64_t n_in = MIN(length - n_read, COPY_PIECE_BYTES), n_out = n_read - n_written;

		if (copy_stopped(p->copy))
			return err_set(e, -ECANCELED, "stopped");
		start_both(p, t, to, &in, &out, offset + n_read, n_in, n_out, turn);
		r = n_in ? step_end(p, t->from_store, &in, "read", e) : 0;
		r_out = n_out ? step_end(p, t->to_store, &out, "write", r < 0 ? NULL : e) : 0;
		r = r < 0 ? r : r_out;
		if (r == 0 && n_in)
			*crc = crc_of(CRC_C, *crc, p->pieces[turn], (size_t)n_in);
		n_read += n_in;
		n_written += n_out;
		turn = !turn;
		copy_moved(p->copy, r == 0 ? n_out : 0, false);
	}
	return r;
}

int copy_range(struct copy_pump *p, const struct copy_task *t, uint64_t offset, uint64_t length, const char *to,
	const struct store_how *how, uint32_t *ret_crc, struct err *e)
{
	struct store_writer *w = NULL;
	uint32_t crc = 0;
	int r = store_create(t->to_store, to, how, &w, e);

	if (r < 0)
		return r;
	r = pump(p, t, offset, length, to, w, &crc, e);
	if (r < 0) {
		store_abort(t->to_store, to, w);
		return r;
	}
	*ret_crc = crc;
	return store_commit(t->to_store, to, w, e);
}

static int content_checksum(struct copy *c, struct store *s, const char *path, const struct store_file *file,
	struct store_checksum *ret, struct err *e)
{
	AUTO_FREE uint8_t *piece = mem_alloc(COPY_PIECE_BYTES);
	int r = piece ? 0 : -ENOMEM;

	*ret = (struct store_checksum){.length = file->length};
	for (uint64_t at = 0; at < file->length && r == 0; at += COPY_PIECE_BYTES) {
		size_t n = (size_t)MIN(file->length - at, COPY_PIECE_BYTES);

		if (copy_stopped(c))
			return err_set(e, -ECANCELED, "stopped");
		r = store_pread(s, path, file, piece, n, at, e);
		if (r == 0)
			ret->crc32c = crc_of(CRC_C, ret->crc32c, piece, n);
	}
	return r;
}

int copy_checksum(struct copy *c, struct store *s, const char *path, const struct store_file *file,
	struct store_checksum *ret, struct err *e)
{
	struct err words = {0};
	struct store_stat st;
	int r = store_checksum(s, path, ret, &words);

	if (r == -EOPNOTSUPP && !file) {
		r = store_stat(s, path, &st, e);
		return r < 0 ? r : content_checksum(c, s, path, &st.file, ret, e);
	}
	if (r == -EOPNOTSUPP)
		return content_checksum(c, s, path, file, ret, e);
	if (r < 0 && e)
		*e = words;
	return r;
}

int copy_verify(struct copy *c, const struct copy_task *t, const char *to, uint32_t crc, struct err *e)
{
	struct store_checksum sum = {0};
	int r = copy_checksum(c, t->to_store, to, NULL, &sum, e);

	if (r < 0)
		return r;
	if (sum.length == t->stat.file.length && sum.crc32c == crc)
		return 0;
	store_remove(t->to_store, to, NULL);
	return err_set(e, -EIO, "%.200s: what was written (%llu bytes, CRC-32C %08x) is not what was read (%llu bytes, %08x); "
		"it is removed", to, (unsigned long long)sum.length, sum.crc32c, (unsigned long long)t->stat.file.length, crc);
}

/* Stores differ in what they can keep, and users in what they may set. */
static int set_if_can(struct store *s, const char *path, const struct store_set *set, struct err *e)
{
	struct err words = {0};
	int r = store_set(s, path, set, &words);

	if (r == 0 || r == -EOPNOTSUPP || r == -EPERM || r == -EACCES)
		return 0;
	if (e)
		*e = words;
	return r;
}

int copy_attributes(struct store *s, const char *path, const struct store_stat *stat, struct err *e)
{
	struct store_set owner = {.owner = stat->owner, .group = stat->group, .mode = -1};
	struct store_set mode = {.mode = stat->mode ? stat->mode : -1};
	struct store_set times = {.mtime_ns = stat->mtime_ns, .atime_ns = stat->atime_ns, .mode = -1};
	int r;

	/* Who may not give files away may still give them to a group; a name may be unknown there. A new owner clears modes. */
	if (owner.owner && store_set(s, path, &owner, NULL) < 0)
		owner.owner = NULL;
	if (!owner.owner && owner.group)
		store_set(s, path, &owner, NULL);
	r = mode.mode > 0 ? set_if_can(s, path, &mode, e) : 0;
	if (r == 0 && times.mtime_ns)
		r = set_if_can(s, path, &times, e);
	return r;
}

/* In one stream. */
static int copy_whole(struct copy_pump *p, const struct copy_task *t, bool replace, struct err *e)
{
	struct store_how how = {.exclusive = !replace, .mode = p->copy->rules.preserve ? t->stat.mode & 0777 : 0};
	uint32_t crc = 0;
	int r = copy_range(p, t, 0, t->stat.file.length, t->to, &how, &crc, e);

	if (r == 0)
		r = copy_verify(p->copy, t, t->to, crc, e);
	if (r == 0 && p->copy->rules.preserve)
		r = copy_attributes(t->to_store, t->to, &t->stat, e);
	return r;
}

static int refuse(const struct copy_task *t, const struct store_stat *at, struct err *e)
{
	if (at->kind != STORE_FILE)
		return err_set(e, -EISDIR, "%.300s: is there and no file; a file is not copied over it", t->to);
	return err_set(e, -ENOTEMPTY, "%.300s: is there and differs from the source; --overwrite replaces it", t->to);
}

static int equal(struct copy *c, const struct copy_task *t, const struct store_stat *at, bool *ret, struct err *e)
{
	struct store_checksum from = {0}, to = {0};
	int r = copy_checksum(c, t->from_store, t->from, &t->stat.file, &from, e);

	if (r == 0)
		r = copy_checksum(c, t->to_store, t->to, &at->file, &to, e);
	*ret = r == 0 && from.length == to.length && from.crc32c == to.crc32c;
	return r;
}

/* What is to be done. at is what is there, when something is. */
static int decide(struct copy *c, const struct copy_task *t, struct store_stat *at, enum copy_action *ret, struct err *e)
{
	struct err words = {0};
	int r = t->absent ? -ENOENT : store_stat(t->to_store, t->to, at, &words);
	bool same = false;

	if (r < 0 && r != -ENOENT) {
		if (e)
			*e = words;
		return r;
	}
	*ret = copy_decide(c->rules.overwrite, &t->stat, r == 0 ? at : NULL);
	if (*ret != COPY_COMPARE)
		return 0;
	r = equal(c, t, at, &same, e);
	*ret = copy_decide_compared(c->rules.overwrite, same);
	return r;
}

static int skip(struct copy *c, struct copy_task *t, const struct store_stat *at, struct err *e)
{
	bool other = at->mtime_ns != t->stat.mtime_ns || at->mode != t->stat.mode;
	int r = c->rules.preserve && !c->rules.dry && other ? copy_attributes(t->to_store, t->to, &t->stat, e) : 0;

	if (!c->rules.dry)
		copy_forget_parts(c, t);
	if (r == 0)
		copy_tell(c, COPY_WHOLE, t, NULL, 0);
	return r;
}

/* 1: the task has gone on to its parts. */
static int copy_once(struct copy_pump *p, struct copy_task *t, struct err *e)
{
	struct copy *c = p->copy;
	enum copy_action action = COPY_NEW;
	struct store_stat at = {0};
	int r = decide(c, t, &at, &action, e);

	if (r < 0)
		return r;
	if (action == COPY_SKIP)
		return skip(c, t, &at, e);
	if (action == COPY_REFUSE)
		return refuse(t, &at, e);
	if (!c->rules.dry) {
		r = copy_begin_parts(c, t, action == COPY_REPLACE, e);
		if (r <= 0)
			return r < 0 ? r : 1;
		r = copy_whole(p, t, action == COPY_REPLACE, e);
	}
	if (r >= 0)
		copy_tell(c, action == COPY_REPLACE ? COPY_REPLACED : COPY_COPIED, t, NULL, 0);
	return r < 0 ? r : 0;
}

void copy_file(struct copy_pump *p, struct copy_task *t)
{
	struct err e = {0};
	unsigned n_tries = 0;
	int r;

	do {
		e = (struct err){0};
		/* What changed is copied as it is now. */
		r = n_tries ? store_look(t->from_store, t->from, &t->stat, &e) : 0;
		t->absent = t->absent && n_tries == 0;
		if (r == 0)
			r = copy_once(p, t, &e);
		n_tries++;
	} while (r < 0 && copy_again(r, n_tries) && !copy_stopped(p->copy));
	if (r < 0)
		copy_tell(p->copy, COPY_FAILED, t, &e, r);
	if (r != 1)
		copy_task_release(t);
}
