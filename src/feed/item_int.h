/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of item.c (a sample's life), item_read.c (its reads) and item_field.c (its fields). */
#ifndef OLDDOG_FEED_ITEM_INT_H
#define OLDDOG_FEED_ITEM_INT_H

#include "feed/engine_int.h"

static inline struct engine *engine_of(const struct item *it)
{
	return it->stream->engine;
}

static inline struct plan_member *member_of(struct item *it, unsigned k)
{
	return &it->sample.fields[engine_of(it)->fields[k].member];
}

static inline unsigned index_of(const struct item_field *f)
{
	return (unsigned)(f - f->item->fields);
}

/* item.c */
/* The first failure of an attempt is kept; what is under way ends first, then item.c decides. */
void item_fail(struct item *it, int r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* One thing less is under way; with the last the attempt has ended, and the item may be gone. */
void item_drop(struct item *it);

/* Encoded bytes of all fields that are read. */
uint64_t item_encoded_bytes(struct item *it);

/* item_room.c */
/*
 * Before a result of n_bytes is put into the batch: 0; -E2BIG: it cannot hold it; -EAGAIN: batches that are given before
 * need the room now.
 */
int item_room(struct item *it, uint64_t n_bytes);
/* This attempt had no room: holds nothing, counts for nothing, until items_unpark(). */
void item_park(struct item *it);
/* Ends waiting, and what was promised. */
void item_unpark(struct item *it);
void item_unpromise(struct item *it);

/* item_read.c */
/* Asks for the fields first..end-1 that are to_read, by the end of this turn. */
void item_read(struct item *it, unsigned first, unsigned end);
void item_read_again(struct timer *t);
/* Hastens the end of a field's read, wherever it stands; whether it has ended already. */
bool item_read_cancel(struct item_read *rd);

/* item_field.c */
/* The n bytes of a field that is not an image, in f->bytes. */
void field_read(struct item_field *f, uint64_t n);
/* What a member that needs no read gives. */
void field_ready(struct item_field *f, const struct plan_member *m);
/* A field's n bytes are there: parses them, or has them decoded (one thing more under way). */
void field_arrived(struct item_field *f, uint64_t n);

#endif
