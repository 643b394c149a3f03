/* SPDX-License-Identifier: Apache-2.0 */
/* Which member of a sample a field is. */
#ifndef OLDDOG_PLAN_FIELDS_H
#define OLDDOG_PLAN_FIELDS_H

#include "plan/plan.h"
#include "plan/segment.h"

struct field_place {
	enum member_kind kind;
	uint32_t member;		/* RANGE: number in the segment */
	struct segment_member at;	/* RANGE */
	uint32_t class_no;		/* INLINE */
};

/* The first of field's extensions that the sample has; of two members with it the first. E_FORMAT. */
int field_find(const struct segment *s, const struct segment_sample *sample, const struct spec_field *field,
	struct field_place *ret);

#endif
