/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexing: archives on several threads, a few ahead of the one whose segment is due to be written, so that a plan's
 * files come out the same however the threads ran.
 */
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "net/pool.h"
#include "net/capacity.h"
#include "plan/counts.h"
#include "plan/data.h"
#include "plan/index.h"
#include "plan/index_files.h"
#include "plan/journal.h"
#include "plan/scan.h"
#include "plan/segment.h"

#define THREADS_DEFAULT_MAX 16u
#define THREADS_MAX 256u
#define AHEAD_PER_THREAD 4u

/* One archive on its way. Between submission and done() the thread's. */
struct scan_job {
	struct job job;
	struct run *run;
	const struct data_file *file;
	struct part_ref old;	/* of an earlier indexing; then the thread only reads that back */
	uint8_t origin[SHA256_BYTES];
	bool versioned;		/* else nobody can say whether the file is still the same, and it is read anew */
	bool done;
	/* What the thread made. */
	int r;
	struct err e;
	struct buf segment;
	struct counts counts;
	struct oddities odd;
	uint64_t n_read;
};

struct run {
	struct index_making *m;
	const struct data_source *source;
	struct loop *loop;
	struct pool *pool;
	struct scan_job *slots;	/* a ring by file number */
	size_t n_slots, n_submitted, n_emitted;
	int r;
};

static void scan_work(struct job *job)
{
	struct scan_job *s = container_of(job, struct scan_job, job);
	const struct data *d = s->run->m->data;
	const struct base *base = &d->bases.all.ptr[s->file->base];
	struct store_file file = {.length = s->file->length};
	AUTO_TABLE struct table table;
	char path[STORE_NAME_MAX];
	struct segment seg;

	table_init(&table, false);
	snprintf(file.version, sizeof(file.version), "%s", data_version(d, s->file));
	if (s->segment.n == 0) {
		s->r = base_path(base, (struct str){data_name(d, s->file), s->file->name_n}, path, sizeof(path));
		if (s->r == 0)
			s->r = scan_tar(base->store, path, &file, &table, &s->odd, &s->n_read, &s->e);
		if (s->r == 0)
			s->r = segment_of_table(&table, s->versioned ? s->origin : NULL, &s->segment);
	}
	if (s->r == 0)
		s->r = segment_open(s->segment.ptr, s->segment.n, &seg);
	if (s->r == 0)
		s->r = counts_of_segment(&seg, &s->counts);
}

static void job_release(struct scan_job *s)
{
	buf_release(&s->segment);
	counts_release(&s->counts);
}

static bool is_bad_shard(int r)
{
	return r == E_FORMAT || r == E_CHANGED;
}

/* A bad shard is told and left out, or stops: by conf.strict. */
static int shard_leave_out(struct index_making *m, const struct data_file *file, int r, const struct err *why)
{
	struct plan_stats *st = &m->index->stats;
	char name[256], words[1024];
	size_t n = strlen(st->bad);

	str_printable((struct str){data_name(m->data, file), file->name_n}, name, sizeof(name));
	snprintf(words, sizeof(words), "%s %s", name, err_words(why, r));
	if (m->conf->strict)
		return err_set(m->e, r, "%s", words);
	index_tell(m, "%s: left out", words);
	if (st->n_bad++ == 0 || n + strlen(words) + 3 < sizeof(st->bad))
		snprintf(st->bad + n, sizeof(st->bad) - n, "%s%s", n > 0 ? "; " : "", words);
	return 0;
}

static void tell_oddity(void *ctx, const char *words)
{
	index_tell(ctx, "%s", words);
}

/* Versions of one file, in the binds. */
static int version_append(struct index_making *m, const struct data_file *file, const uint8_t *origin,
	struct part_ref *ret)
{
	const char *version = data_version(m->data, file);
	AUTO_BUF struct buf segment;
	int r;

	buf_init(&segment, SEGMENT_MAX_BYTES);
	r = segment_of_versions(&version, 1, origin, &segment);
	return r < 0 ? r : journal_append(&m->index->binds_journal, m->index->binds, &segment, ret, m->e);
}

static int shard_emit(struct index_making *m, struct scan_job *s)
{
	const char *name = data_name(m->data, s->file);
	char title[256];
	struct shard shard = {.base = s->file->base, .length = s->file->length};
	int r;

	if (s->r < 0 && is_bad_shard(s->r))
		return shard_leave_out(m, s->file, s->r, &s->e);
	str_printable(str_of(name), title, sizeof(title));
	if (s->r < 0)
		return err_set(m->e, s->r, "%s: %s", title, err_words(&s->e, s->r));
	oddities_tell(&s->odd, title, tell_oddity, m);
	r = version_append(m, s->file, s->origin, &shard.versions);
	if (r == 0)
		r = journal_append(&m->index->parts_journal, m->index->parts, &s->segment, &shard.members, m->e);
	if (r == 0)
		r = index_shard_add(m, &shard, name, &s->segment, &s->counts);
	m->index->stats.n_taken_over += s->old.n_bytes > 0;
	return r;
}

