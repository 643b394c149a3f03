/* SPDX-License-Identifier: Apache-2.0 */
/* How many samples of a segment have which extension: lower case, without a folder file's dot. */
#ifndef OLDDOG_PLAN_COUNTS_H
#define OLDDOG_PLAN_COUNTS_H

#include "plan/names.h"
#include "plan/segment.h"

struct count {
	uint32_t n;
	uint32_t last;		/* 1 + the sample that was counted last */
};

struct counts {
	struct names names;
	VEC(struct count) of;	/* parallel to names */
};

void counts_init(struct counts *c);
void counts_release(struct counts *c);
#define AUTO_COUNTS __attribute__((cleanup(counts_release)))
int counts_of_segment(const struct segment *s, struct counts *ret);

/* An extension as fields name it, in out: lower case, no dot of a folder's file; cut to n - 1 bytes. */
struct str ext_plain(enum segment_kind kind, struct str ext, char *out, size_t n);

#endif
