/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A priority queue through the elements themselves: a pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986). It needs no
 * memory, so that nothing about it can fail; adding is constant, taking out logarithmic over many.
 */
#ifndef OLDDOG_BASE_HEAP_H
#define OLDDOG_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* In an element: all zeros when it is in no heap. */
struct heap_node {
	struct heap_node *child, *next;
	struct heap_node *prev;		/* the one before, the parent of a first child; itself at the root */
};

struct heap {
	struct heap_node *root;		/* the first in order, or NULL */
	size_t n;
	bool (*before)(const struct heap_node *a, const struct heap_node *b);
};

void heap_add(struct heap *h, struct heap_node *e);
/* e is in h. */
void heap_del(struct heap *h, struct heap_node *e);
/* The first, taken out, or NULL. */
struct heap_node *heap_pop(struct heap *h);

static inline bool heap_has(const struct heap_node *e)
{
	return e->prev != NULL;
}

#endif
