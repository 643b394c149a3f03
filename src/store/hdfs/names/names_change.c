/* SPDX-License-Identifier: Apache-2.0 */
/* Directories made, things removed, renamed, joined; and what SET sets. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/hdfs/names/names_int.h"
#include "store/path.h"

/* Answers whose field 1 is whether anything was done. */
static int take_done(struct str answer, int otherwise)
{
	int r;
	bool done = names_take_u64(answer, false, &r);

	if (r < 0)
		return r;
	return done ? 0 : otherwise;
}

static bool is_root(const char *path)
{
	return strcmp(path, "/") == 0;
}

/* MkdirsRequestProto: 1 src, 2 masked, 3 createParent, 4 unmasked. */
static void mkdir_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	names_put_mode(b, 2, 0777 & ~op->names->conf->umask);
	buf_pb_u64(b, 3, true);
	names_put_mode(b, 4, 0777);
}

static int mkdir_take(struct names_op *op, struct str answer)
{
	return take_done(answer, -EIO);
}

/* A file has the name: as file: says it. */
static int mkdir_fail(struct names_op *op, int r)
{
	return r == -EEXIST ? -ENOTDIR : r;
}

const struct names_verb names_mkdir = {"mkdirs", NN_IDEMPOTENT, mkdir_put, mkdir_take, mkdir_fail};

/* DeleteRequestProto: 1 src, 2 recursive. */
static void delete_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	buf_pb_u64(b, 2, op->req->op == STORE_REMOVE_TREE);
	if (is_root(op->path))
		b->r = -EBUSY;
}

static int delete_take(struct names_op *op, struct str answer)
{
	return take_done(answer, -ENOENT);
}

const struct names_verb names_remove = {"delete", NN_AT_MOST_ONCE, delete_put, delete_take, NULL};
const struct names_verb names_remove_tree = {"delete", NN_AT_MOST_ONCE, delete_put, delete_take, NULL};

/* Rename2RequestProto: 1 src, 2 dst, 3 overwriteDest. */
static void rename_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	buf_pb_str(b, 2, op->to);
	buf_pb_u64(b, 3, op->req->op == STORE_RENAME);
}

/* A directory and something that is none: as rename(2), it depends on which is which. */
static int mixed_take(struct names_op *op, struct str answer)
{
	struct hdfs_status s;
	bool has;
	int r;
	struct str message = names_take_bytes(answer, &has, &r);

	if (r == 0 && has)
		r = hdfs_status_parse(message, &s);
	if (r < 0)
		return r;
	if (!has)
		return -ENOENT;
	r = s.type == HDFS_DIR ? -ENOTDIR : -EISDIR;
	return err_set(op->req->err, r, "%s and %s must both be directories, or both files", op->path, op->to);
}

static const struct names_verb rename_mixed = {"getFileInfo", NN_READ, names_put_path, mixed_take, NULL};

static int rename_fail(struct names_op *op, int r)
{
	if (r != -EISDIR)
		return r;
	op->verb = &rename_mixed;
	return NAMES_MORE;
}

static int rename_new_fail(struct names_op *op, int r)
{
	return r == -EISDIR ? -EEXIST : r;
}

const struct names_verb names_rename = {"rename2", NN_AT_MOST_ONCE, rename_put, NULL, rename_fail};
const struct names_verb names_rename_new = {"rename2", NN_AT_MOST_ONCE, rename_put, NULL, rename_new_fail};

/* ConcatRequestProto: 1 trg, 2 srcs. */
static void concat_put(struct names_op *op, struct buf *b)
{
	char path[STORE_NAME_MAX + 1];

	names_put_path(op, b);
	path[0] = '/';
	for (unsigned i = 0; i < op->req->n_paths; i++) {
		path_clean(op->req->paths[i], path + 1);
		buf_pb_str(b, 2, path);
	}
}

const struct names_verb names_concat = {"concat", NN_AT_MOST_ONCE, concat_put, NULL, NULL};

/* SET: one call after the other; times last, since nothing after them may change them. */

static int set_take(struct names_op *op, struct str answer)
{
	op->verb = names_set_next(op);
	return op->verb ? NAMES_MORE : 0;
}

/* SetReplicationRequestProto: 1 src, 2 replication. */
static void replication_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	buf_pb_u64(b, 2, op->req->set->replication);
}

/* False of a directory, and of an erasure-coded file. */
static int replication_take(struct names_op *op, struct str answer)
{
	int r = take_done(answer, -EISDIR);

	return r < 0 ? r : set_take(op, answer);
}

/* SetOwnerRequestProto: 1 src, 2 username, 3 groupname. */
static void owner_put(struct names_op *op, struct buf *b)
{
	const struct store_set *set = op->req->set;

	names_put_path(op, b);
	if (set->owner)
		buf_pb_str(b, 2, set->owner);
	if (set->group)
		buf_pb_str(b, 3, set->group);
}

/* SetPermissionRequestProto: 1 src, 2 permission. HDFS has no set-user-id. */
static void mode_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	names_put_mode(b, 2, (uint32_t)op->req->set->mode & 01777);
}

static uint64_t ms_or_not(uint64_t ns)
{
	return ns ? ns / NS_PER_MS : UINT64_MAX;
}

/* SetTimesRequestProto: 1 src, 2 mtime, 3 atime; -1: as it is. */
static void times_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	buf_pb_u64(b, 2, ms_or_not(op->req->set->mtime_ns));
	buf_pb_u64(b, 3, ms_or_not(op->req->set->atime_ns));
}

static const struct names_verb set_replication = {"setReplication", NN_IDEMPOTENT, replication_put, replication_take, NULL};
static const struct names_verb set_owner = {"setOwner", NN_IDEMPOTENT, owner_put, set_take, NULL};
static const struct names_verb set_mode = {"setPermission", NN_IDEMPOTENT, mode_put, set_take, NULL};
static const struct names_verb set_times = {"setTimes", NN_IDEMPOTENT, times_put, set_take, NULL};

const struct names_verb *names_set_next(struct names_op *op)
{
	const struct store_set *set = op->req->set;
	const struct {
		bool wanted;
		const struct names_verb *verb;
	} steps[] = {
		{set->replication != 0, &set_replication},
		{set->owner || set->group, &set_owner},
		{set->mode >= 0, &set_mode},
		{set->mtime_ns || set->atime_ns, &set_times},
	};

	while (op->step < N_ELEMS(steps)) {
		unsigned i = op->step++;

		if (steps[i].wanted)
			return steps[i].verb;
	}
	return NULL;
}
