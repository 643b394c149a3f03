/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of a mixture: where sources end, and which draw of which source a position is. */
#include "plan/mix.h"

#include <errno.h>

#include "plan/perm.h"
#include "plan/tree.h"

/* A part of the epoch in which the same sources are drawn. */
struct segment {
	uint64_t begin;			/* in the epoch */
	struct tree *tree;
	unsigned n;			/* leaves */
	unsigned *source;		/* of each leaf */
	uint64_t *before;		/* each leaf's draws in this epoch before the segment */
};

struct mix {
	unsigned n_sources, n_segments;
	unsigned ender;			/* the source that ends the epoch */
	struct mix_source *sources;
	struct segment *segments;	/* n_sources at most */
	uint64_t *taken;		/* each source's draws in a whole epoch; while planning, so far */
	uint64_t epoch_len;
	bool endless;			/* every source repeats: shares run on over the epochs' ends */
	bool blocks;
	struct philox_key key;
	uint64_t block_begin;
	struct perm block;		/* of the block last asked for; n is 0 before the first */
};

/* Whether a is read sooner than b, by length over weight. */
static bool sooner(const struct mix_source *a, const struct mix_source *b)
{
	return (tree_count)a->len * b->weight < (tree_count)b->len * a->weight;
}

static bool any(const struct mix *m, enum on_end on_end)
{
	for (unsigned i = 0; i < m->n_sources; i++)
		if (m->sources[i].on_end == on_end)
			return true;
	return false;
}

/* The source that ends the epoch: of those that stop it the first to be read, or else the last of all. */
static unsigned find_ender(const struct mix *m)
{
	bool stops = any(m, ON_END_STOP);
	unsigned best = m->n_sources;

	for (unsigned i = 0; i < m->n_sources; i++) {
		const struct mix_source *s = &m->sources[i], *b = &m->sources[best];

		if (stops && s->on_end != ON_END_STOP)
			continue;
		if (best == m->n_sources || (stops ? sooner(s, b) : sooner(b, s)))
			best = i;
	}
	return best;
}

/* The order of the leaves: the heaviest first, the first of equals. */
static void sort_leaves(const struct mix *m, unsigned *leaves)
{
	for (unsigned i = 0; i < m->n_sources; i++) {
		unsigned k = i;

		for (; k > 0 && m->sources[leaves[k - 1]].weight < m->sources[i].weight; k--)
			leaves[k] = leaves[k - 1];
		leaves[k] = i;
	}
}

static unsigned leaf_of(const unsigned *leaves, unsigned n, unsigned source)
{
	for (unsigned i = 0; i < n; i++)
		if (leaves[i] == source)
			return i;
	return 0;
}

/*
 * A segment from begin over these sources; their counts so far are m->taken. The ender goes left all the way, so that it
 * has its last sample at the end of its share and not at its beginning: equal sources are all read whole.
 */
static int add_segment(struct mix *m, uint64_t begin, const unsigned *leaves, unsigned n)
{
	struct segment *s = &m->segments[m->n_segments];
	AUTO_FREE uint64_t *weights = mem_calloc(n, sizeof(*weights));

	s->source = mem_dup(leaves, n * sizeof(*leaves));
	s->before = mem_calloc(n, sizeof(*s->before));
	m->n_segments++;
	if (!weights || !s->source || !s->before)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		weights[i] = m->sources[leaves[i]].weight;
		s->before[i] = m->taken[leaves[i]];
	}
	s->begin = begin;
	s->n = n;
	s->tree = tree_new(weights, n, leaf_of(leaves, n, m->ender));
	return s->tree ? 0 : -ENOMEM;
}

/* What ends a segment: after so many draws the epoch is over, or a leaf is dropped. */
struct event {
	tree_count at;
	unsigned leaf;			/* the segment's n: the epoch's end */
};

/* The draws until leaf i of the segment has given its last sample; 0 when it has. */
static tree_count until_read(const struct mix *m, const struct segment *s, unsigned i)
{
	uint64_t len = m->sources[s->source[i]].len;

	return len > s->before[i] ? tree_until(s->tree, i, len - s->before[i]) : 0;
}

/* The draws after which the next one would want of a stopping source what it does not have. */
static tree_count until_short(const struct mix *m, const struct segment *s, unsigned i)
{
	return tree_until(s->tree, i, m->sources[s->source[i]].len - s->before[i] + 1) - 1;
}

/* The first event counts; a drop before an epoch's end after the same draw, since it chooses the next draw anew. */
static void sooner_event(const struct segment *s, struct event *e, tree_count at, unsigned leaf)
{
	if (at < e->at || (at == e->at && leaf < s->n))
		*e = (struct event){.at = at, .leaf = leaf};
}

