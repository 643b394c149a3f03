/* SPDX-License-Identifier: Apache-2.0 */
/* Batches, ranks, epochs and skipped ranges as arithmetic over positions. */
#include "plan/batch.h"

#include <assert.h>

/* The first skipped range that does not end before position. */
static unsigned skip_find(const struct batch_conf *c, uint64_t position)
{
	unsigned lo = 0, hi = c->n_skip;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (c->skip[mid].last < position)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Takes up to want positions outside the skipped ranges, from `from` on and below limit. Returns how many there were;
 * *ret_behind is the position behind the last of them, or from.
 */
static uint64_t walk(const struct batch_conf *c, uint64_t from, uint64_t limit, uint64_t want, uint64_t *ret_behind)
{
	uint64_t at = from, taken = 0;

	*ret_behind = from;
	for (unsigned i = skip_find(c, from); at < limit && taken < want; i++) {
		uint64_t first = i < c->n_skip ? c->skip[i].first : limit, upto = MIN(MAX(first, at), limit);
		uint64_t n = MIN(upto - at, want - taken);

		if (n) {
			taken += n;
			*ret_behind = at + n;
		}
		if (upto == limit)
			break;
		/* The spec may skip to the end of all numbers; limit is far below, so that this cannot wrap. */
		at = MIN(c->skip[i].last, limit - 1) + 1;
	}
	return taken;
}

/* The epoch's end, or that of all positions: sums stay far from 2^64. */
static uint64_t epoch_end(const struct batch_conf *c, uint64_t position)
{
	return MIN((position / c->epoch_len + 1) * c->epoch_len, POSITION_MAX);
}

/* Where to go on when the epoch that ends at limit has no batch left: the next epoch that is not skipped whole. */
static uint64_t next_epoch(const struct batch_conf *c, uint64_t limit)
{
	uint64_t behind;

	if (walk(c, limit, POSITION_MAX, 1, &behind) == 0)
		return POSITION_MAX;
	return (behind - 1) / c->epoch_len * c->epoch_len;
}

static bool is_last(const struct batch_conf *c, uint64_t behind, uint64_t limit)
{
	uint64_t need = c->tail == TAIL_DROP ? c->global_batch : 1, unused;

	return behind >= limit || walk(c, behind, limit, need, &unused) < need;
}

int batch_at(const struct batch_conf *c, uint64_t consumed, struct batch *ret)
{
	uint64_t want = c->global_batch, limit, behind, behind_first;

	assert(c->epoch_len >= 1 && c->epoch_len <= POSITION_MAX && want >= 1 && want <= POSITION_MAX);
	if (consumed >= POSITION_MAX)
		return -ERANGE;
	limit = epoch_end(c, consumed);
	*ret = (struct batch){.begin = consumed, .end = limit, .epoch = consumed / c->epoch_len, .last = true};
	ret->n_real = walk(c, consumed, c->tail == TAIL_CARRY ? POSITION_MAX : limit, want, &behind);
	if (ret->n_real == 0 || (ret->n_real < want && c->tail == TAIL_DROP)) {
		ret->n_real = 0;
		ret->end = next_epoch(c, limit);
		return E_END;
	}
	/* With `carry` even the first item may lie in a later epoch. */
	walk(c, consumed, POSITION_MAX, 1, &behind_first);
	ret->epoch = (behind_first - 1) / c->epoch_len;
	limit = epoch_end(c, behind_first - 1);
	ret->n = c->tail == TAIL_PAD ? want : ret->n_real;
	ret->last = is_last(c, behind, limit);
	ret->end = ret->last ? MAX(behind, limit) : behind;
	return 0;
}

uint64_t batch_position(const struct batch_conf *c, const struct batch *b, uint64_t i)
{
	uint64_t behind;

	assert(i < b->n);
	walk(c, b->begin, POSITION_MAX, i % b->n_real + 1, &behind);
	return behind - 1;
}

void batch_slice(uint64_t n, uint32_t n_ranks, uint32_t rank, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t each = n / n_ranks, rest = n % n_ranks;

	assert(rank < n_ranks);
	/* floor(r n / W) in 64 bits: n = each W + rest. */
	*ret_from = each * rank + rest * rank / n_ranks;
	*ret_to = each * (rank + 1u) + rest * (rank + 1ull) / n_ranks;
}

uint64_t batch_count(const struct batch_conf *c, uint64_t consumed)
{
	uint64_t behind, n;

	if (consumed >= POSITION_MAX)
		return 0;
	n = walk(c, consumed, epoch_end(c, consumed), POSITION_MAX, &behind);
	return n / c->global_batch + (c->tail != TAIL_DROP && n % c->global_batch != 0);
}
