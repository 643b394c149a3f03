/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch slots: memory that a rank may map (CONTRACTS C4). A memfd each, sealed against shrinking so that nobody who
 * has it can make its owner fault; grown in place, never moved between streams, and kept touched: a fresh page costs
 * three times the copy into it.
 */
#ifndef OLDDOG_FEED_SLOT_H
#define OLDDOG_FEED_SLOT_H

#include <stdint.h>

#include "base/scope.h"

struct slot {
	struct slot *next;
	uint32_t id;		/* within its pool */
	int fd;
	uint8_t *p;		/* moves when the slot grows */
	uint64_t n_bytes;
	uint64_t held_bytes;	/* of memory that it takes at most: as far as it was used since it last gave its pages back */
};

struct slot_pool {
	struct slot *free;	/* last released first: its pages are the warmest */
	uint32_t n_made;
	uint64_t n_bytes;	/* of all its slots, used and free */
	uint64_t free_bytes;	/* that free ones hold */
};

void slot_pool_release(struct slot_pool *pool);
/* A slot of at least n bytes: a free one, else a new one. 0, -ENOMEM, or what memfd_create() said. */
int slot_take(struct slot_pool *pool, uint64_t n_bytes, struct slot **ret);
/* At least n bytes; s->p may move. On failure the slot is as it was. */
int slot_grow(struct slot_pool *pool, struct slot *s, uint64_t n_bytes);
/*
 * Back to the pool. When free slots would then hold more than keep_bytes, and there are others, it gives its pages back to
 * the machine, under all who have it mapped: one batch of huge samples must not be paid for ever.
 */
void slot_put(struct slot_pool *pool, struct slot *s, uint64_t keep_bytes);
/* Given back to the machine. NULL is a no-op. */
void slot_free(struct slot_pool *pool, struct slot *s);

#endif
