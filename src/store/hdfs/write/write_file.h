/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file that is being written, for write*.c:
 *
 *	write.c		the engine's part; steps begin and end
 *	write_open.c	create, append
 *	write_block.c	a block is asked for, set up, full; the file is completed
 *	write_mend.c	a pipeline broke: what write_policy.h decides
 *	write_abort.c	the end without success
 */
#ifndef OLDDOG_STORE_HDFS_WRITE_WRITE_FILE_H
#define OLDDOG_STORE_HDFS_WRITE_WRITE_FILE_H

#include "store/hdfs/write/lease.h"
#include "store/hdfs/write/pipeline.h"
#include "store/hdfs/write/write.h"
#include "store/hdfs/write/write_ask.h"

struct writes {
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct nn *nn;
	struct dn_pool *dns;
	struct hdfs_counters *counters;
	struct lease lease;
	struct list refused;	/* steps of files that there was no memory for */
	struct timer refused_timer;
};

enum step_kind { STEP_OPEN = 1, STEP_BYTES, STEP_FLUSH, STEP_CLOSE, STEP_ABORT };

enum file_phase {
	FILE_OPENING,
	FILE_IDLE,		/* no block is open */
	FILE_LOCATING,		/* a block is asked for, or given back */
	FILE_SETTING_UP,	/* the pipeline of a new block */
	FILE_STREAMING,
	FILE_MENDING,		/* a pipeline broke, or a block is opened again */
	FILE_COMPLETING,
	FILE_FAILED,
	FILE_ABORTING,
};

enum flush_phase { FLUSH_NONE, FLUSH_PUT, FLUSH_ACK, FLUSH_TELL };

/* The answer to a call: r < 0, or the message. */
typedef void write_file_answered(struct write_file *f, int r, struct str answer);

struct write_file {
	struct writes *w;
	struct write_name name;		/* path: owned */
	char *path;
	struct store_how how;		/* with the defaults in it */
	enum file_phase phase;
	int r;				/* the failure that all steps end with */
	struct err err;
	/* Steps. */
	struct write_step *step;	/* the one that is on */
	struct list ended;		/* their done() is due */
	struct timer end_timer, pause_timer;
	void (*resume)(struct write_file *f);	/* by pause_timer */
	enum flush_phase flushing;
	bool flush_disk;
	int64_t flush_seqno;
	/* Calls to the NameNode, one at a time; an answer may begin the next, which is why there are two. */
	struct nn_call calls[2], tell;
	unsigned i_call;
	bool calling, telling, letting_go;
	write_file_answered *answered;
	unsigned n_polls;
	/* The bytes. */
	struct packets packets;
	struct pipeline pipe;
	bool has_packets, has_pipe, leased;
	uint64_t n_counted;		/* of pipe.n_acked_fresh */
	/* The block, if there is one; at is NULL while its nodes are not known. */
	bool has_block, has_previous;
	struct hdfs_block block, previous;
	char *pool;
	struct arena arena;
	struct hdfs_located *at;	/* behind its n_nodes are n_aside more, the last left out first */
	unsigned n_aside;		/* left out with nobody's word against them, and not missed yet */
	struct buf token;
	enum write_stage stage;
	uint64_t n_blocks, told_blocks;	/* blocks so far; as of the last fsync */
	bool flushed;			/* this block was */
	struct node_set exclude, failed;	/* from new blocks; from this one */
	unsigned n_setups;
	bool excluded_all;		/* all that there is was left out, and then nobody */
	/* Mending. */
	unsigned n_breaks, n_additions;
	int64_t acked_at_break;
	uint64_t wait_since_ns, new_stamp;
	bool broken;			/* the pipeline broke during a call */
	bool again;			/* not the first set-up of this stage */
	struct arena more_arena;
	struct hdfs_located *more;	/* the nodes with an added one */
	unsigned i_added;
	struct write_ask ask;
	bool has_ask;
};

/* write.c */

/* Does what can be done now: takes bytes, asks for blocks, sends, ends steps. */
void write_file_advance(struct write_file *f);
/* Ends the step that is on. */
void write_file_step_end(struct write_file *f, int r);
/* All steps from here on end with r. Words as of printf. */
void write_file_fail(struct write_file *f, int r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The body of the call that write_file_call_go() submits. */
struct buf *write_file_call(struct write_file *f, const char *method, enum nn_kind kind, write_file_answered *answered);
void write_file_call_go(struct write_file *f);
/* f->err's words, of the call that was answered. */
const char *write_file_words(const struct write_file *f, int r);
void write_file_pause(struct write_file *f, uint64_t ns, void (*resume)(struct write_file *f));
void write_file_free(struct write_file *f);

/* write_open.c */
void write_file_open(struct write_file *f);
/* write_block.c */
void write_file_locate(struct write_file *f);
void write_file_block_ended(struct write_file *f);
void write_file_complete(struct write_file *f);
/* Takes at's nodes over into the file's block. */
int write_file_take_block(struct write_file *f, struct str located);
void write_file_pipe_calls(struct write_file *f);
/* write_mend.c */
void write_file_broke(struct write_file *f);
/* A block of the file that is there already, f->block and f->at, is opened again. */
void write_file_reopen(struct write_file *f);
/* The pipeline is up, in FILE_MENDING. */
void write_file_mended(struct write_file *f);
/* write_abort.c */
void write_file_abort(struct write_file *f);

#endif
