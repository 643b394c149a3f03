/* SPDX-License-Identifier: Apache-2.0 */
#include "store/absent.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"

/* A page costs as much as looks at some names: pages of names that nobody asked for are not worth it. */
#define NAMES_A_PAGE 16u

static void next_page(struct absent *a)
{
	AUTO_FREE char *after = a->page.n ? mem_strdup(a->page.entries[a->page.n - 1].name) : NULL;
	bool follows = a->page.n > 0;
	int r = follows && !after ? -ENOMEM : 0;

	store_listing_release(&a->page);
	a->page = (struct store_listing){0};
	a->at = 0;
	a->n_pages++;
	if (r == 0)
		r = store_list_page(a->store, a->dir, after, &a->page, NULL);
	/* Nothing is in a directory that is not there. */
	a->known = r == 0 || r == -ENOENT;
}

void absent_init(struct absent *a, struct store *s, const char *dir)
{
	*a = (struct absent){.store = s, .dir = dir};
	next_page(a);
}

void absent_release(struct absent *a)
{
	store_listing_release(&a->page);
}

bool absent_is(struct absent *a, const char *name)
{
	a->n_asked++;
	while (a->known) {
		int order = 1;

		while (a->at < a->page.n && (order = strcmp(a->page.entries[a->at].name, name)) < 0)
			a->at++;
		if (a->at < a->page.n)
			return order != 0;
		if (!a->page.more)
			return true;
		if (a->n_pages > 1 + a->n_asked / NAMES_A_PAGE)
			a->known = false;
		else
			next_page(a);
	}
	return false;
}
