/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of names: brace ranges and lists {00..99} {a,b}, and * ? [a-z] [!a-z] within one directory
 * level. Bytewise whatever the locale (fnmatch(3) is not, and a host program may have set one), in linear time but for
 * the stars. Pure.
 */
#ifndef OLDDOG_STORE_PATTERN_H
#define OLDDOG_STORE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define PATTERN_MAX_NAMES 1000000u	/* that one brace pattern may give */
#define PATTERN_MAX_BYTES 4096u

/* Offset of the first pattern character; s.n when there is none. */
size_t pattern_begin(struct str s);
/* Whether * ? or [ is in s. */
bool pattern_has_glob(struct str s);
/* One name (no slash in it) against one pattern. A leading dot matches only itself. */
bool pattern_match(struct str pattern, struct str name);
/*
 * Calls fn for each text that braces make of pattern, in the order written; stops when fn fails and gives that back.
 * E_SPEC with words for too many, or a range that runs backwards.
 */
int pattern_expand(const char *pattern, int (*fn)(void *ctx, const char *text), void *ctx, struct err *e);

#endif
