/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that change a store and its shadow alike. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/scope.h"
#include "ops.h"

#define N_LOOKS 300
#define LOOK_PAUSE_NS 200000000

/* After a change that failed: what failed it may still be there, and ends. */
static int look(const char *path, struct store_stat *ret)
{
	const struct timespec pause = {.tv_nsec = LOOK_PAUSE_NS};
	struct err e = {0};
	int r = store_stat(run.store, full(path), ret, &e);

	for (unsigned i = 0; r < 0 && r != -ENOENT && i < N_LOOKS; i++) {
		nanosleep(&pause, NULL);
		r = store_stat(run.store, full(path), ret, &e);
	}
	if (r < 0 && r != -ENOENT)
		differs("%s: after a failure: %s", path, err_words(&e, r));
	return r;
}

/* Whether something is at path; after a change that failed. */
static bool is_there(const char *path)
{
	struct store_stat st;

	return look(path, &st) == 0;
}

/* So that nothing of it is unclear. An answer that was lost is one more failure, and what is gone then is gone. */
static void remove_surely(const char *path)
{
	struct err e = {0};
	int r = -EAGAIN;

	for (unsigned i = 0; r < 0 && i < N_LOOKS && is_there(path); i++)
		r = store_remove(run.store, full(path), &e);
	if (r < 0 && is_there(path))
		differs("%s: cannot be removed after a failure: %s", path, err_words(&e, r));
}

/*
 * After a change that failed: what there is must be the old content or the new one (of an append, some of it). It is
 * removed then, so that nothing is unclear any more.
 */
static void settle(const char *path, const struct content *old, const struct content *wanted, bool partly)
{
	struct shadow_file *f;
	struct store_stat st;
	int r = look(path, &st);

	run.n_unclear++;
	shadow_remove(&run.shadow, path);
	if (r == -ENOENT && !old)
		return;
	if (r < 0)
		differs("%s is gone after a failure", path);
	f = shadow_put(&run.shadow, path, false);
	if (partly || st.file.length == wanted->length)
		content_join(&f->content, wanted);
	else if (old)
		content_join(&f->content, old);
	if (partly && st.file.length >= (old ? old->length : 0) && st.file.length <= wanted->length)
		content_cut(&f->content, st.file.length);
	/* Of old and new with one length nobody knows which it is. */
	if (partly || !old || old->length != wanted->length)
		compare_file(f, NULL);
	remove_surely(path);
	shadow_remove(&run.shadow, path);
}

static int write_pieces(const char *path, struct store_writer *w, const struct piece *p, struct err *e)
{
	for (uint64_t at = 0; at < p->n;) {
		uint64_t most = 1 + (dice(2) ? CHUNK - 1 : log_uniform(CHUNK - 1)), n = MIN(most, p->n - at);
		int r;

		stream_fill(p->key, p->from + at, run.buf, n);
		r = store_append(run.store, path, w, run.buf, n, e);
		if (r == 0 && dice(16) == 0)
			r = store_flush(run.store, path, w, dice(4) == 0, e);
		if (r < 0)
			return r;
		at += n;
	}
	return 0;
}

static int write_file(const char *path, const struct store_how *how, const struct piece *p, struct err *e)
{
	struct store_writer *w = NULL;
	int r = store_create(run.store, path, how, &w, e);

	if (r < 0)
		return r;
	r = write_pieces(path, w, p, e);
	if (r < 0) {
		store_abort(run.store, path, w);
		return r;
	}
	return store_commit(run.store, path, w, e);
}

static uint32_t some_replicas(void)
{
	return run.min_replicas + (uint32_t)dice(run.max_replicas - run.min_replicas + 1);
}

static uint64_t size_of_write(void)
{
	uint64_t n = log_uniform(run.max), left = run.total > run.n_written ? run.total - run.n_written : 0;

	return n > left ? MIN(n, 65536) : n;
}

void op_write(const char *path)
{
	struct shadow_file *f = shadow_find(&run.shadow, path);
	struct content wanted = {.pieces = VEC_MAX(4)}, old = {.pieces = VEC_MAX(SHADOW_MAX_PIECES)};
	struct piece p = {.key = dice(0) + run.dice, .from = dice(1000), .n = size_of_write()};
	struct store_how how = {.block_bytes = run.block, .exclusive = dice(8) == 0,
		.replication = run.max_replicas ? some_replicas() : 0};
	struct err e = {0};
	int r;

	content_add(&wanted, p);
	if (f)
		content_join(&old, &f->content);
	r = write_file(full(path), &how, &p, &e);
	run.n_written += r == 0 ? p.n : 0;
	if (r == -EEXIST && how.exclusive && f) {
		compare_file(f, NULL);
	} else if (worked(r, "write", path, &e)) {
		if (how.exclusive && f)
			differs("%s was written, exclusively, over what was there", path);
		f = shadow_put(&run.shadow, path, false);
		content_join(&f->content, &wanted);
		f->block_bytes = how.block_bytes;
	} else {
		settle(path, f ? &old : NULL, &wanted, false);
	}
	content_release(&wanted);
	content_release(&old);
}

