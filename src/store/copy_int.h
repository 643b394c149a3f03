/* SPDX-License-Identifier: Apache-2.0 */
/* What copy.c (threads, queue, trees), copy_file.c (one file) and copy_parts.c (a large one) share. */
#ifndef OLDDOG_STORE_COPY_INT_H
#define OLDDOG_STORE_COPY_INT_H

#include <pthread.h>

#include "base/list.h"
#include "base/vec.h"
#include "store/copy.h"
#include "store/copy_policy.h"
#include "store/engine.h"

#define COPY_QUEUE 256u

/* One file. Owned by the queue, then by who works on it. */
struct copy_task {
	struct store *from_store, *to_store;
	char *from, *to;
	struct store_stat stat;
	bool absent;		/* nothing was at to when its directory was listed: there is no need to look again */
};

struct copy_dir {
	struct store *from, *store;	/* from: its names of owners are in stat */
	char *path;
	struct store_stat stat;
};

/* A large file while its parts are copied. */
struct copy_big {
	struct list list;
	struct copy_task task;
	char *staging;
	uint64_t key;		/* of the version that is copied and the size of parts: in the parts' names */
	uint64_t part_bytes;
	unsigned n, next, n_left;
	bool joined;		/* the first part is the whole file already */
	bool replace;
	bool *have;		/* was there before */
	uint32_t *crcs;
	int r;
	struct err err;
};

struct copy {
	struct copy_rules rules;
	struct copy_watch watch;
	atomic_bool *stop;
	pthread_mutex_t lock;
	pthread_cond_t wake;	/* of workers: work, or the end; of who adds: room */
	struct copy_task queue[COPY_QUEUE];
	unsigned first, n_queued, n_busy, n_threads;
	bool closed;
	struct list bigs;	/* with parts that nobody has begun */
	VEC(struct copy_dir) dirs;	/* whose attributes are set at the end */
	struct copy_counts counts;
	pthread_t threads[COPY_MAX_WORKERS];
};

/* One worker's: a loop, two pieces. */
struct copy_pump {
	struct copy *copy;
	struct loop *loop;
	uint8_t *pieces[2];
};

static inline bool copy_stopped(const struct copy *c)
{
	return c->stop && atomic_load(c->stop);
}

/* copy.c */
void copy_moved(struct copy *c, uint64_t n_bytes, bool resumed);
void copy_tell(struct copy *c, enum copy_event event, const struct copy_task *t, const struct err *e, int r);
/* Gives its parts to all workers. */
void copy_share(struct copy *c, struct copy_big *big);
void copy_task_release(struct copy_task *t);

/* copy_file.c */
int copy_pump_init(struct copy_pump *p, struct copy *c);
void copy_pump_release(struct copy_pump *p);
/* The whole of a task, told; a large file's parts may be left to others. Takes the task. */
void copy_file(struct copy_pump *p, struct copy_task *t);
/* A range of a file into a new file, whole or not there. *ret_crc is of the bytes read. */
int copy_range(struct copy_pump *p, const struct copy_task *t, uint64_t offset, uint64_t length, const char *to,
	const struct store_how *how, uint32_t *ret_crc, struct err *e);
/* The store's own checksum, or where it has none that of the content. file: NULL for any version. */
int copy_checksum(struct copy *c, struct store *s, const char *path, const struct store_file *file,
	struct store_checksum *ret, struct err *e);
/* Whether what was written is what was read. */
int copy_verify(struct copy *c, const struct copy_task *t, const char *to, uint32_t crc, struct err *e);
int copy_attributes(struct store *s, const char *path, const struct store_stat *stat, struct err *e);

/* copy_parts.c */
/* 0: the task is the parts' now (moved into them, shared). 1: it is to go in one stream. */
int copy_begin_parts(struct copy *c, struct copy_task *t, bool replace, struct err *e);
/* Removes what a copy that was killed at its very end left of a large file that is whole. */
void copy_forget_parts(const struct copy *c, const struct copy_task *t);
/* One part, and when it was the last one the end of the file, told. */
void copy_part(struct copy_pump *p, struct copy_big *big, unsigned i);

#endif
