/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STORE_STAT with what a NameNode does not say of a file by itself: whether somebody writes it, and then how much of it
 * can be read by now, of which a DataNode of its last block knows. Without the right to read the file it is what the
 * NameNode says.
 */
#ifndef OLDDOG_STORE_HDFS_LOOK_H
#define OLDDOG_STORE_HDFS_LOOK_H

#include "store/hdfs/names/names.h"
#include "store/hdfs/read/locate.h"
#include "store/hdfs/read/read.h"

/* Embedded in its user's struct. */
struct look {
	/* Set by the user. */
	struct names *names;
	struct reads *reads;
	struct store_req *req;		/* stat goes there */
	const char *path;		/* absolute, in HDFS; the user's until done() */
	void (*done)(struct look *l, int r);	/* exactly once */
	/* Its own. */
	struct names_op op;
	struct lookup lookup;
	bool locates;
};

void look_start(struct look *l);
void look_cancel(struct look *l);

#endif
