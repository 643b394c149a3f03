/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Into the trash, as Hadoop's own client puts things there, so that its emptier and its users find them: is there a
 * trash; what goes there; its parents made; then a rename that never takes the place of anything.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/hdfs/names/names_int.h"
#include "store/path.h"

#define MAX_RENAMES 4u

static const struct names_verb trash_look, trash_parent, trash_rename;

static bool lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

/* Whether it may go there; words when not. */
static int check_path(struct names_op *op)
{
	AUTO_FREE char *root = mem_printf("/user/%s/.Trash", op->names->conf->user);

	if (!root)
		return -ENOMEM;
	if (!op->names->trash_minutes && !op->names->conf->trash_minutes)
		return err_set(op->req->err, -EOPNOTSUPP, "there is no trash here: fs.trash.interval is 0");
	if (lies_in(op->path, root))
		return err_set(op->req->err, -EOPNOTSUPP, "%s is in the trash", op->path);
	if (strcmp(op->path, "/") == 0 || lies_in(root, op->path))
		return err_set(op->req->err, -EBUSY, "the trash %s lies in %s", root, op->path);
	return 0;
}

static int next(struct names_op *op, const struct names_verb *verb)
{
	op->verb = verb;
	return NAMES_MORE;
}

/* FsServerDefaultsProto: 7 trashInterval. */
static int defaults_take(struct names_op *op, struct str answer)
{
	bool has;
	int r;
	struct str defaults = names_take_bytes(answer, &has, &r);
	struct pb p = pb_of(defaults.p, defaults.n);

	if (r < 0)
		return r;
	op->names->trash_minutes = 0;
	while (pb_next(&p))
		if (pb_tag(&p) == PB_TAG(7, PB_VARINT))
			op->names->trash_minutes = p.value;
	if (p.rd.bad)
		return E_PROTOCOL;
	r = check_path(op);
	return r < 0 ? r : next(op, &trash_look);
}

static void put_nothing(struct names_op *op, struct buf *b)
{
}

const struct names_verb names_trash = {"getServerDefaults", NN_READ, put_nothing, defaults_take, NULL};

/* The last part, and what is before it. suffix: behind the first part of the parents, or 0. */
static int set_place(struct names_op *op, uint64_t parent_suffix)
{
	struct str rest = str_of(op->path + 1), parent = path_parent(op->path + 1), first = parent, after;
	const char *name = rest.p + parent.n + (parent.n > 0);
	const char *user = op->names->conf->user;

	after = first;
	first = str_split(&after, '/');
	mem_free(op->parent);
	mem_free(op->place);
	op->place = NULL;
	if (parent_suffix)
		op->parent = mem_printf("/user/%s/.Trash/Current/%.*s%" PRIu64 "%s%.*s", user, STR_ARG(first), parent_suffix,
			after.n ? "/" : "", STR_ARG(after));
	else
		op->parent = mem_printf("/user/%s/.Trash/Current%s%.*s", user, parent.n ? "/" : "", STR_ARG(parent));
	if (op->parent)
		op->place = mem_printf("%s/%s", op->parent, name);
	return op->place ? 0 : -ENOMEM;
}

static int look_take(struct names_op *op, struct str answer)
{
	struct hdfs_status s;
	bool has;
	int r;
	struct str message = names_take_bytes(answer, &has, &r);

	if (r == 0)
		r = has ? hdfs_status_parse(message, &s) : -ENOENT;
	if (r < 0)
		return r;
	op->file_id = s.file_id;
	op->step = 0;
	r = set_place(op, 0);
	return r < 0 ? r : next(op, &trash_parent);
}

static const struct names_verb trash_look = {"getFileInfo", NN_READ, names_put_path, look_take, NULL};

/* MkdirsRequestProto. Nobody else's business. */
static void parent_put(struct names_op *op, struct buf *b)
{
	buf_pb_str(b, 1, op->parent);
	names_put_mode(b, 2, 0700);
	buf_pb_u64(b, 3, true);
	names_put_mode(b, 4, 0700);
}

static int parent_take(struct names_op *op, struct str answer)
{
	op->step = 0;
	return next(op, &trash_rename);
}

/* Something there that is no directory has the name of one of the parents. */
static int parent_fail(struct names_op *op, int r)
{
	if ((r != -EEXIST && r != -ENOTDIR) || op->step++)
		return r;
	r = set_place(op, op->file_id);
	return r < 0 ? r : NAMES_MORE;
}

static const struct names_verb trash_parent = {"mkdirs", NN_IDEMPOTENT, parent_put, parent_take, parent_fail};

/* Rename2RequestProto: 1 src, 2 dst, 3 overwriteDest, 4 moveToTrash. */
static void rename_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	buf_pb_str(b, 2, op->place);
	buf_pb_u64(b, 3, false);
	buf_pb_u64(b, 4, true);
}

/* Hadoop puts the time behind a name that is taken; the file id is as good, and no two have the same. */
static int rename_fail(struct names_op *op, int r)
{
	char *longer;

	/* -EISDIR: what is there is a directory, or only this is. */
	if ((r != -EEXIST && r != -EISDIR) || op->step++ >= MAX_RENAMES)
		return r;
	longer = mem_printf("%s%" PRIu64, op->place, op->file_id);
	if (!longer)
		return -ENOMEM;
	mem_free(op->place);
	op->place = longer;
	return NAMES_MORE;
}

static const struct names_verb trash_rename = {"rename2", NN_AT_MOST_ONCE, rename_put, NULL, rename_fail};
