/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an earlier, broken-off indexing left in a plan's parts: whole segments, found by their origin. Segments of data
 * that changed since have another origin, and are just never asked for.
 */
#ifndef OLDDOG_PLAN_JOURNAL_H
#define OLDDOG_PLAN_JOURNAL_H

#include <stdbool.h>

#include "base/vec.h"
#include "plan/names.h"
#include "plan/parts.h"
#include "plan/segment.h"

struct journal {
	struct names origins;		/* kind and origin */
	VEC(struct part_ref) refs;	/* parallel to origins */
};

void journal_init(struct journal *j);
void journal_release(struct journal *j);
#define AUTO_JOURNAL __attribute__((cleanup(journal_release)))

/* Replays parts into j. */
int journal_read(struct journal *j, struct parts *parts, struct err *e);
bool journal_find(const struct journal *j, enum segment_kind kind, const uint8_t origin[SHA256_BYTES],
	struct part_ref *ret);
/* Where a segment with this origin is: found in the journal (*ret_old), or appended and noted. */
int journal_append(struct journal *j, struct parts *parts, const struct buf *segment, struct part_ref *ret,
	struct err *e);

#endif
