/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine does next: open a batch, start a sample, or wait. A pure function of the state below; engine.c only
 * keeps the numbers up to date and obeys, so that the same decisions run in tests and simulations.
 *
 * The rule: of everything that could be done now, what is wanted soonest by its stream, where soon is counted in
 * batches between the one that the stream waits for and the one that the deed serves (its lead). Bytes bound it:
 * encoded bytes under way, and bytes of batch slots. A sample too large for what is left of the former is waited for by
 * all samples that are wanted no sooner. A bound never stops the last one: with nothing under way a sample
 * of any size is started; a stream that has nothing, ahead or held, gets one batch whatever the others hold; and one
 * that has nothing ahead gets more until the hard limit, past which it is refused, because only its user can help.
 */
#ifndef OLDDOG_FEED_ENGINE_POLICY_H
#define OLDDOG_FEED_ENGINE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* All above 0. */
struct engine_limits {
	uint64_t slot_bytes;	/* of batches that are being made or wait to be taken; prefetch ends there */
	uint64_t max_bytes;	/* of all slots, held ones too: past it a stream that holds some is refused more */
	uint64_t batch_bytes;	/* of one batch, which is an error past it: half of the memory that may be used */
	uint64_t read_bytes;	/* encoded bytes under way, from the start of the read to the end of the decode */
	uint64_t need_bytes;	/* that decoding takes in all workers together: a quarter of the memory there is */
	unsigned max_ahead;	/* batches that a stream has opened and not been given */
	unsigned n_items;	/* samples under way */
};

struct policy_stream {
	bool open;		/* more batches may be opened: not at the end, not failed, not closed */
	bool wanted;		/* its user asks for a batch now */
	unsigned n_ahead;	/* batches opened and not yet given */
	unsigned max_ahead;	/* of them that its pace asks for; 0: no own limit */
	unsigned n_held;	/* given and not yet released */
	uint64_t next_bytes;	/* room that the next batch is expected to need */
	bool has_item;		/* a sample of an opened batch waits to be started */
	unsigned item_lead;	/* how many batches ahead of the one wanted first it is */
	uint64_t item_bytes;	/* encoded */
};

struct policy_state {
	struct engine_limits limits;
	const struct policy_stream *streams;
	unsigned n_streams;
	unsigned first;		/* the stream that wins a tie: whoever had none for longest */
	uint64_t slot_bytes;	/* of opened and held batches */
	uint64_t read_bytes;
	unsigned n_items;
	bool full;		/* samples under way reached their limit, and are not well below it again */
	bool stalled;		/* a started sample waits for room in the input arena: no other may overtake it */
};

enum policy_verb { POLICY_WAIT, POLICY_OPEN, POLICY_START, POLICY_REFUSE };

struct policy_action {
	enum policy_verb verb;
	unsigned stream;
};

struct policy_action policy_next(const struct policy_state *s);
/*
 * What s->full is now, after it was so: once samples under way have reached their limit, others are started when an eighth
 * of them has ended, so that what lies side by side can be read together. The batch that is wanted next does not wait for that.
 */
bool policy_is_full(const struct policy_state *s, bool was);

#endif
