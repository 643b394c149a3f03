/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/slab.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/scope.h"

#define WORD_BITS 64u

int slab_init(struct slab *s, size_t n_bytes)
{
	*s = (struct slab){.n = n_bytes / SLAB_GRANULE};
	if (s->n == 0)
		return -EINVAL;
	s->n_free = s->n;
	s->used = mem_calloc(s->n / WORD_BITS + 1, sizeof(*s->used));
	return s->used ? 0 : -ENOMEM;
}

void slab_release(struct slab *s)
{
	mem_free(s->used);
	*s = (struct slab){0};
}

static bool is_used(const struct slab *s, size_t i)
{
	return s->used[i / WORD_BITS] >> (i % WORD_BITS) & 1;
}

/* The first granule in [i, end) that is used, or free, as asked; end when there is none. A word at a time. */
static size_t find(const struct slab *s, size_t i, size_t end, bool used)
{
	while (i < end) {
		uint64_t word = used ? s->used[i / WORD_BITS] : ~s->used[i / WORD_BITS];

		word >>= i % WORD_BITS;
		if (word)
			return MIN(i + (size_t)__builtin_ctzll(word), end);
		i = (i / WORD_BITS + 1) * WORD_BITS;
	}
	return end;
}

/* The beginning of k free granules in [from, end), or end. */
static size_t find_run(const struct slab *s, size_t from, size_t end, size_t k)
{
	while (from < end) {
		size_t begin = find(s, from, end, false);

		if (end - begin < k)
			return end;
		from = find(s, begin, begin + k, true);
		if (from == begin + k)
			return begin;
	}
	return end;
}

static void mark(struct slab *s, size_t begin, size_t k, bool used)
{
	for (size_t i = begin; i < begin + k; i++) {
		assert(is_used(s, i) != used);
		s->used[i / WORD_BITS] ^= 1ull << (i % WORD_BITS);
	}
}

static uint64_t granules(uint64_t n)
{
	return n / SLAB_GRANULE + (n % SLAB_GRANULE || n == 0);
}

int slab_alloc(struct slab *s, uint64_t n, uint64_t *ret_offset)
{
	uint64_t k = granules(n);
	size_t at;

	if (k > s->n)
		return -E2BIG;
	if (k > s->n_free)
		return -EAGAIN;
	at = find_run(s, s->hint, s->n, k);
	if (at == s->n) {
		/* Around the beginning once, up to where a run that begins before the hint may still reach. */
		size_t end = MIN(s->n, s->hint + k - 1);

		at = find_run(s, 0, end, k);
		if (at == end)
			return -EAGAIN;
	}
	mark(s, at, k, true);
	s->n_free -= k;
	s->hint = at + k;
	*ret_offset = (uint64_t)at * SLAB_GRANULE;
	return 0;
}

void slab_free(struct slab *s, uint64_t offset, uint64_t n)
{
	uint64_t at = offset / SLAB_GRANULE, k = granules(n);

	assert(offset % SLAB_GRANULE == 0 && at < s->n && k <= s->n - at);
	mark(s, at, k, false);
	s->n_free += k;
	/* Space that is still in the processor's cache is taken again first. */
	s->hint = MIN(s->hint, at);
}
