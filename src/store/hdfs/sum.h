/* SPDX-License-Identifier: Apache-2.0 */
/* STORE_CHECKSUM by reading the file, of one version, from its first byte to its last. */
#ifndef OLDDOG_STORE_HDFS_SUM_H
#define OLDDOG_STORE_HDFS_SUM_H

#include "store/hdfs/names/names.h"
#include "store/hdfs/read/read.h"

/* Embedded in its user's struct. */
struct sum {
	/* Set by the user. */
	struct names *names;
	struct reads *reads;
	struct store_req *req;		/* checksum goes there */
	const char *path;		/* absolute, in HDFS; the user's until done() */
	void (*done)(struct sum *s, int r);	/* exactly once, perhaps inside sum_start() */
	/* Its own. */
	struct names_op op;
	struct store_req sub;
	struct read_job read;
	struct store_range range;
	uint32_t crc;
	bool reads_now;
};

void sum_start(struct sum *s);
void sum_cancel(struct sum *s);

#endif
