/* SPDX-License-Identifier: Apache-2.0 */
/* Counting extensions. */
#include "plan/counts.h"

#include "base/scope.h"

void counts_init(struct counts *c)
{
	names_init(&c->names, TABLE_MAX_EXTENSIONS);
	c->of.ptr = NULL;
	c->of.n = c->of.cap = 0;
	c->of.max = TABLE_MAX_EXTENSIONS;
}

void counts_release(struct counts *c)
{
	names_release(&c->names);
	vec_release(&c->of);
}

struct str ext_plain(enum segment_kind kind, struct str ext, char *out, size_t n)
{
	size_t k;

	if (kind == SEGMENT_FILES && ext.n > 0 && ext.p[0] == '.') {
		ext.p++;
		ext.n--;
	}
	ext.n = MIN(ext.n, n - 1);
	for (k = 0; k < ext.n; k++)
		out[k] = (char)(ext.p[k] >= 'A' && ext.p[k] <= 'Z' ? ext.p[k] + 'a' - 'A' : ext.p[k]);
	out[k] = '\0';
	return (struct str){out, k};
}

static int count_member(struct counts *c, const struct segment *s, uint32_t member, uint32_t sample)
{
	char plain[SEGMENT_KEY_MAX + 1];
	struct segment_member m;
	uint32_t number;
	int r = segment_member(s, member, &m);

	if (r == 0)
		r = names_add(&c->names, ext_plain(s->kind, m.ext, plain, sizeof(plain)), &number);
	if (r == 0 && number == c->of.n)
		r = VEC_PUSH(&c->of, (struct count){0});
	if (r < 0)
		return r;
	if (c->of.ptr[number].last != sample + 1) {
		c->of.ptr[number].last = sample + 1;
		c->of.ptr[number].n++;
	}
	return 0;
}

int counts_of_segment(const struct segment *s, struct counts *ret)
{
	struct segment_sample sample;
	int r = 0;

	for (uint32_t i = 0; i < s->n_samples && r == 0; i++) {
		r = segment_sample(s, i, &sample);
		for (uint32_t j = 0; j < sample.n && r == 0; j++)
			r = count_member(ret, s, sample.first + j, i);
	}
	return r;
}
