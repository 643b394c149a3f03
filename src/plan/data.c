/* SPDX-License-Identifier: Apache-2.0 */
/* Sources, their formats and classes; the bases that names are relative to. */
#include "plan/data.h"

#include <string.h>

#include "base/scope.h"
#include "plan/data_walk.h"
#include "store/pattern.h"

void data_init(struct data *d)
{
	memset(d, 0, sizeof(*d));
	bases_init(&d->bases);
	d->files.max = DATA_MAX_FILES;
	buf_init(&d->text, SIZE_MAX / 2);
	names_init(&d->classes, DATA_MAX_CLASSES);
}

void data_release(struct data *d)
{
	bases_release(&d->bases);
	vec_release(&d->files);
	buf_release(&d->text);
	names_release(&d->classes);
}

bool data_class(struct str name, struct str *ret_class)
{
	const char *slash = memchr(name.p, '/', name.n);

	if (!slash)
		return false;
	*ret_class = (struct str){name.p, (size_t)(slash - name.p)};
	return true;
}

static bool ends_with_any(const char *name, const char *const *ends, unsigned n)
{
	size_t length = strlen(name), k;

	for (unsigned i = 0; i < n; i++) {
		k = strlen(ends[i]);
		if (length > k && str_cmp_nocase((struct str){name + length - k, k}, str_of(ends[i])) == 0)
			return true;
	}
	return false;
}

static bool is_tar(const char *name)
{
	return ends_with_any(name, (const char *const[]){".tar"}, 1);
}

struct tally {
	size_t n_tars, n_images, n_compressed, n_foreign, n_other;
	const char *compressed, *foreign;
};

static struct tally tally_of(const struct data *d, const struct data_source *s)
{
	static const char *const images[] = {".jpg", ".jpeg", ".png", ".webp"};
	static const char *const compressed[] = {".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2", ".tar.lz4"};
	/* What other loaders keep samples in: as one sample a file they would make no sense. */
	static const char *const foreign[] = {".parquet", ".arrow", ".feather", ".tfrecord", ".tfrecords", ".mdb", ".lmdb",
		".beton", ".mds", ".zip", ".7z", ".rar", ".h5", ".hdf5"};
	struct tally t = {0};

	for (size_t i = s->first; i < s->first + s->n; i++) {
		const char *name = data_name(d, &d->files.ptr[i]);

		if (is_tar(name)) {
			t.n_tars++;
		} else if (ends_with_any(name, images, N_ELEMS(images))) {
			t.n_images++;
		} else if (ends_with_any(name, compressed, N_ELEMS(compressed))) {
			t.n_compressed++;
			t.compressed = name;
		} else if (ends_with_any(name, foreign, N_ELEMS(foreign))) {
			t.n_foreign++;
			t.foreign = name;
		} else {
			t.n_other++;
		}
	}
	return t;
}

static int format_infer(const struct tally *t, const char *entry, enum source_format *ret, struct err *e)
{
	char shown[256];

	if (t->n_tars == 0 && t->n_compressed > 0)
		return err_set(e, E_SPEC, "%s has compressed archives (such as %s): their members have no offsets; "
			"unpack them to plain tars", entry, str_printable(str_of(t->compressed), shown, sizeof(shown)));
	if (t->n_tars > 0 && t->n_images > 0)
		return err_set(e, E_SPEC, "%s has %zu tar archives and %zu images: say in the spec which are meant, by "
			"`format: webdataset` or `format: files`", entry, t->n_tars, t->n_images);
	if (t->n_tars == 0 && t->n_images == 0 && t->n_foreign > t->n_other)
		return err_set(e, E_SPEC, "%s: archives such as %s are not looked into; repack them as WebDataset tars, or say "
			"`format: files` in a spec to take each file as one sample's bytes", entry,
			str_printable(str_of(t->foreign), shown, sizeof(shown)));
	*ret = t->n_tars > 0 ? FORMAT_WEBDATASET : FORMAT_FILES;
	return 0;
}

