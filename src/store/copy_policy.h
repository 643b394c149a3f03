/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy does with what it finds at its target, what is tried again, and in how many parts. Pure. */
#ifndef OLDDOG_STORE_COPY_POLICY_H
#define OLDDOG_STORE_COPY_POLICY_H

#include "store/store.h"

#define COPY_MAX_PARTS 1000u
#define COPY_MAX_TRIES 5u

enum copy_action {
	COPY_NEW,		/* nothing is there */
	COPY_COMPARE,		/* a file of this length is there: its checksum decides */
	COPY_REPLACE,
	COPY_SKIP,		/* it is whole already */
	COPY_REFUSE,		/* something else is there, and it is not to be replaced */
};

/* at: what is at the target, NULL for nothing. */
enum copy_action copy_decide(bool overwrite, const struct store_stat *from, const struct store_stat *at);
/* After COPY_COMPARE. */
enum copy_action copy_decide_compared(bool overwrite, bool equal);
/* Whether a failure may pass when the same is done again; n_tries have been made. */
bool copy_again(int r, unsigned n_tries);
/* How many parts a file is copied in: 1 below two whole parts; parts grow when there would be more than the most. */
unsigned copy_parts(uint64_t length, uint64_t part_bytes, uint64_t *ret_part_bytes);

#endif
