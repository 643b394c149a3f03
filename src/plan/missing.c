/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_missing: samples without a field that the spec asks for are taken out before the order (skip), refused (fail), or
 * stay (empty). Most shards have all; those are not looked at again.
 */
#include <string.h>

#include "base/scope.h"
#include "plan/fields.h"
#include "plan/index.h"
#include "plan/segment.h"

#define FROM_BYTES 4096u

struct missing {
	struct index *x;
	const struct spec *spec;
	const struct shard *shard;
	const struct segment *seg;
	struct err *e;
	VEC(uint32_t) removed;
};

/* Whether the counts say that every sample of the shard has the field. */
static bool shard_has_field(const struct missing *m, unsigned field)
{
	const struct spec_field *f = &m->spec->fields[field];
	uint32_t ext;

	for (unsigned i = 0; i < f->n_from; i++) {
		if (m->x->classes.all.n > 0 && shard_name(m->x, m->shard)[0] == '\0' && strcmp(f->from[i], "cls") == 0)
			return true;
		if (!names_find(&m->x->exts, str_of(f->from[i]), &ext))
			continue;
		for (uint32_t k = 0; k < m->shard->n_counts; k++)
			if (m->shard->counts[k].ext == ext && m->shard->counts[k].n == m->shard->n_samples)
				return true;
	}
	return false;
}

static int refuse_missing(const struct missing *m, unsigned field, const char *title, const char *key)
{
	const struct spec_field *f = &m->spec->fields[field];
	AUTO_BUF struct buf from;

	buf_init(&from, FROM_BYTES);
	for (unsigned i = 0; i < f->n_from; i++)
		buf_printf(&from, "%s%s", i ? " " : "", f->from[i]);
	if (from.r < 0)
		return from.r;
	return err_set(m->e, E_SPEC, "%s:%s has no %s (from: %.64s), and on_missing is fail; `skip` leaves such samples out, "
		"`empty` keeps them", title, key, m->spec->recipe.fields[field].name, (const char *)from.ptr);
}

static int note_missing(struct missing *m, uint32_t sample, unsigned field)
{
	struct plan_missing *stat = &m->x->stats.missing[field];
	char key[SEGMENT_KEY_MAX + 1], title[96], shown[128];
	size_t n;
	int r = segment_key(m->seg, sample, key, &n);

	if (r < 0)
		return r;
	str_printable(str_of(shard_title(m->x, m->shard)), title, sizeof(title));
	str_printable((struct str){key, n}, shown, sizeof(shown));
	if (stat->n++ == 0)
		snprintf(stat->first, sizeof(stat->first), "%s:%s", title, shown);
	if (m->spec->fields[field].on_missing != ON_MISSING_FAIL)
		return 0;
	return refuse_missing(m, field, title, shown);
}

static int sample_check(struct missing *m, uint32_t i)
{
	struct segment_sample sample;
	struct field_place place;
	bool remove = false;
	int r = segment_sample(m->seg, i, &sample);

	for (unsigned k = 0; k < m->spec->recipe.n_fields && r == 0; k++) {
		r = field_find(m->seg, &sample, &m->spec->fields[k], &place);
		if (r < 0 || place.kind != MEMBER_NONE)
			continue;
		r = note_missing(m, i, k);
		remove = remove || m->spec->fields[k].on_missing == ON_MISSING_SKIP;
	}
	return r == 0 && remove ? VEC_PUSH(&m->removed, i) : r;
}

static int removed_append(struct missing *m, struct shard *shard)
{
	uint8_t origin[SHA256_BYTES];
	AUTO_BUF struct buf segment;
	int r;

	buf_init(&segment, SEGMENT_MAX_BYTES);
	if (m->removed.n == 0)
		return 0;
	/* Made of nothing but its content. */
	sha256_of(m->removed.ptr, m->removed.n * sizeof(*m->removed.ptr), origin);
	r = segment_of_removed(m->removed.ptr, (uint32_t)m->removed.n, origin, &segment);
	if (r == 0)
		r = journal_append(&m->x->parts_journal, m->x->parts, &segment, &shard->removed, m->e);
	shard->n_removed = (uint32_t)m->removed.n;
	return r;
}

static int shard_check(struct missing *m, struct shard *shard)
{
	AUTO_FREE void *bytes = NULL;
	struct segment seg;
	bool all = true;
	int r;

	m->shard = shard;
	m->removed.n = 0;
	for (unsigned k = 0; k < m->spec->recipe.n_fields && all; k++)
		all = shard_has_field(m, k);
	if (all)
		return 0;
	r = parts_read(m->x->parts, &shard->members, &bytes, m->e);
	if (r == 0)
		r = segment_open(bytes, shard->members.n_bytes, &seg);
	m->seg = &seg;
	for (uint32_t i = 0; r == 0 && i < shard->n_samples; i++)
		r = sample_check(m, i);
	return r < 0 ? r : removed_append(m, shard);
}

int index_remove_missing(struct index *x, const struct spec *spec, struct err *e)
{
	struct missing m = {.x = x, .spec = spec, .e = e, .removed = VEC_MAX(UINT32_MAX)};
	int r = 0;

	for (size_t i = 0; i < x->shards.n && r == 0; i++)
		r = shard_check(&m, &x->shards.ptr[i]);
	vec_release(&m.removed);
	return r;
}
