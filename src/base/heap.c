/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include "base/scope.h"

/* Two roots into one. */
static struct heap_node *meld(struct heap *h, struct heap_node *a, struct heap_node *b)
{
	if (!a || !b)
		return a ? a : b;
	if (h->before(b, a)) {
		struct heap_node *first = b;

		b = a;
		a = first;
	}
	b->next = a->child;
	b->prev = a;
	if (a->child)
		a->child->prev = b;
	a->child = b;
	a->prev = a;
	a->next = NULL;
	return a;
}

/* Siblings into one root: in pairs from the first on, then the pairs from the last on. */
static struct heap_node *meld_all(struct heap *h, struct heap_node *first)
{
	struct heap_node *pairs = NULL, *root = NULL;

	while (first) {
		struct heap_node *a = first, *b = a->next;

		first = b ? b->next : NULL;
		a->next = NULL;
		if (b)
			b->next = NULL;
		a = meld(h, a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct heap_node *a = pairs;

		pairs = a->next;
		a->next = NULL;
		root = meld(h, root, a);
	}
	return root;
}

void heap_add(struct heap *h, struct heap_node *e)
{
	*e = (struct heap_node){.prev = e};
	h->root = meld(h, h->root, e);
	h->n++;
}

void heap_del(struct heap *h, struct heap_node *e)
{
	struct heap_node *below = meld_all(h, e->child);

	if (below)
		below->prev = below;
	if (h->root == e) {
		h->root = below;
	} else {
		if (e->prev->child == e)
			e->prev->child = e->next;
		else
			e->prev->next = e->next;
		if (e->next)
			e->next->prev = e->prev;
		h->root = meld(h, h->root, below);
	}
	*e = (struct heap_node){NULL};
	h->n--;
}

struct heap_node *heap_pop(struct heap *h)
{
	struct heap_node *e = h->root;

	if (e)
		heap_del(h, e);
	return e;
}
