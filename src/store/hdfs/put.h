/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that appear at once in HDFS: a temporary in the same directory (store/temporary.h tells its name), closed, then
 * named by rename2 with overwrite or without. An answer of rename that is not clear is settled by removing the temporary:
 * when that is gone, the id of what is at the path tells whether it is ours. Writers are the same step by step; those that
 * append are on the file itself. That a directory is in the way is found by rename only: to look before would be a call more
 * for every file.
 */
#ifndef OLDDOG_STORE_HDFS_PUT_H
#define OLDDOG_STORE_HDFS_PUT_H

#include "store/hdfs/names/names.h"
#include "store/hdfs/write/write.h"

struct put_writer;	/* what a store_writer is here */

/* One request that writes, embedded in its user's struct. */
struct put {
	/* Set by the user before put_start(). */
	struct names *names;
	struct writes *writes;
	struct store_req *req;		/* results and words go there; not its r, nor is it finished */
	const char *path;		/* absolute, in HDFS; copied. NULL: of a writer's steps, which has it */
	void (*done)(struct put *p, int r);	/* exactly once, perhaps inside put_start() */
	/* Its own. */
	struct put_writer *writer;
	struct write_step step;
	struct names_op op;
	struct store_req sub;		/* of op */
	void (*then)(struct put *p, int r);	/* after the step or op that is on */
	uint64_t at;			/* of the content */
	int r;				/* how it failed first */
	enum { PUT_NOTHING, PUT_STEP, PUT_NAME } may_cancel;	/* step or op */
};

bool put_can(enum store_op op);
void put_start(struct put *p);
/* Between its steps req->cancelled is looked at; this ends a step that waits for a NameNode or for DataNodes. */
void put_cancel(struct put *p);

#endif
