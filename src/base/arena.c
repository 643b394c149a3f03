/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/scope.h"

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	max_align_t data[];
};

#define BLOCK_BYTES 16384u

void arena_init(struct arena *a, size_t max_bytes)
{
	*a = (struct arena){.max = max_bytes};
}

static struct arena_block *arena_block_new(struct arena *a, size_t n)
{
	size_t size = MAX(n, BLOCK_BYTES);
	struct arena_block *b = mem_zalloc(sizeof(*b) + size);

	if (!b)
		return NULL;
	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

void *arena_alloc(struct arena *a, size_t n_bytes)
{
	struct arena_block *b = a->blocks;
	size_t align = _Alignof(max_align_t), n;
	void *p;

	/* The second: rounding up, and the block's own head, must not wrap. */
	if (n_bytes > a->max - a->n_bytes || n_bytes > SIZE_MAX / 2)
		return NULL;
	n = (MAX(n_bytes, 1) + align - 1) / align * align;
	if (!b || n > b->size - b->used)
		b = arena_block_new(a, n);
	if (!b)
		return NULL;
	p = (char *)b->data + b->used;
	b->used += n;
	a->n_bytes = MIN(a->n_bytes + n, a->max);
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = n < SIZE_MAX ? arena_alloc(a, n + 1) : NULL;

	if (copy && n)
		memcpy(copy, s, n);
	return copy;
}

void arena_release(struct arena *a)
{
	struct arena_block *b = a->blocks;

	while (b) {
		struct arena_block *next = b->next;

		mem_free(b);
		b = next;
	}
	arena_init(a, a->max);
}
