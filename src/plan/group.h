/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From names to samples. In a tar archive WebDataset's rule: the key ends at the first dot after the last slash, the
 * extension is the rest in lower case, and consecutive members of one key are one sample. In a folder: the extension
 * begins at the last dot, and all files of one key are one sample, wherever they stand.
 */
#ifndef OLDDOG_PLAN_GROUP_H
#define OLDDOG_PLAN_GROUP_H

#include <stdbool.h>

#include "plan/oddity.h"
#include "plan/table.h"
#include "wire/tar.h"

/*
 * WebDataset's rule (its base_plus_ext and group_by_keys of 0.2 to 1.0). False when the name gives no key: no dot, or a
 * dot first after the last slash.
 */
bool key_of_member(struct str name, struct str *ret_key, struct str *ret_ext);
/* WebDataset skips such names without a word: "__meta__" files at the top of an archive. */
bool member_is_meta(struct str name);
/* A folder's rule; ext is with its dot, or empty. */
void key_of_file(struct str name, struct str *ret_key, struct str *ret_ext);

/* Puts tar members into a table one after the other. */
struct grouper {
	struct table *table;
	struct oddities *odd;
	VEC(uint32_t) seen;	/* by extension: 1 + the last sample that has it */
};

void grouper_init(struct grouper *g, struct table *table, struct oddities *odd);
void grouper_release(struct grouper *g);
#define AUTO_GROUPER __attribute__((cleanup(grouper_release)))

int grouper_add(struct grouper *g, const struct tar_member *m);
/* Looks for keys that occur more than once. */
int grouper_end(struct grouper *g);

#endif
