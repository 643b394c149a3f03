/* SPDX-License-Identifier: Apache-2.0 */
/* Shards of a folder's files: samples by key, in the order of their first files, 10,000 files to a shard. */
#include "plan/index_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "plan/group.h"
#include "plan/oddity.h"

/* One source. Files of one base have one run; runs of several entries never share a shard. */
struct grouping {
	struct index_making *m;
	const struct data_file *files;
	struct table table;
	VEC(struct data_file) taken;	/* files of the table, in its members' order */
	struct oddities odd;
};

static struct str name_of(const struct index_making *m, const struct data_file *f)
{
	return (struct str){data_name(m->data, f), f->name_n};
}

static struct str key_at(const struct index_making *m, const struct data_file *f)
{
	struct str key, ext;

	key_of_file(name_of(m, f), &key, &ext);
	return key;
}

static int compare_keys(const void *a, const void *b, void *grouping)
{
	const struct grouping *g = grouping;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = str_cmp(key_at(g->m, &g->files[x]), key_at(g->m, &g->files[y]));

	/* Files are in bytewise order, so are their numbers. */
	return c ? c : (x > y) - (x < y);
}

static uint32_t class_of(const struct index_making *m, struct str name)
{
	uint32_t number = CLASS_NONE;
	struct str class;

	if (m->data->has_class && data_class(name, &class))
		names_find(&m->data->classes, class, &number);
	return number;
}

static int versions_append(struct grouping *g, const uint8_t *origin, struct part_ref *ret)
{
	struct index_making *m = g->m;
	AUTO_FREE const char **versions = mem_calloc(g->taken.n + 1, sizeof(*versions));
	AUTO_BUF struct buf segment;
	int r;

	buf_init(&segment, SEGMENT_MAX_BYTES);
	if (!versions)
		return -ENOMEM;
	for (size_t i = 0; i < g->taken.n; i++)
		versions[i] = data_version(m->data, &g->taken.ptr[i]);
	r = segment_of_versions(versions, (uint32_t)g->taken.n, origin, &segment);
	return r < 0 ? r : journal_append(&m->index->binds_journal, m->index->binds, &segment, ret, m->e);
}

/* The table becomes a shard, and is empty again. */
static int flush(struct grouping *g)
{
	struct index_making *m = g->m;
	struct shard shard = {.base = g->files[0].base};
	uint8_t origin[SHA256_BYTES];
	AUTO_COUNTS struct counts counts;
	AUTO_BUF struct buf segment;
	struct segment s;
	int r;

	counts_init(&counts);
	buf_init(&segment, SEGMENT_MAX_BYTES);
	r = index_origin(m->data, g->taken.ptr, g->taken.n, origin);
	if (r == 0)
		r = versions_append(g, origin, &shard.versions);
	if (r == 0)
		r = segment_of_table(&g->table, NULL, &segment);
	if (r == 0)
		r = segment_open(segment.ptr, segment.n, &s);
	if (r == 0)
		r = counts_of_segment(&s, &counts);
	if (r == 0)
		r = journal_append(&m->index->parts_journal, m->index->parts, &segment, &shard.members, m->e);
	for (size_t i = 0; i < g->taken.n; i++)
		shard.length += g->taken.ptr[i].length;
	if (r == 0)
		r = index_shard_add(m, &shard, "", &segment, &counts);
	for (size_t i = 0; i < g->taken.n; i++)
		index_progress(m, g->taken.ptr[i].length, 0);
	table_release(&g->table);
	table_init(&g->table, true);
	g->taken.n = 0;
	return r;
}

/* The files order[0..n), all of one key, become a sample. */
static int sample_add(struct grouping *g, const uint32_t *order, size_t n)
{
	const struct data_file *first = &g->files[order[0]];
	struct str key, ext, before = {0};
	int r;

	key_of_file(name_of(g->m, first), &key, &ext);
	r = table_sample_add(&g->table, key, class_of(g->m, name_of(g->m, first)));
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct data_file *f = &g->files[order[i]];

		key_of_file(name_of(g->m, f), &key, &ext);
		/* a.JPG and a.jpg stand side by side in no order that matters: only the names' own order does. */
		if (i > 0 && str_cmp_nocase(ext, before) == 0)
			oddity_add(&g->odd, ODDITY_TWICE, name_of(g->m, f), 0);
		before = ext;
		r = table_member_add(&g->table, ext, 0, f->length);
		if (r == 0)
			r = VEC_PUSH(&g->taken, *f);
	}
	return r;
}

static bool same_key(const struct grouping *g, uint32_t a, uint32_t b)
{
	return str_equal(key_at(g->m, &g->files[a]), key_at(g->m, &g->files[b]));
}

/* A run of order[] of one key, and its place: the number of its first file. */
struct place {
	uint32_t file, at, n;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->file > y->file) - (x->file < y->file);
}

static size_t places_find(const struct grouping *g, const uint32_t *order, size_t n, struct place *places)
{
	size_t n_places = 0;

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && same_key(g, order[i - 1], order[i]))
			places[n_places - 1].n++;
		else
			places[n_places++] = (struct place){order[i], (uint32_t)i, 1};
	}
	qsort(places, n_places, sizeof(*places), compare_places);
	return n_places;
}

/* g's n files, which are of one base. */
static int run_index(struct grouping *g, size_t n)
{
	AUTO_FREE uint32_t *order = mem_calloc(n, sizeof(*order));
	AUTO_FREE struct place *places = mem_calloc(n, sizeof(*places));
	size_t n_places;
	int r = 0;

	if (!order || !places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_keys, g);
	n_places = places_find(g, order, n, places);
	for (size_t i = 0; i < n_places && r == 0; i++) {
		if (g->taken.n > 0 && g->taken.n + places[i].n > INDEX_FILES_PER_SHARD)
			r = flush(g);
		if (r == 0)
			r = sample_add(g, order + places[i].at, places[i].n);
	}
	return r < 0 || g->taken.n == 0 ? r : flush(g);
}

static void tell(void *ctx, const char *words)
{
	index_tell(ctx, "%s", words);
}

static int base_index(struct index_making *m, const struct data_file *files, size_t n)
{
	struct grouping g = {.m = m, .files = files, .taken = VEC_MAX(DATA_MAX_FILES)};
	int r;

	table_init(&g.table, true);
	r = run_index(&g, n);
	table_release(&g.table);
	vec_release(&g.taken);
	oddities_tell(&g.odd, m->data->bases.all.ptr[files[0].base].url, tell, m);
	return r;
}

int files_index(struct index_making *m, const struct data_source *source)
{
	const struct data_file *f = m->data->files.ptr + source->first;
	size_t n;
	int r = 0;

	for (size_t i = 0; i < source->n && r == 0; i += n) {
		for (n = 1; i + n < source->n && f[i + n].base == f[i].base; n++)
			;
		r = base_index(m, f + i, n);
	}
	return r;
}
