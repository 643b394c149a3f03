/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the engine, shared by engine.c (decisions into deeds), stream.c and stream_open.c (a rank's batches), item.c
 * (one sample from its bytes to its place) and collate.c (a batch's memory). Nobody else includes this.
 */
#ifndef OLDDOG_FEED_ENGINE_INT_H
#define OLDDOG_FEED_ENGINE_INT_H

#include "base/list.h"
#include "feed/cost_policy.h"
#include "feed/engine.h"
#include "plan/batch.h"
#include "worker/finish.h"

#define ENGINE_MAX_STREAMS 4096

/* One of the wanted fields. */
struct engine_field {
	unsigned member;		/* which of the plan's fields */
	const struct recipe_field *recipe;
	bool fixed;			/* its place in the slot is known when the batch is opened */
	enum collate collate;		/* of one that is not fixed */
	uint32_t h, w, c;		/* of a fixed image */
	uint64_t sample_bytes;		/* of a fixed one: of each sample in the slot */
	struct finish finish;		/* of an image */
};

/* A sample of a field that is not fixed, until the batch is collated. */
struct sample_out {
	void *p;
	uint64_t n_bytes;
	uint32_t dims[3];		/* of an image, in the order of its layout */
};

enum batch_state { BATCH_OPEN, BATCH_READY, BATCH_FAILED, BATCH_GIVEN };

/* A batch of one rank, from opening to release. */
struct batch_work {
	struct stream_batch out;	/* first: what the user holds */
	struct list list;		/* of its stream: opened ones in order, then given ones */
	struct list items;		/* under way */
	uint64_t seq;			/* how many its stream opened before */
	struct stream *stream;
	struct batch global;
	uint64_t from;			/* the rank's first item of the global batch */
	enum batch_state state;
	uint32_t n_started, n_ended;
	uint32_t failed_item;		/* the first that failed, when r < 0 */
	int r;
	char *words;
	/* Per item. */
	uint64_t *positions;
	char **keys, **fors;
	struct sample_out *outs;	/* n items x n_fields */
	uint64_t n_bytes;		/* as counted in engine.slot_bytes */
	uint64_t fixed_end;		/* of the slot: what fixed fields take */
};

struct stream {
	struct engine *engine;
	struct stream_conf conf;
	struct batch_conf batches;
	struct list opened;		/* batch_work: to be given, in order */
	struct list given;		/* and not released */
	struct slot_pool slots;
	uint64_t next;			/* position at which the next batch is opened */
	uint64_t end;			/* position behind the last; UINT64_MAX: none */
	uint64_t consumed;
	uint64_t n_opened_samples;
	uint64_t n_opened, n_given;	/* batches */
	struct pace pace;
	uint64_t ranked_period_ns;	/* by which all that wait were ranked */
	uint64_t next_bytes;		/* expected of the next batch */
	unsigned n_ahead, n_held;
	unsigned n_items;		/* under way; the stream lives as long as they */
	bool at_end, wanted, refused, closed;
	bool tell;			/* ready() is due */
	bool changed;			/* since the engine looked: its view is not what it is */
	int r;				/* what ended it */
	char *words;
	struct item *peeked;		/* located, waits for policy's word */
};

struct item_field {
	struct item *item;
	struct worker_in in;		/* p != NULL: held */
	void *bytes;			/* of one that is not an image; mem_free */
	bool to_read;
	struct work work;
	bool decoding;			/* work is the pool's */
};

/* The read of one field. */
struct item_read {
	struct item *item;
	struct list queued;		/* engine.to_read */
	struct read_group *group;	/* the store has it, with others */
	struct timer timer;		/* before another try */
	unsigned n_retries;
};

/* A sample under way. */
struct item {
	struct list list;		/* its batch's items */
	struct list stalled;		/* engine.stalled or .parked */
	struct stream *stream;
	struct batch_work *batch;
	uint32_t index;			/* within the rank's batch */
	uint64_t position;
	unsigned attempt;
	struct plan_sample sample;
	char *for_key;			/* of the bad sample that this one stands for */
	uint64_t n_bytes;		/* encoded, as counted in engine.read_bytes */
	/*
	 * A result of so many bytes did not fit: parked, it waits for that room. Begun again, the room is promised_bytes,
	 * as counted in the engine's.
	 */
	uint64_t room_bytes, promised_bytes;
	bool no_room, parked;
	unsigned next;			/* field to prepare */
	unsigned n_pending;		/* reads and works under way, and 1 while it is being started */
	int r;
	unsigned at, failed_field;	/* the field that is dealt with; the one that r is about */
	char words[512];
	struct item_field *fields;	/* n_fields of each */
	struct item_read *reads;
	struct store_range *ranges;
};

struct engine {
	struct loop *loop;
	struct plan *plan;
	struct store *through;
	struct recipe recipe;
	struct engine_field fields[RECIPE_MAX_FIELDS];
	unsigned n_fields;
	enum on_bad on_bad;
	uint32_t stop_above_ppm;
	struct engine_limits limits;
	struct worker_pool *pool;
	uint64_t out_bytes;		/* of a worker */
	struct stream *streams[ENGINE_MAX_STREAMS];
	struct policy_stream views[ENGINE_MAX_STREAMS];
	unsigned n_streams, first;
	struct list stalled, parked;
	struct list to_read;		/* item_read: asked for in this turn, grouped at its end */
	unsigned n_items;		/* all but parked ones, also those of closed streams */
	bool full;			/* as policy_is_full() said last */
	uint64_t slot_bytes, read_bytes, promised_bytes;
	bool task_posted;
	struct task task;		/* pump from the loop */
	/* The last ENGINE_BAD_WINDOW positions that were given. */
	uint8_t bad[ENGINE_BAD_WINDOW];
	uint32_t bad_at, n_bad_now;
	struct engine_counts counts;
	bool closing;
	void (*closed)(void *ctx);
	void *closed_ctx;
};

/* engine.c */
/* Soon, from the loop: obeys the policy until it says wait, and tells streams. */
void engine_pump_later(struct engine *g);
/* Likewise, after something that the policy sees of s has changed. */
void engine_stream_changed(struct stream *s);
void engine_remove_stream(struct engine *g, struct stream *s);
/* Counts one given position; whether too many of the last ones were bad. */
bool engine_count_bad(struct engine *g, bool bad);

/* stream.c */
/* Opens the next batch, or finds that there is none (at_end), or fails the stream. */
void stream_open_batch(struct stream *s);
void stream_refuse(struct stream *s);
/* The next sample that could be started (located, so that its size is known), or NULL. */
struct item *stream_peek(struct stream *s, unsigned *ret_lead);
/* Starts it. */
void stream_start(struct stream *s);
/* Batches that are given before b. */
static inline unsigned batch_lead(const struct batch_work *b)
{
	return (unsigned)(b->seq - b->stream->n_given);
}
void stream_fail(struct stream *s, int r, const char *words);
/* An item of b is through: r < 0 with words. */
void batch_item_ended(struct batch_work *b, uint32_t index, int r, const char *words);
/* stream_open.c: an item of s is gone; a closed stream ends with its last. */
void stream_drop_item(struct stream *s);
/* Calls ready(), from the loop. */
void stream_tell(struct stream *s);

/* item.c */
/* Takes memory and finds the sample of position. -ENOMEM, or what plan_sample() said. */
int item_new(struct batch_work *b, uint32_t index, uint64_t position, struct item **ret, struct err *e);
void item_start(struct item *it);
/* What of it waits to be decoded gets its place again. */
void item_rank(struct item *it);
/* One that was not started. NULL is a no-op. */
void item_free(struct item *it);
/* Begins again those that had no room for their results, when there is some, or their batch is the next. */
void items_unpark(struct engine *g);
/* Tries again those that waited for room in the arena. */
void items_unstall(struct engine *g);
/* Hands the reads that were asked for to the stores. */
void reads_submit(struct engine *g);
/* Hastens the end of all items of a closed stream. */
void items_cancel(struct stream *s);

/* collate.c */
int batch_work_new(struct stream *s, const struct batch *global, uint64_t from, uint64_t n, struct batch_work **ret);
void batch_work_free(struct batch_work *b);
/* Room that a batch of n needs, by what is known before its samples are. */
uint64_t batch_room(const struct engine *g, uint64_t n);
/* Where sample index of a fixed field goes. */
void *batch_place(const struct batch_work *b, unsigned field, uint32_t index);
struct sample_out *batch_out(const struct batch_work *b, unsigned field, uint32_t index);
/* Takes out.p (mem_free); what was there before, of an earlier attempt, is freed. */
void batch_out_set(struct batch_work *b, unsigned field, uint32_t index, struct sample_out out);
/* Whether what a sample brings still fits the limit of a batch. */
bool batch_may_grow(const struct batch_work *b, uint64_t n_bytes);
/* Words for a batch of n samples that could not be made. Returns r. */
int batch_failed(const struct engine *g, uint64_t n, int r, struct err *e);
/* Lays out what is not fixed, and writes the head. */
int batch_collate(struct batch_work *b, struct err *e);

#endif
