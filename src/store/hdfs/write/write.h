/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a file: blocks asked for, a pipeline of DataNodes each, packets with checksums, acknowledgements; a node that
 * fails is left out or replaced and the block goes on with a new generation stamp. What was acknowledged is never lost
 * by the client, whatever one process does. write_policy.h decides.
 */
#ifndef OLDDOG_STORE_HDFS_WRITE_WRITE_H
#define OLDDOG_STORE_HDFS_WRITE_WRITE_H

#include "store/hdfs/dn/dn.h"
#include "store/hdfs/nn/nn.h"
#include "store/store.h"

struct writes;		/* the engine's: leases are renewed while any file is open */
struct write_file;	/* one file that is being written */

int writes_new(struct loop *loop, const struct hdfs_conf *conf, struct nn *nn, struct dn_pool *dns,
	struct hdfs_counters *counters, struct writes **ret);
/* No file may be open. */
void writes_free(struct writes *w);
DEFINE_AUTO(writes);

/* One step of a file, embedded in its user's struct. Steps of a file are begun one after the other. */
struct write_step {
	void (*done)(struct write_step *step, int r);	/* exactly once, never inside */
	void *ctx;
	struct err *err;				/* may be NULL */
	struct write_file *file;			/* result of write_open() */
	/* The writer's own. */
	struct list list;
	const uint8_t *at;
	uint64_t left;
	unsigned kind;
};

/* path is absolute, in HDFS; how: as store_req's. */
void write_open(struct writes *w, struct write_step *step, const char *path, const struct store_how *how);
/* Whether what failed with r, an open, was refused by the NameNode: then nothing was done there. Else it may have been. */
bool write_was_refused(int r);
/* The file's id, which no other file of the cluster ever has; 0: the NameNode told none. */
uint64_t write_file_id(const struct write_file *f);
/* p is the writer's until done(), which may come before the DataNodes have it: memory in flight is bounded. */
void write_bytes(struct write_file *f, struct write_step *step, const void *p, uint64_t n);
/* Readers see what was written (hflush), and with disk it is on the DataNodes' disks (hsync). */
void write_flush(struct write_file *f, struct write_step *step, bool disk);
/* The step that is on, and all that come, end with -ECANCELED, soon: then only write_abort() is left. Not inside. */
void write_cancel(struct write_file *f);
/* All blocks complete, the file closed; f is gone after done(0). After a failure only write_abort() is left. */
void write_close(struct write_file *f, struct write_step *step);
/* Nothing more is sent, the lease is let go; f is gone after done(). What there is of the file stays: remove it. */
void write_abort(struct write_file *f, struct write_step *step);

#endif
