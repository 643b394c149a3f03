/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a field's member. */
#include "plan/fields.h"

#include <string.h>

#include "plan/counts.h"

static int member_find(const struct segment *s, const struct segment_sample *sample, const char *ext,
	struct field_place *ret)
{
	char plain[SEGMENT_KEY_MAX + 1];
	struct segment_member m;
	int r;

	for (uint32_t i = 0; i < sample->n; i++) {
		r = segment_member(s, sample->first + i, &m);
		if (r < 0)
			return r;
		if (str_cmp_nocase(ext_plain(s->kind, m.ext, plain, sizeof(plain)), str_of(ext)) != 0)
			continue;
		*ret = (struct field_place){MEMBER_RANGE, sample->first + i, m, CLASS_NONE};
		return 1;
	}
	return 0;
}

int field_find(const struct segment *s, const struct segment_sample *sample, const struct spec_field *field,
	struct field_place *ret)
{
	int r = 0;

	*ret = (struct field_place){.kind = MEMBER_NONE};
	for (unsigned i = 0; i < field->n_from && r == 0; i++) {
		if (sample->class_no != CLASS_NONE && strcmp(field->from[i], "cls") == 0) {
			*ret = (struct field_place){.kind = MEMBER_INLINE, .class_no = sample->class_no};
			return 0;
		}
		r = member_find(s, sample, field->from[i], ret);
	}
	return r < 0 ? r : 0;
}
