/* SPDX-License-Identifier: Apache-2.0 */
/* Of names.c and its neighbours: an operation is one call, or a few one after the other. */
#ifndef OLDDOG_STORE_HDFS_NAMES_NAMES_INT_H
#define OLDDOG_STORE_HDFS_NAMES_NAMES_INT_H

#include "store/hdfs/names/names.h"
#include "wire/hadoop/pb.h"
#include "wire/hadoop/status.h"

/* Of take() and fail(): op->verb is the call to make now. */
#define NAMES_MORE 1

struct names_verb {
	const char *method;
	enum nn_kind kind;
	/* The request. To refuse, b->r = a code, with words in op->req->err. */
	void (*put)(struct names_op *op, struct buf *b);
	/* The answer: 0, a code, or NAMES_MORE. NULL: it says nothing. */
	int (*take)(struct names_op *op, struct str answer);
	/* What a failure is: a code, 0, or NAMES_MORE. NULL: what it is. */
	int (*fail)(struct names_op *op, int r);
};

/* Strings that live as long as the engine: owners and groups. */
struct interned {
	const char **slots;	/* by hash, open addressing; n_slots is a power of two */
	size_t n, n_slots;
	const char *last;	/* the one before: in a listing mostly the same again */
};

struct names {
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct nn *nn;
	struct interned owners, groups;
	uint64_t trash_minutes;		/* the NameNode's */
};

/* The first call of each operation, in the files named after them. */
extern const struct names_verb names_stat, names_list;
extern const struct names_verb names_mkdir, names_remove, names_remove_tree, names_rename, names_rename_new, names_exists;
extern const struct names_verb names_concat;
extern const struct names_verb names_trash;
extern const struct names_verb names_xattr_get, names_xattr_set, names_xattr_remove, names_xattr_list;
extern const struct names_verb names_space, names_summary, names_locate;
/* The next of the calls that a SET is; NULL: none. */
const struct names_verb *names_set_next(struct names_op *op);

/* NULL: no memory, or far too many. */
const char *intern(struct interned *in, struct str s);
void interned_release(struct interned *in);

/* A request that has only the path, as field 1. */
void names_put_path(struct names_op *op, struct buf *b);
/* FsPermissionProto as a field. */
void names_put_mode(struct buf *b, uint32_t field, uint32_t mode);
/* Field 1 of an answer, as a number or as bytes; otherwise is returned when it is not there. E_PROTOCOL in *ret_r. */
uint64_t names_take_u64(struct str answer, uint64_t otherwise, int *ret_r);
struct str names_take_bytes(struct str answer, bool *ret_has, int *ret_r);
void names_stat_of(struct names *n, const struct hdfs_status *s, struct store_stat *ret);

#endif