void op_append(struct shadow_file *f)
{
	AUTO_FREE char *path = mem_strdup(f->path);
	struct content wanted = {.pieces = VEC_MAX(SHADOW_MAX_PIECES)}, old = wanted;
	struct piece p = {.key = dice(0) + run.dice, .n = size_of_write()};
	struct store_how how = {.append = true};
	struct err e = {0};
	int r = run.no_append ? -EOPNOTSUPP : write_file(full(path), &how, &p, &e);

	run.no_append = r == -EOPNOTSUPP;
	if (run.no_append)
		return;
	run.n_written += r == 0 ? p.n : 0;
	content_join(&old, &f->content);
	content_join(&wanted, &old);
	content_add(&wanted, p);
	if (worked(r, "append to", path, &e))
		content_add(&f->content, p);
	else
		settle(path, &old, &wanted, true);
	content_release(&wanted);
	content_release(&old);
}

void op_create(const char *path)
{
	struct shadow_file *f = shadow_find(&run.shadow, path);
	struct content wanted = {.pieces = VEC_MAX(4)};
	struct piece p = {.key = dice(0) + run.dice, .n = log_uniform(65536)};
	struct err e = {0};
	int r;

	content_add(&wanted, p);
	stream_fill(p.key, p.from, run.buf, p.n);
	r = store_create_exclusive(run.store, full(path), run.buf, p.n, &e);
	if (r == -EEXIST && f) {
		content_release(&wanted);
		return;
	}
	if (r == 0 && f)
		differs("%s was created over what was there", path);
	if (worked(r, "create", path, &e))
		content_join(&shadow_put(&run.shadow, path, false)->content, &wanted);
	else
		settle(path, f ? &f->content : NULL, &wanted, false);
	content_release(&wanted);
}

void op_rename(struct shadow_file *f, const char *to)
{
	AUTO_FREE char *from = mem_strdup(f->path);
	struct shadow_file *there = shadow_find(&run.shadow, to);
	bool anew = dice(2), same = strcmp(from, to) == 0;
	struct err e = {0};
	int r;

	if (same || f->is_dir != (there ? there->is_dir : f->is_dir) || (there && there->is_dir))
		return;
	r = (anew ? store_rename_new : store_rename)(run.store, full(from), full(to), &e);
	if (r == -EEXIST && anew && there)
		return;
	if (r == 0 && anew && there)
		differs("%s was renamed to %s, which was there", from, to);
	if (worked(r, "rename", from, &e) || !is_there(from))
		shadow_rename(&run.shadow, from, to);
	run.n_unclear += r < 0;
}

void op_remove(const char *path, bool is_dir)
{
	struct err e = {0};
	int r = is_dir || dice(2) ? store_remove_tree(run.store, full(path), &e) : store_remove(run.store, full(path), &e);

	if (worked(r, "remove", path, &e) || !is_there(path))
		shadow_remove(&run.shadow, path);
	run.n_unclear += r < 0;
}

void op_mkdir(const char *path)
{
	struct shadow_file *f = shadow_find(&run.shadow, path);
	struct err e = {0};

	if (f && !f->is_dir)
		return;
	if (worked(store_mkdir(run.store, full(path), &e), "mkdir", path, &e) || is_there(path))
		shadow_put(&run.shadow, path, true);
}

/* HDFS joins files of one directory and block size that are not empty. */
static bool can_join(const struct shadow_file *to, const struct shadow_file *f, const char *dir)
{
	return f != to && !f->is_dir && f->content.length && f->block_bytes == to->block_bytes && shadow_is_in(f->path, dir);
}

void op_concat(struct shadow_file *to, const char *dir)
{
	AUTO_FREE char *path = mem_strdup(to->path);
	char names[3][PATH_BYTES];
	const char *paths[3];
	struct content wanted = {.pieces = VEC_MAX(SHADOW_MAX_PIECES)};
	struct err e = {0};
	unsigned n = 0;
	int r;

	content_join(&wanted, &to->content);
	for (size_t i = 0; i < run.shadow.files.n && n < 3; i++) {
		struct shadow_file *f = &run.shadow.files.ptr[i];

		if (!can_join(to, f, dir))
			continue;
		snprintf(names[n], PATH_BYTES, "%s", full(f->path));
		paths[n] = names[n];
		n++;
		content_join(&wanted, &f->content);
	}
	r = n == 0 || to->content.length == 0 || run.no_concat ? -EOPNOTSUPP : store_concat(run.store, full(path), paths, n, &e);
	run.no_concat |= r == -EOPNOTSUPP && n && to->content.length;
	if (r != -EOPNOTSUPP && (worked(r, "concat to", path, &e) || !is_there(paths[0] + strlen(run.top) + 1))) {
		for (unsigned i = 0; i < n; i++)
			shadow_remove(&run.shadow, paths[i] + strlen(run.top) + 1);
		to = shadow_find(&run.shadow, path);
		content_release(&to->content);
		content_join(&to->content, &wanted);
	}
	content_release(&wanted);
}

void op_replicate(struct shadow_file *f)
{
	/* Not to one: which, may be up to a rotten one. */
	struct store_set set = {.replication = MAX(some_replicas(), MIN(2, run.max_replicas)), .mode = -1};
	struct err e = {0};

	if (run.max_replicas)
		worked(store_set(run.store, full(f->path), &set, &e), "set replication of", f->path, &e);
}