static struct event segment_end(const struct mix *m, const struct segment *s)
{
	bool stops = any(m, ON_END_STOP), drops = false;
	struct event e = {.at = ~(tree_count)0, .leaf = s->n};
	tree_count all_read = 0;

	for (unsigned i = 0; i < s->n; i++) {
		enum on_end on_end = m->sources[s->source[i]].on_end;
		tree_count read = until_read(m, s, i);

		all_read = MAX(all_read, read);
		drops |= on_end == ON_END_DROP;
		if (on_end == ON_END_DROP)
			sooner_event(s, &e, read, i);
		else if (on_end == ON_END_STOP)
			sooner_event(s, &e, s->source[i] == m->ender ? read : until_short(m, s, i), s->n);
	}
	if (!stops && !drops)
		e = (struct event){.at = all_read, .leaf = s->n};
	return e;
}

/* Goes through the epoch from drop to drop, by arithmetic. */
static int plan_epoch(struct mix *m, unsigned *leaves)
{
	unsigned n = m->n_sources;
	tree_count begin = 0;

	for (;;) {
		struct segment *s = &m->segments[m->n_segments];
		struct event e;
		int r = add_segment(m, (uint64_t)begin, leaves, n);

		if (r < 0)
			return r;
		e = segment_end(m, s);
		begin += e.at;
		if (begin > PERM_MAX)
			return -ERANGE;
		for (unsigned i = 0; i < n; i++)
			m->taken[leaves[i]] += tree_share(s->tree, i, (uint64_t)e.at);
		if (e.leaf == n || n == 1)
			break;
		n--;
		for (unsigned i = e.leaf; i < n; i++)
			leaves[i] = leaves[i + 1];
	}
	m->epoch_len = (uint64_t)begin;
	return 0;
}

int mix_new(const struct mix_source *sources, unsigned n, bool blocks, struct philox_key key, struct mix **ret)
{
	AUTO(mix) struct mix *m = mem_zalloc(sizeof(*m));
	AUTO_FREE unsigned *leaves = mem_calloc(n, sizeof(*leaves));
	int r;

	if (!m || !leaves)
		return -ENOMEM;
	m->sources = mem_dup(sources, n * sizeof(*sources));
	m->segments = mem_calloc(n, sizeof(*m->segments));
	m->taken = mem_calloc(n, sizeof(*m->taken));
	if (!m->sources || !m->segments || !m->taken)
		return -ENOMEM;
	m->n_sources = n;
	m->blocks = blocks && n > 1;
	m->key = key;
	m->endless = !any(m, ON_END_STOP) && !any(m, ON_END_DROP);
	m->ender = find_ender(m);
	sort_leaves(m, leaves);
	r = plan_epoch(m, leaves);
	if (r < 0)
		return r;
	*ret = TAKE(m);
	return 0;
}

void mix_free(struct mix *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->n_segments; i++) {
		tree_free(m->segments[i].tree);
		mem_free(m->segments[i].source);
		mem_free(m->segments[i].before);
	}
	mem_free(m->segments);
	mem_free(m->taken);
	mem_free(m->sources);
	mem_free(m);
}

uint64_t mix_epoch_len(const struct mix *m)
{
	return m->epoch_len;
}

/* Inside its block, which an epoch's end cuts. */
static uint64_t permuted(struct mix *m, uint64_t position, uint64_t epoch_begin)
{
	uint64_t begin = MAX(position / MIX_BLOCK * MIX_BLOCK, epoch_begin);
	uint64_t end = MIN((position / MIX_BLOCK + 1) * MIX_BLOCK, epoch_begin + m->epoch_len);

	if (m->block.n != end - begin || m->block_begin != begin) {
		perm_init(&m->block, end - begin, m->key, begin);
		m->block_begin = begin;
	}
	return begin + perm_at(&m->block, position - begin);
}

static const struct segment *segment_of(const struct mix *m, uint64_t in_epoch)
{
	unsigned lo = 0, hi = m->n_segments - 1;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo + 1) / 2;

		if (m->segments[mid].begin <= in_epoch)
			lo = mid;
		else
			hi = mid - 1;
	}
	return &m->segments[lo];
}

unsigned mix_draw(struct mix *m, uint64_t position, uint64_t *ret_nth)
{
	uint64_t epoch = position / m->epoch_len, begin = epoch * m->epoch_len, nth;
	uint64_t at = m->blocks ? permuted(m, position, begin) : position;
	const struct segment *s = m->endless ? m->segments : segment_of(m, at - begin);
	unsigned leaf;

	if (m->endless) {
		leaf = tree_draw(s->tree, at, ret_nth);
		return s->source[leaf];
	}
	leaf = tree_draw(s->tree, at - begin - s->begin, &nth);
	*ret_nth = epoch * m->taken[s->source[leaf]] + s->before[leaf] + nth;
	return s->source[leaf];
}
