/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine does next: a pure function. */
#include "feed/engine_policy.h"

#include <limits.h>

static bool fits(uint64_t used, uint64_t more, uint64_t limit)
{
	return used <= limit && more <= limit - used;
}

static bool may_start(const struct policy_state *s, const struct policy_stream *t)
{
	if (!t->has_item || s->stalled)
		return false;
	if (s->n_items == 0)
		return true;
	if (t->item_lead > 0 && s->full)
		return false;
	/* Batches opened ahead turned out larger than was guessed: first comes what is waited for. */
	if (t->item_lead > 0 && s->slot_bytes > s->limits.max_bytes)
		return false;
	return s->n_items < s->limits.n_items && fits(s->read_bytes, t->item_bytes, s->limits.read_bytes);
}

static bool waits_for_bytes(const struct policy_state *s, const struct policy_stream *t)
{
	return t->has_item && s->n_items > 0 && !fits(s->read_bytes, t->item_bytes, s->limits.read_bytes);
}

bool policy_is_full(const struct policy_state *s, bool was)
{
	return s->n_items >= s->limits.n_items || (was && s->n_items > s->limits.n_items - s->limits.n_items / 8);
}

/* Samples of opened batches come before further batches of the same stream. */
static bool may_open(const struct policy_state *s, const struct policy_stream *t)
{
	if (!t->open || t->has_item || t->n_ahead >= s->limits.max_ahead || (t->max_ahead && t->n_ahead >= t->max_ahead))
		return false;
	if (t->n_ahead == 0)
		return t->n_held == 0 || fits(s->slot_bytes, t->next_bytes, s->limits.max_bytes);
	return fits(s->slot_bytes, t->next_bytes, s->limits.slot_bytes);
}

static bool must_refuse(const struct policy_state *s, const struct policy_stream *t)
{
	return t->open && t->wanted && t->n_ahead == 0 && !t->has_item && !may_open(s, t);
}

/* What stream t could do, and how many batches ahead of need that is. */
static enum policy_verb candidate(const struct policy_state *s, const struct policy_stream *t, unsigned *ret_lead)
{
	if (may_start(s, t)) {
		*ret_lead = t->item_lead;
		return POLICY_START;
	}
	*ret_lead = t->n_ahead;
	if (may_open(s, t))
		return POLICY_OPEN;
	return must_refuse(s, t) ? POLICY_REFUSE : POLICY_WAIT;
}

struct policy_action policy_next(const struct policy_state *s)
{
	struct policy_action best = {POLICY_WAIT, 0};
	unsigned best_lead = 0, held_lead = UINT_MAX;

	for (unsigned k = 0; k < s->n_streams; k++) {
		unsigned i = (s->first + k) % s->n_streams, lead;
		enum policy_verb verb = candidate(s, &s->streams[i], &lead);

		if (waits_for_bytes(s, &s->streams[i]) && s->streams[i].item_lead < held_lead)
			held_lead = s->streams[i].item_lead;
		if (verb == POLICY_WAIT || (best.verb != POLICY_WAIT && lead >= best_lead))
			continue;
		best = (struct policy_action){verb, i};
		best_lead = lead;
	}
	/* Small samples of others would take what becomes free from under a large one, for as long as there are any. */
	if (best.verb == POLICY_START && best_lead >= held_lead)
		best.verb = POLICY_WAIT;
	return best;
}
