/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespace: what the store's operations other than reading and writing are at the NameNode. One call starts the
 * operation that req names; it ends by names_done, with the request's results set.
 *
 * TRASH is Hadoop's: /user/NAME/.Trash/Current/PATH, where the NameNode or the site says that there is a trash at all
 * (fs.trash.interval); what has the name of something there gets its file id behind it.
 */
#ifndef OLDDOG_STORE_HDFS_NAMES_NAMES_H
#define OLDDOG_STORE_HDFS_NAMES_NAMES_H

#include "store/hdfs/nn/nn.h"
#include "store/store.h"

struct names;
struct names_verb;

int names_new(struct loop *loop, const struct hdfs_conf *conf, struct nn *nn, struct names **ret);
void names_free(struct names *n);
DEFINE_AUTO(names);

/* One operation, embedded in its user's struct. */
struct names_op {
	struct store_req *req;		/* results and words (req->err) go there; not its r, nor is it finished */
	const char *path, *to;		/* absolute, in HDFS; NUL-terminated, the user's until done() */
	void (*done)(struct names_op *op, int r);	/* exactly once, never inside */
	struct nn_call call;
	/* The namespace's own. */
	struct names *names;
	const struct names_verb *verb;	/* the call that is under way */
	unsigned step;
	uint64_t file_id;		/* TRASH: of what goes there */
	char *place;			/* TRASH: where it goes */
	char *parent;			/* TRASH: the directory of place */
};

/* Whether this file does the operation. */
bool names_can(enum store_op op);
void names_start(struct names *n, struct names_op *op);
void names_cancel(struct names_op *op);

#endif
