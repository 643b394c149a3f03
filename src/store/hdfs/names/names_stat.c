/* SPDX-License-Identifier: Apache-2.0 */
/* What a path is, and what a directory has. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/engine.h"
#include "store/hdfs/names/names_int.h"
#include "store/hdfs/version.h"

static uint64_t ns_of_ms(uint64_t ms)
{
	return ms > UINT64_MAX / NS_PER_MS ? 0 : ms * NS_PER_MS;
}

static enum store_kind kind_of(enum hdfs_type type)
{
	return type == HDFS_DIR ? STORE_DIR : type == HDFS_FILE ? STORE_FILE : STORE_OTHER;
}

void names_stat_of(struct names *n, const struct hdfs_status *s, struct store_stat *ret)
{
	ret->kind = kind_of(s->type);
	ret->file.length = 0;
	ret->file.version[0] = 0;
	if (ret->kind == STORE_FILE) {
		ret->file.length = s->length;
		hdfs_version_of(s, ret->file.version);
	}
	ret->mtime_ns = ns_of_ms(s->mtime_ms);
	ret->atime_ns = ns_of_ms(s->atime_ms);
	ret->owner = intern(&n->owners, s->owner);
	ret->group = intern(&n->groups, s->group);
	ret->block_bytes = s->block_bytes;
	ret->replication = s->replication;
	ret->mode = (uint16_t)(s->mode & 07777);
	ret->growing = false;
}

/* GetFileInfoResponseProto: 1 fs, which is not there when the path is not. */
static int take_status(struct str answer, struct hdfs_status *ret)
{
	bool has;
	int r;
	struct str message = names_take_bytes(answer, &has, &r);

	if (r < 0)
		return r;
	return has ? hdfs_status_parse(message, ret) : -ENOENT;
}

static int stat_take(struct names_op *op, struct str answer)
{
	struct hdfs_status s;
	int r = take_status(answer, &s);

	if (r == 0)
		names_stat_of(op->names, &s, &op->req->stat);
	return r;
}

const struct names_verb names_stat = {"getFileInfo", NN_READ, names_put_path, stat_take, NULL};

static int exists_take(struct names_op *op, struct str answer)
{
	struct hdfs_status s;

	return take_status(answer, &s);
}

const struct names_verb names_exists = {"getFileInfo", NN_READ, names_put_path, exists_take, NULL};

/* GetListingRequestProto: 1 src, 2 startAfter, 3 needLocation. */
static void list_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	buf_pb_str(b, 2, op->req->to ? op->req->to : "");
	buf_pb_u64(b, 3, false);
}

static int add_entry(struct names_op *op, const struct hdfs_status *s)
{
	struct store_stat st;
	char name[STORE_NAME_MAX];

	/* The path that was asked for: it is no directory. */
	if (s->name.n == 0)
		return -ENOTDIR;
	if (s->name.n >= sizeof(name))
		return E_PROTOCOL;
	memcpy(name, s->name.p, s->name.n);
	name[s->name.n] = 0;
	names_stat_of(op->names, s, &st);
	return store_listing_add(&op->req->listing, name, &st);
}

/* A NameNode may be set to longer pages than a store has: what is beyond is asked for again. */
static int list_take(struct names_op *op, struct str answer)
{
	struct store_listing *listing = &op->req->listing;
	struct hdfs_listing l;
	struct hdfs_status s;
	int r = hdfs_listing_begin(answer, &l);

	while (r == 0 && (r = hdfs_listing_next(&l, &s)) == 1) {
		if (listing->n == STORE_PAGE_ENTRIES) {
			listing->more = true;
			return 0;
		}
		r = add_entry(op, &s);
	}
	if (r < 0) {
		store_listing_release(listing);
		return r;
	}
	/* A page without entries goes nowhere. */
	listing->more = l.remaining > 0 && listing->n;
	return 0;
}

const struct names_verb names_list = {"getListing", NN_READ, list_put, list_take, NULL};
