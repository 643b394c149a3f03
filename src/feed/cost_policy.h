/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decoding a picture will cost, and which of those that wait is begun first: pure functions. They decide when things
 * are done, never what comes out.
 */
#ifndef OLDDOG_FEED_COST_POLICY_H
#define OLDDOG_FEED_COST_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/picture_head.h"

/*
 * Expected microseconds of one core (Zen 4 at 3.7 GHz) for the usual training crop; doc/design/0015 has the measurements.
 * Pixels and coding decide: a progressive JPEG costs about three times a plain one. At most COST_MAX_US.
 */
#define COST_MAX_US 60000000u
uint32_t decode_cost_us(const struct picture_head *head, uint64_t n_bytes);

/*
 * Bytes of a worker's memory that decoding it takes at most by the usual chains, its whole being looked at: planes, the
 * coefficients of a progressive JPEG, what libraries need for each pixel. A head that is not known is taken for the worst
 * that limits allow; one that lies costs its worker, whose own limit holds whatever stands here.
 */
uint64_t decode_need_bytes(const struct picture_head *head, uint64_t max_pixels);

/* The pace at which a stream's user takes batches. */
struct pace {
	uint64_t last_ns;	/* when the last one was given; 0: none yet */
	uint64_t period_ns;	/* between two; 0: not known */
};

/* A batch is given now. One long pause (an evaluation, a checkpoint) does not pass for the new pace. */
void pace_note(struct pace *p, uint64_t now_ns);

/* Whether what was ranked by one period must be ranked again by another. */
bool pace_differs(uint64_t period_ns, uint64_t ranked_by_ns);
/* Batches that are made ahead: a second's worth, so that a read that stalls for a third of one is never felt; 16 at least. */
unsigned pace_ahead(const struct pace *p);

/*
 * When decoding should begin at the latest, as a key: of what waits, the smallest is begun first. lead: batches that are
 * given before the one that it is for. What is wanted next (lead 0) comes before all else, longest first, but so that none
 * of one stream is overtaken for ever by others; then the least slack, which is the time until its batch is asked for, less
 * its cost. So a picture of 100 ms is begun before those of
 * 1 ms of earlier batches, as soon as it would be late otherwise, and no sooner.
 */
uint64_t decode_due(const struct pace *p, uint64_t now_ns, unsigned lead, uint32_t cost_us);

#endif
