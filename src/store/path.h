/* SPDX-License-Identifier: Apache-2.0 */
/* Paths within a store: parts between slashes, none of them "..". */
#ifndef OLDDOG_STORE_PATH_H
#define OLDDOG_STORE_PATH_H

#include <stdbool.h>

#include "base/str.h"

/* Not too long, and no part is "..". */
bool path_is_safe(const char *path);
/*
 * The one way to write a safe path: no slash at either end, no empty part, no ".". The root is "". out has
 * STORE_NAME_MAX bytes.
 */
void path_clean(const char *path, char *out);
/* Whether a part of it is "..". */
bool path_climbs(struct str path);
/* What precedes the last part, for a clean path: "" when there is none. */
struct str path_parent(const char *clean);
/* Whether a clean path lies below a clean directory. */
bool path_is_below(const char *path, struct str dir);

#endif
