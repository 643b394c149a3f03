/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What relative names are relative to: the directories of a spec's entries, each with its store. Together with the
 * files' versions they bind a plan to its data, and are in no identity.
 */
#ifndef OLDDOG_PLAN_BASES_H
#define OLDDOG_PLAN_BASES_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/store.h"

#define BASES_MAX 65536u

struct base {
	char *url;		/* absolute */
	struct store *store;
	char *path;		/* within the store, no slash at its end but for "/" alone */
};

struct bases {
	VEC(struct base) all;
};

void bases_init(struct bases *b);
void bases_release(struct bases *b);
/* Opens url's store, shared with those before it that are of the same store; an equal URL is the same base. */
int bases_add(struct bases *b, const char *url, uint32_t *ret_base, struct err *e);
/* path / name; -ENAMETOOLONG. */
int base_path(const struct base *b, struct str name, char *out, size_t n);

#endif
