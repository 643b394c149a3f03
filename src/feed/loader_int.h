/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of olddog-loader: loader.c (its life), loader_rank.c (a connection), loader_plan.c (what they share). */
#ifndef OLDDOG_FEED_LOADER_INT_H
#define OLDDOG_FEED_LOADER_INT_H

#include "base/list.h"
#include "base/vec.h"
#include "feed/engine.h"
#include "net/conn.h"
#include "net/pool.h"
#include "wire/rankmsg.h"

#define LOADER_MAX_RANKS 4096
#define LOADER_MAX_SLOTS 65536u
/* Records that wait for a rank which does not read: one that never does is cut off. */
#define LOADER_MAX_QUEUE 4096

struct loader {
	struct loop *loop;
	struct pool *pool;		/* looks through data sets */
	struct list ranks, plans, engines;
	unsigned n_ranks, n_opening;
	struct watch listen;
	int spare;			/* given up for a moment to answer who came when there were no descriptors left */
	struct timer idle;		/* nobody came */
};

struct record {
	struct list list;
	struct buf bytes;
	int fd;				/* goes along; not owned: a slot's */
};

/* A plan, opened once for all ranks that name the same paths. */
struct shared_plan {
	struct list list;
	struct loader *loader;
	uint8_t key[SHA256_BYTES];
	char **paths;
	unsigned n_paths, n_refs;
	struct plan *plan;		/* when it is open */
	struct list waiting;		/* ranks, until then */
	struct job job;
	bool opening;
	int r;
	struct err err;
	struct buf warnings;		/* each ends with a NUL */
};

/* An engine, for all ranks that ask for the same fields of a plan. */
struct shared_engine {
	struct list list;
	struct shared_plan *plan;
	uint8_t fields_id[SHA256_BYTES];
	struct engine *engine;
	unsigned n_refs;
};

struct rank {
	struct list list;		/* loader.ranks */
	struct list waiting;		/* shared_plan.waiting */
	struct loader *loader;
	struct conn *conn;
	struct list queue;		/* record */
	unsigned n_queued;
	struct timer end;		/* it is cut off, when nobody is busy with it any more */
	bool writing;
	uint8_t *open_bytes;		/* the OPEN record, which open points into */
	struct rankmsg open;
	bool opened, asked, over;
	struct shared_plan *plan;
	struct shared_engine *shared;
	struct spec *spec;
	struct stream *stream;
	VEC(struct stream_batch *) held;	/* by slot */
	VEC(bool) known;		/* slots whose descriptor it has */
};

/* loader.c */
void loader_rank_gone(struct loader *l, struct rank *r);

/* loader_rank.c */
/* Takes fd. -ENOMEM and what the connection said: then there is no rank. */
int rank_new(struct loader *l, int fd);
void rank_free(struct rank *r);
/* The plan that it waited for is there, or is not (plan->r). */
void rank_plan_ready(struct rank *r);
void rank_warn(struct rank *r, const char *words);

/* loader_plan.c */
/* Joins or begins the opening; rank_plan_ready() follows, perhaps at once. */
int plan_join(struct rank *r);
void plan_leave(struct rank *r);
/* The engine for r->spec. */
int engine_join(struct rank *r, struct err *e);
void engine_leave(struct rank *r);

#endif
