/* SPDX-License-Identifier: Apache-2.0 */
/* A doubly linked list through the elements themselves. An element that is in no list points to itself. */
#ifndef OLDDOG_BASE_LIST_H
#define OLDDOG_BASE_LIST_H

#include <stdbool.h>

#include "base/scope.h"

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(name)                                                                                      \
	{                                                                                                    \
		&(name), &(name)                                                                             \
	}

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

/* Puts e before l: at the end when l is the head. */
static inline void list_add(struct list *l, struct list *e)
{
	e->next = l;
	e->prev = l->prev;
	l->prev->next = e;
	l->prev = e;
}

static inline void list_del(struct list *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	list_init(e);
}

/* The first element, taken out, or NULL. */
static inline struct list *list_pop(struct list *l)
{
	struct list *e = l->next;

	if (e == l)
		return NULL;
	list_del(e);
	return e;
}

/* The body may delete e. */
#define LIST_EACH(e, head) for (struct list *e = (head)->next, *e##_n = e->next; e != (head); e = e##_n, e##_n = e->next)

#endif
