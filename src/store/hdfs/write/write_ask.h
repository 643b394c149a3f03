/* SPDX-License-Identifier: Apache-2.0 */
/* One question to a DataNode that has one answer: BLOCK_CHECKSUM, TRANSFER_BLOCK. */
#ifndef OLDDOG_STORE_HDFS_WRITE_WRITE_ASK_H
#define OLDDOG_STORE_HDFS_WRITE_WRITE_ASK_H

#include "store/hdfs/dn/dn.h"
#include "store/hdfs/write/write_message.h"

#define ASK_MAX_ANSWER 65536u

/* Embedded in its user's struct. */
struct write_ask {
	/* Set by the user; out has the operation, and is released by ask_release(). */
	struct loop *loop;
	struct dn_pool *dns;
	const struct hdfs_node *node;
	struct buf out;
	uint64_t patience_ns;			/* for the whole */
	void (*done)(struct write_ask *ask);	/* never inside; may start it again */
	void *ctx;
	/* Results: answer is valid in done(). A status that is no success is r == -EIO, with words in err. */
	int r;
	struct op_answer answer;
	struct err err;
	/* Its own. */
	struct dn_lease lease;
	struct conn *conn;
	struct timer timer;
	bool busy, leasing, heard;
	size_t n_sent;
	struct buf in;
};

/* Once, of zeros. -ENOMEM. */
int ask_init(struct write_ask *a, struct loop *loop, struct dn_pool *dns);
/* done() is not called any more. */
void ask_release(struct write_ask *a);
void ask_start(struct write_ask *a);
void ask_cancel(struct write_ask *a);

#endif
