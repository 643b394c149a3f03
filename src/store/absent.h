/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names a directory does not have: by its listing, read page by page beside names that come in the same order. One
 * call for a thousand names in place of a look at each. Blocking.
 */
#ifndef OLDDOG_STORE_ABSENT_H
#define OLDDOG_STORE_ABSENT_H

#include "store/store.h"

struct absent {
	struct store *store;	/* not owned, as dir */
	const char *dir;
	struct store_listing page;
	size_t at;		/* in the page: before it are names that were passed */
	unsigned n_asked, n_pages;
	bool known;		/* else the directory could not be listed, or has too many other names */
};

void absent_init(struct absent *a, struct store *s, const char *dir);
void absent_release(struct absent *a);
/* True: it had no such name when it was listed. False: it has, or that is not known. Names are asked for in bytewise order. */
bool absent_is(struct absent *a, const char *name);

#endif
