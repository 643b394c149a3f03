/* SPDX-License-Identifier: Apache-2.0 */
/* shards.bin: sources, shards, names and classes, as bytes. */
#include <string.h>

#include "base/rd.h"
#include "base/scope.h"
#include "plan/plan_dir.h"
#include "plan/table.h"

#define SHARDS_VERSION 1u
#define SHARD_BYTES 112u
#define SOURCE_BYTES 16u

static const char magic[8] = "olddshr\n";

static void ref_put(struct buf *to, const struct part_ref *ref)
{
	buf_u64(to, ref->offset);
	buf_u32(to, ref->part);
	buf_u32(to, ref->n_bytes);
}

static void shard_put(struct buf *to, const struct shard *s)
{
	buf_u64(to, s->name);
	buf_u64(to, s->length);
	buf_u32(to, s->base);
	buf_u32(to, s->n_samples);
	buf_u32(to, s->n_removed);
	buf_u32(to, 0);
	ref_put(to, &s->members);
	ref_put(to, &s->removed);
	ref_put(to, &s->versions);
	buf_add(to, s->identity, SHA256_BYTES);
}

int shards_encode(const struct index *x, struct buf *to)
{
	size_t begin = to->n;

	buf_add(to, magic, sizeof(magic));
	buf_u32(to, SHARDS_VERSION);
	buf_u32(to, x->n_sources);
	buf_u64(to, x->shards.n);
	buf_u64(to, x->text.n);
	buf_u64(to, x->classes.all.n);
	for (unsigned i = 0; i < x->n_sources; i++) {
		buf_u32(to, x->sources[i].format);
		buf_u32(to, x->sources[i].first);
		buf_u32(to, x->sources[i].n);
		buf_u32(to, 0);
	}
	for (size_t i = 0; i < x->shards.n; i++)
		shard_put(to, &x->shards.ptr[i]);
	buf_add(to, x->text.ptr, x->text.n);
	for (uint32_t i = 0; i < x->classes.all.n; i++) {
		struct str class = names_at(&x->classes, i);

		buf_u32(to, (uint32_t)class.n);
		buf_add(to, class.p, class.n);
	}
	if (to->r < 0)
		return to->r;
	return buf_u64(to, xxh3_of(to->ptr + begin, to->n - begin));
}

static struct part_ref ref_get(struct rd *r)
{
	struct part_ref ref;

	ref.offset = rd_u64(r);
	ref.part = rd_u32(r);
	ref.n_bytes = rd_u32(r);
	return ref;
}

static int shard_get(struct rd *r, struct index *x, uint64_t n_text)
{
	struct shard s = {0};

	s.name = rd_u64(r);
	s.length = rd_u64(r);
	s.base = rd_u32(r);
	s.n_samples = rd_u32(r);
	s.n_removed = rd_u32(r);
	rd_skip(r, 4);
	s.members = ref_get(r);
	s.removed = ref_get(r);
	s.versions = ref_get(r);
	rd_copy(r, s.identity, SHA256_BYTES);
	if (r->bad || s.name >= n_text || s.base >= x->bases.all.n || s.n_samples > TABLE_MAX_MEMBERS ||
		s.n_removed > s.n_samples || s.members.n_bytes == 0 || s.versions.n_bytes == 0 ||
		(s.n_removed > 0) != (s.removed.n_bytes > 0))
		return E_FORMAT;
	return VEC_PUSH(&x->shards, s);
}

static int sources_get(struct rd *r, struct index *x, uint32_t n_sources, uint64_t n_shards)
{
	uint64_t next = 0;

	x->sources = mem_calloc(n_sources, sizeof(*x->sources));
	if (!x->sources)
		return -ENOMEM;
	x->n_sources = n_sources;
	for (uint32_t i = 0; i < n_sources; i++) {
		struct index_source *s = &x->sources[i];

		s->format = rd_u32(r);
		s->first = rd_u32(r);
		s->n = rd_u32(r);
		rd_skip(r, 4);
		/* Sources follow each other without gaps. */
		if ((s->format != FORMAT_WEBDATASET && s->format != FORMAT_FILES) || s->first != next)
			return E_FORMAT;
		next += s->n;
	}
	return next == n_shards ? 0 : E_FORMAT;
}

static int classes_get(struct rd *r, struct index *x, uint64_t n_classes)
{
	for (uint64_t i = 0; i < n_classes; i++) {
		uint32_t n = rd_u32(r), number;
		const uint8_t *p = rd_bytes(r, n);
		int err;

		if (!p)
			return E_FORMAT;
		err = names_add(&x->classes, (struct str){(const char *)p, n}, &number);
		if (err < 0 || number != i)
			return err < 0 ? err : E_FORMAT;
	}
	return 0;
}

int shards_decode(const void *p, size_t n, struct index *x)
{
	struct rd r = rd_of(p, n < 8 ? 0 : n - 8), sum = rd_of((const uint8_t *)p + (n < 8 ? 0 : n - 8), n < 8 ? 0 : 8);
	const uint8_t *m = rd_bytes(&r, sizeof(magic)), *text;
	uint32_t version = rd_u32(&r), n_sources = rd_u32(&r);
	uint64_t n_shards = rd_u64(&r), n_text = rd_u64(&r), n_classes = rd_u64(&r);
	int err;

	if (r.bad || !m || memcmp(m, magic, sizeof(magic)) != 0 || version != SHARDS_VERSION ||
		rd_u64(&sum) != xxh3_of(p, n - 8))
		return E_FORMAT;
	if (n_sources == 0 || n_sources > SPEC_MAX_SOURCES || n_shards > INDEX_MAX_SHARDS || n_text == 0 ||
		n_text > rd_left(&r) || n_shards * SHARD_BYTES > rd_left(&r))
		return E_FORMAT;
	err = sources_get(&r, x, n_sources, n_shards);
	if (err == 0)
		err = VEC_RESERVE(&x->shards, n_shards);
	for (uint64_t i = 0; i < n_shards && err == 0; i++)
		err = shard_get(&r, x, n_text);
	if (err < 0)
		return err;
	text = rd_bytes(&r, n_text);
	/* Each name ends before the next, and the last at the end. */
	if (!text || text[n_text - 1] != 0)
		return E_FORMAT;
	err = buf_add(&x->text, text, n_text);
	if (err == 0)
		err = classes_get(&r, x, n_classes);
	return err == 0 && rd_left(&r) > 0 ? E_FORMAT : err;
}
