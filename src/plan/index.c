/* SPDX-License-Identifier: Apache-2.0 */
/* The index as a whole: its memory, what it tells people, its identity. */
#include "plan/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "plan/segment.h"

struct index *index_new(void)
{
	struct index *x = mem_zalloc(sizeof(*x));

	if (!x)
		return NULL;
	bases_init(&x->bases);
	x->shards.max = INDEX_MAX_SHARDS;
	buf_init(&x->text, SIZE_MAX / 2);
	names_init(&x->classes, UINT32_MAX / 2);
	names_init(&x->exts, TABLE_MAX_EXTENSIONS);
	journal_init(&x->parts_journal);
	journal_init(&x->binds_journal);
	return x;
}

void index_free(struct index *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->shards.n; i++)
		mem_free(x->shards.ptr[i].counts);
	vec_release(&x->shards);
	bases_release(&x->bases);
	buf_release(&x->text);
	names_release(&x->classes);
	names_release(&x->exts);
	journal_release(&x->parts_journal);
	journal_release(&x->binds_journal);
	parts_free(x->parts);
	parts_free(x->binds);
	mem_free(x->n_with);
	mem_free(x->sources);
	mem_free(x);
}

const char *shard_title(const struct index *x, const struct shard *s)
{
	const char *name = shard_name(x, s);

	return name[0] ? name : x->bases.all.ptr[s->base].url;
}

int index_infer_fields(const struct index *x, struct spec *spec, struct err *e)
{
	AUTO_FREE const char **names = mem_calloc(x->exts.all.n + 1, sizeof(*names));
	AUTO_FREE uint64_t *n_with = mem_calloc(x->exts.all.n + 1, sizeof(*n_with));
	AUTO_BUF struct buf text;
	unsigned n = 0;

	buf_init(&text, SIZE_MAX / 2);
	if (!names || !n_with)
		return -ENOMEM;
	/* The numbers of names stay; only their bytes need a NUL each. */
	for (uint32_t i = 0; i < x->exts.all.n; i++) {
		struct str ext = names_at(&x->exts, i);

		buf_add(&text, ext.p, ext.n);
		buf_u8(&text, 0);
	}
	if (text.r < 0)
		return text.r;
	for (uint32_t i = 0, at = 0; i < x->exts.all.n; at += x->exts.all.ptr[i++].n + 1) {
		if (x->exts.all.ptr[i].n == 0)
			continue;
		names[n] = (char *)text.ptr + at;
		n_with[n++] = x->n_with[i];
	}
	return spec_infer_fields(spec, names, n_with, n, x->stats.n_found, x->classes.all.n > 0, e);
}

static void shard_hash(struct sha256 *h, const struct index *x, const struct shard *s)
{
	const char *name = shard_name(x, s);

	sha256_add_str(h, name, strlen(name));
	sha256_add_u64(h, s->length);
	sha256_add(h, s->identity, SHA256_BYTES);
	sha256_add_u32(h, s->n_removed);
}

static int removed_hash(struct sha256 *h, struct index *x, const struct shard *s, struct err *e)
{
	AUTO_FREE void *bytes = NULL;
	struct segment seg;
	int r;

	if (s->n_removed == 0)
		return 0;
	r = parts_read(x->parts, &s->removed, &bytes, e);
	if (r < 0)
		return r;
	r = segment_open(bytes, s->removed.n_bytes, &seg);
	if (r < 0)
		return err_set(e, r, "the plan's own list of removed samples is broken");
	for (uint32_t i = 0; i < seg.n_samples; i++)
		sha256_add_u32(h, (uint32_t)column_at(&seg.columns[COLUMN_REMOVED], i));
	return 0;
}

static uint64_t bits_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static void order_hash(struct sha256 *h, const struct spec *spec)
{
	sha256_add_str(h, "olddog order 1", 14);
	sha256_add_u64(h, spec->seed);
	sha256_add_u32(h, spec->order);
	sha256_add_u64(h, spec->order == ORDER_WINDOW ? spec->window : 0);
	sha256_add_u32(h, spec->order == ORDER_WINDOW ? spec->group : 0);
	sha256_add_u32(h, spec->n_sources);
}

int index_order_id(struct index *x, const struct spec *spec, uint8_t ret[SHA256_BYTES], struct err *e)
{
	AUTO(sha256) struct sha256 *h = sha256_new();
	int r = 0;

	if (!h)
		return -ENOMEM;
	order_hash(h, spec);
	for (unsigned k = 0; k < x->n_sources; k++) {
		const struct index_source *source = &x->sources[k];

		sha256_add_u64(h, bits_of(spec->sources[k].weight));
		sha256_add_u32(h, spec->sources[k].on_end);
		sha256_add_u32(h, source->format);
		sha256_add_u64(h, source->n);
		for (uint32_t i = 0; i < source->n && r == 0; i++) {
			shard_hash(h, x, &x->shards.ptr[source->first + i]);
			r = removed_hash(h, x, &x->shards.ptr[source->first + i], e);
		}
	}
	sha256_finish(h, ret);
	return r;
}