static int submit_next(struct run *run)
{
	struct scan_job *s = &run->slots[run->n_submitted % run->n_slots];
	struct index_making *m = run->m;
	void *bytes = NULL;
	int r;

	*s = (struct scan_job){.run = run, .file = &m->data->files.ptr[run->source->first + run->n_submitted]};
	buf_init(&s->segment, SEGMENT_MAX_BYTES);
	counts_init(&s->counts);
	s->versioned = data_version(m->data, s->file)[0] != '\0';
	r = index_origin(m->data, s->file, 1, s->origin);
	if (r == 0 && s->versioned && journal_find(&m->index->parts_journal, SEGMENT_TAR, s->origin, &s->old)) {
		r = parts_read(m->index->parts, &s->old, &bytes, m->e);
		if (r == 0) {
			r = buf_add(&s->segment, bytes, s->old.n_bytes);
			mem_free(bytes);
		}
	}
	if (r < 0) {
		job_release(s);
		return r;
	}
	run->n_submitted++;
	s->job = (struct job){.work = scan_work, .done = run->m->scan_done};
	pool_submit(run->pool, run->loop, &s->job);
	return 0;
}

static void submit_more(struct run *run)
{
	while (run->r == 0 && run->n_submitted < run->source->n && run->n_submitted < run->n_emitted + run->n_slots)
		run->r = submit_next(run);
}

static void scan_done(struct job *job)
{
	struct run *run = container_of(job, struct scan_job, job)->run;
	struct scan_job *s;

	container_of(job, struct scan_job, job)->done = true;
	while (run->n_emitted < run->n_submitted && (s = &run->slots[run->n_emitted % run->n_slots])->done) {
		if (run->r == 0)
			run->r = shard_emit(run->m, s);
		index_progress(run->m, s->file->length, s->n_read);
		job_release(s);
		s->done = false;
		run->n_emitted++;
	}
	submit_more(run);
}

static unsigned threads_of(unsigned asked)
{
	return asked > 0 ? MIN(asked, THREADS_MAX) : MIN(processors_available(), THREADS_DEFAULT_MAX);
}

static int archives_index(struct index_making *m, const struct data_source *source)
{
	unsigned n_threads = threads_of(m->conf->n_threads);
	/* In this order: what ends first is the threads, which work on the slots and post to the loop. */
	AUTO_FREE struct scan_job *slots = NULL;
	AUTO(loop) struct loop *loop = NULL;
	AUTO(pool) struct pool *pool = NULL;
	struct run run = {.m = m, .source = source, .n_slots = (size_t)n_threads * AHEAD_PER_THREAD};
	int r = loop_new(&loop);

	if (r == 0)
		r = pool_new(n_threads, &pool);
	slots = mem_calloc(run.n_slots, sizeof(*slots));
	if (r < 0 || !slots)
		return r < 0 ? r : -ENOMEM;
	run.loop = loop;
	run.pool = pool;
	run.slots = slots;
	m->scan_done = scan_done;
	submit_more(&run);
	r = loop_run(loop);
	return run.r < 0 ? run.r : r;
}

static int sources_index(struct index_making *m)
{
	const struct data *d = m->data;
	struct index *x = m->index;
	int r = 0;

	x->sources = mem_calloc(d->n_sources, sizeof(*x->sources));
	if (!x->sources)
		return -ENOMEM;
	x->n_sources = d->n_sources;
	for (unsigned k = 0; k < d->n_sources && r == 0; k++) {
		struct index_source *source = &x->sources[k];

		source->format = d->sources[k].format;
		source->first = (uint32_t)x->shards.n;
		if (source->format == FORMAT_WEBDATASET)
			r = archives_index(m, &d->sources[k]);
		else
			r = files_index(m, &d->sources[k]);
		source->n = (uint32_t)x->shards.n - source->first;
		if (r == 0 && source->n == 0)
			r = err_set(m->e, E_SPEC, "source %u has no good shard left", k + 1);
	}
	return r;
}

int index_make(struct index *x, const struct spec *spec, const struct plan_conf *conf, struct err *e)
{
	static const struct plan_conf defaults;
	AUTO_DATA struct data data;
	struct index_making m = {.index = x, .data = &data, .conf = conf ? conf : &defaults, .e = e};
	int r;

	data_init(&data);
	r = journal_read(&x->parts_journal, x->parts, e);
	if (r == 0)
		r = journal_read(&x->binds_journal, x->binds, e);
	if (r == 0)
		r = data_list(spec, &data, tell_oddity, &m, e);
	m.n_all = data.files.n;
	if (r == 0)
		r = sources_index(&m);
	if (r == 0)
		r = index_settle(&m);
	return r;
}
