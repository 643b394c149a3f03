/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of libolddog: client.c (the calls of olddog.h) and client_map.c (slots as a rank sees them). */
#ifndef OLDDOG_FEED_CLIENT_H
#define OLDDOG_FEED_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/vec.h"
#include "feed/link.h"
#include "feed/resume.h"
#include "olddog.h"
#include "wire/batchhead.h"

#define CLIENT_MAX_SLOTS 65536u

/* A mapped slot; the batch that shows it and the loader's table each hold it. */
struct mapping {
	int fd;
	uint8_t *p;
	uint64_t n_bytes;
	unsigned n_refs;
};

struct olddog_batch {
	struct olddog_loader *loader;	/* NULL when that was closed */
	struct olddog_batch *next, **prev;
	struct mapping *map;
	pid_t pid;
	uint32_t slot;
	unsigned incarnation;		/* of the olddog-loader that it came from */
	struct batch_head head;
};

struct olddog_loader {
	pid_t pid;
	struct link link;
	char *job;
	/* What OPEN says, again when an olddog-loader was lost. */
	struct rankmsg open;
	struct arena texts;		/* that open points into */
	uint64_t end;			/* position behind the last epoch; UINT64_MAX: none */
	void (*warn)(void *ctx, const char *words);
	void *ctx;
	struct olddog_loader_info info;
	unsigned incarnation;
	unsigned n_deaths;		/* without a batch in between */
	bool opened;			/* this incarnation has said OPENED */
	bool asked, ended;
	pid_t loader_pid;		/* as far as it is known; 0 */
	uint64_t look_ns;		/* when to look what it does, if it says nothing until then; 0: nothing is awaited */
	bool told_stopped;
	struct err failed;		/* what stopped it for good */
	VEC(struct mapping *) maps;	/* by slot, of this incarnation */
	struct olddog_batch *batches;	/* held */
	char *state;
};

static inline struct err *err_of(struct olddog_error *e)
{
	return (struct err *)e;
}

/* client_open.c */
/* Whether this is a child of the process that opened l; with words. */
bool client_is_forked(const struct olddog_loader *l, struct err *e);
/*
 * One step to where the plan is opened, here or at an olddog-loader that is started anew. 1: made, look at l->opened;
 * -EAGAIN, -EINTR: call again; E_END: nothing is left to open for.
 */
int client_open_step(struct olddog_loader *l, uint64_t deadline_ns, struct err *e);
/* The olddog-loader is gone. 1: open another; -ECONNRESET: too many were lost. */
int client_lost(struct olddog_loader *l, struct err *e);
/* The loader is at this position now; m says what is left from there. */
void client_at(struct olddog_loader *l, uint64_t consumed, const struct rankmsg *m);
void client_warn(struct olddog_loader *l, const char *words);

/* client_wait.c */
/* link_recv(), with a warning when the loader is stopped. */
int client_recv(struct olddog_loader *l, uint64_t deadline_ns, struct rankmsg *ret, int *ret_fd);
/* Who is connected to, as the kernel knows it. */
void client_see_peer(struct olddog_loader *l);

/* client_map.c */
/* Takes fd (-1: a slot that is known), maps slot whole. E_PROTOCOL when neither makes sense. */
int client_map(struct olddog_loader *l, uint32_t slot, int fd, uint64_t n_bytes, struct mapping **ret);
void mapping_unref(struct mapping *m);
/* Forgets the slots of an olddog-loader that is gone; batches that show them keep theirs. */
void client_unmap_all(struct olddog_loader *l);

#endif
