/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a URL with a pattern names (store/pattern.h: braces, and * ? [..] within one directory level), of any store. A
 * path that is there literally is itself, pattern characters or not.
 */
#ifndef OLDDOG_STORE_GLOB_H
#define OLDDOG_STORE_GLOB_H

#include "store/store.h"

#define GLOB_MAX_DEPTH 64u	/* parts of a pattern */

struct glob_hit {
	struct store *store;
	const char *path;	/* in the store */
	const char *shown;	/* the URL as it was written, with names in place of the pattern; no % escapes in these */
	struct store_stat stat;
	bool matched;		/* a pattern; what is named as it is was looked at as store_look() does */
};

/*
 * Calls fn for each, in bytewise order of names (braces in the order written), as listing goes on; what fn fails with
 * ends it and is given back. -ENOENT with words when there is none.
 */
int glob_url(const char *url, int (*fn)(void *ctx, const struct glob_hit *hit, struct err *e), void *ctx, struct err *e);

#endif