/* What is no tar cannot be a shard. Other files often lie beside shards: statistics, tables, markers. */
static size_t keep_tars(struct data *d, struct data_source *s)
{
	size_t n = s->first, n_before = s->n;

	for (size_t i = s->first; i < s->first + n_before; i++)
		if (is_tar(data_name(d, &d->files.ptr[i])))
			d->files.ptr[n++] = d->files.ptr[i];
	s->n = n - s->first;
	d->files.n = n;
	return n_before - s->n;
}

/* The source's format, when the spec does not say, and which of its files count. */
static int source_settle(struct data *d, const struct spec_source *spec, struct data_source *s,
	void (*tell)(void *, const char *), void *ctx, struct err *e)
{
	struct tally t = tally_of(d, s);
	char words[512];
	size_t n_left;
	int r = 0;

	s->format = spec->format;
	if (s->format == FORMAT_INFER)
		r = format_infer(&t, spec->data[0], &s->format, e);
	if (r < 0 || s->format != FORMAT_WEBDATASET)
		return r;
	if (t.n_tars == 0)
		return s->n > 0 ? 0 : err_set(e, E_SPEC, "%s has no tar archives", spec->data[0]);
	n_left = keep_tars(d, s);
	if (n_left > 0) {
		snprintf(words, sizeof(words), "%.400s: %zu files that are no tar archives are not looked at",
			spec->data[0], n_left);
		tell(ctx, words);
	}
	return 0;
}

static int source_list(struct data *d, const struct spec_source *spec, void (*tell)(void *, const char *), void *ctx,
	struct err *e)
{
	struct data_source *s = &d->sources[d->n_sources++];
	int r = 0;

	s->first = d->files.n;
	for (unsigned i = 0; i < spec->n_data && r == 0; i++) {
		r = data_walk(d, spec->data[i], e);
		/* Some words name it already. */
		if (r < 0)
			return e && e->code && !str_starts(str_of(e->words), spec->data[i]) ?
				err_prefix(e, r, "%.200s: ", spec->data[i]) : r;
	}
	s->n = d->files.n - s->first;
	if (s->n == 0)
		return err_set(e, E_SPEC, "%s: there are no files", spec->data[0]);
	return source_settle(d, spec, s, tell, ctx, e);
}

/* Classes only when every file of every folder source has one, so that a label is never missing here and there. */
static int classes_find(struct data *d)
{
	struct str class;
	uint32_t number;
	int r;

	for (unsigned k = 0; k < d->n_sources; k++) {
		const struct data_source *s = &d->sources[k];

		for (size_t i = s->first; s->format == FORMAT_FILES && i < s->first + s->n; i++) {
			const struct data_file *f = &d->files.ptr[i];

			if (!data_class((struct str){data_name(d, f), f->name_n}, &class))
				return 0;
			r = names_add(&d->classes, class, &number);
			/* So many folders are no classes. */
			if (r == -E2BIG)
				return 0;
			if (r < 0)
				return r;
		}
	}
	d->has_class = d->classes.all.n > 0;
	return names_sort(&d->classes);
}

int data_list(const struct spec *spec, struct data *ret, void (*tell)(void *ctx, const char *words), void *ctx,
	struct err *e)
{
	int r = 0;

	if (spec->n_sources == 0 || spec->n_sources > SPEC_MAX_SOURCES)
		return err_set(e, E_SPEC, "the spec has %u sources; 1 to %u can be used", spec->n_sources, SPEC_MAX_SOURCES);
	for (unsigned i = 0; i < spec->n_sources && r == 0; i++) {
		if (spec->sources[i].n_data == 0)
			return err_set(e, E_SPEC, "source %u has no data", i + 1);
		r = source_list(ret, &spec->sources[i], tell, ctx, e);
	}
	return r < 0 ? r : classes_find(ret);
}
