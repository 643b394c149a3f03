/* SPDX-License-Identifier: Apache-2.0 */
/* Adding shards to an index. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "plan/index_files.h"
#include "plan/segment.h"

/* With more extensions in one shard than this its counts are not kept, and looking for missing fields looks at all. */
#define KEPT_COUNTS_MAX 64u

void index_tell(struct index_making *m, const char *fmt, ...)
{
	char words[1024];
	va_list ap;

	if (!m->conf->warn)
		return;
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	m->conf->warn(m->conf->ctx, words);
}

void index_progress(struct index_making *m, uint64_t length, uint64_t n_read)
{
	m->n_done++;
	m->n_bytes += length;
	m->index->stats.n_read += n_read;
	if (m->conf->progress)
		m->conf->progress(m->conf->ctx, m->n_done, m->n_all, m->n_bytes);
}

int index_origin(const struct data *d, const struct data_file *files, size_t n, uint8_t ret[SHA256_BYTES])
{
	AUTO(sha256) struct sha256 *h = sha256_new();

	if (!h)
		return -ENOMEM;
	sha256_add_str(h, "olddog origin 1", 15);
	for (size_t i = 0; i < n; i++) {
		const char *url = d->bases.all.ptr[files[i].base].url;

		sha256_add_str(h, url, strlen(url));
		sha256_add_str(h, data_name(d, &files[i]), files[i].name_n);
		sha256_add_u64(h, files[i].length);
		sha256_add_str(h, data_version(d, &files[i]), strlen(data_version(d, &files[i])));
	}
	sha256_finish(h, ret);
	return 0;
}

static int counts_merge(struct index *x, struct shard *shard, const struct counts *counts)
{
	bool keep = counts->of.n <= KEPT_COUNTS_MAX;
	uint32_t ext;
	int r;

	if (!x->n_with)
		x->n_with = mem_calloc(TABLE_MAX_EXTENSIONS, sizeof(*x->n_with));
	if (keep)
		shard->counts = mem_calloc(counts->of.n + 1, sizeof(*shard->counts));
	if (!x->n_with || (keep && !shard->counts))
		return -ENOMEM;
	for (uint32_t i = 0; i < counts->of.n; i++) {
		r = names_add(&x->exts, names_at(&counts->names, i), &ext);
		/* Tens of thousands of extensions are broken names: nobody asks for these. */
		if (r == -E2BIG)
			continue;
		if (r < 0)
			return r;
		x->n_with[ext] += counts->of.ptr[i].n;
		if (keep)
			shard->counts[shard->n_counts++] = (struct ext_count){ext, counts->of.ptr[i].n};
	}
	return 0;
}

int index_shard_add(struct index_making *m, struct shard *shard, const char *name, const struct buf *segment,
	const struct counts *counts)
{
	struct index *x = m->index;
	struct segment s;
	int r = segment_open(segment->ptr, segment->n, &s);

	if (r < 0)
		return r;
	shard->n_samples = s.n_samples;
	memcpy(shard->identity, s.identity, SHA256_BYTES);
	shard->name = x->text.n;
	buf_puts(&x->text, name);
	r = buf_u8(&x->text, 0);
	if (r == 0)
		r = counts_merge(x, shard, counts);
	if (r == 0)
		r = VEC_PUSH(&x->shards, *shard);
	if (r < 0) {
		mem_free(TAKE(shard->counts));
		return r == -E2BIG ? err_set(m->e, r, "more than %u shards", INDEX_MAX_SHARDS) : r;
	}
	if (s.kind == SEGMENT_TAR)
		x->stats.n_archives++;
	else
		x->stats.n_files += s.n_members;
	x->stats.n_bytes += shard->length;
	x->stats.n_found += shard->n_samples;
	return 0;
}

static int compare_counts(const void *a, const void *b)
{
	const struct plan_ext *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int exts_settle(struct index *x)
{
	size_t n = x->exts.all.n;
	AUTO_FREE struct plan_ext *all = mem_calloc(n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		str_printable(names_at(&x->exts, i), all[i].name, sizeof(all[i].name));
		all[i].n = x->n_with[i];
	}
	qsort(all, n, sizeof(*all), compare_counts);
	x->stats.n_exts = (unsigned)MIN(n, PLAN_STATS_EXTS);
	memcpy(x->stats.exts, all, x->stats.n_exts * sizeof(*all));
	return 0;
}

int index_settle(struct index_making *m)
{
	struct index *x = m->index;

	x->bases = m->data->bases;
	bases_init(&m->data->bases);
	if (m->data->has_class) {
		struct names empty = x->classes;

		x->classes = m->data->classes;
		m->data->classes = empty;
	}
	return exts_settle(x);
}
