/* SPDX-License-Identifier: Apache-2.0 */
/* A spec for data that came without one. doc/design/0007-spec.md says why it is so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/vec.h"
#include "plan/spec_kind.h"
#include "plan/spec_table.h"

#define MAX_EXTENSIONS 65536u

static int check_paths(struct spec_in *in, const char *const *paths, unsigned n_paths)
{
	size_t n_bytes = 0;

	if (n_paths == 0)
		return err_set(in->e, E_SPEC, "no path was given");
	for (unsigned i = 0; i < n_paths; i++) {
		size_t n = strlen(paths[i]);

		if (n == 0 || n >= SPEC_MAX_PATH)
			return err_set(in->e, E_SPEC, "path %u has %zu bytes; allowed are 1 to %u", i + 1, n,
				SPEC_MAX_PATH - 1);
		if (spec_utf8_end(paths[i], n) < n)
			return err_set(in->e, E_SPEC,
				"path %u is not UTF-8, as a spec must be; rename it, or name its folder", i + 1);
		n_bytes += n;
	}
	if (n_bytes > SPEC_MAX_BYTES / 4)
		return err_set(in->e, E_SPEC,
			"%u paths of %zu bytes together; quote a pattern, such as 'DIR/*.tar', so that the "
			"shell leaves it to us",
			n_paths, n_bytes);
	return 0;
}

static int fill_source(struct spec_source *s, const char *const *paths, unsigned n_paths)
{
	s->weight = 1;
	s->data = mem_calloc(n_paths, sizeof(*s->data));
	if (!s->data)
		return -ENOMEM;
	for (; s->n_data < n_paths; s->n_data++) {
		s->data[s->n_data] = mem_strdup(paths[s->n_data]);
		if (!s->data[s->n_data])
			return -ENOMEM;
	}
	return 0;
}

int spec_of_paths(const char *const *paths, unsigned n_paths, struct spec **ret, struct err *e)
{
	struct spec_in AUTO_SPEC_IN in;
	AUTO(spec) struct spec *s = NULL;
	int r;

	spec_in_init(&in, "inferred", e);
	r = check_paths(&in, paths, n_paths);
	if (r == 0)
		r = spec_new(&in, &s);
	if (r < 0)
		return r;
	s->sources = mem_calloc(1, sizeof(*s->sources));
	if (!s->sources)
		return -ENOMEM;
	s->n_sources = 1;
	r = spec_defaults(&in, "sources[]", &s->sources[0]);
	if (r == 0)
		r = fill_source(&s->sources[0], paths, n_paths);
	if (r < 0)
		return r;
	*ret = TAKE(s);
	return 0;
}

/* What the data has by one name; a group of image extensions is a candidate with several. */
struct candidate {
	const char *name;
	uint64_t n_with;
	const char *from[SPEC_MAX_FROM];
	unsigned n_from;
	bool is_class;
};

struct candidates {
	VEC(struct candidate) list;
};

static int candidate_cmp(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int candidate_case_cmp(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int r = str_cmp_nocase(str_of(x->name), str_of(y->name));

	return r ? r : strcmp(x->name, y->name);
}

/* Members are found whatever the case, so JPG and jpg are one; the commoner one gives the name. */
static void join_cases(struct candidates *c, uint64_t n_samples)
{
	size_t n_out = 0;

	qsort(c->list.ptr, c->list.n, sizeof(*c->list.ptr), candidate_case_cmp);
	for (size_t i = 0; i < c->list.n; i++) {
		struct candidate *one = &c->list.ptr[i], *last = n_out ? &c->list.ptr[n_out - 1] : NULL;

		if (!last || str_cmp_nocase(str_of(last->name), str_of(one->name)) != 0) {
			c->list.ptr[n_out++] = *one;
			continue;
		}
		if (one->n_with > last->n_with)
			last->name = last->from[0] = one->name;
		last->n_with = MIN(n_samples, last->n_with + MIN(one->n_with, n_samples));
	}
	c->list.n = n_out;
}

static void candidates_sort(struct candidates *c)
{
	qsort(c->list.ptr, c->list.n, sizeof(*c->list.ptr), candidate_cmp);
}

static int gather(struct candidates *c, const char *const *names, const uint64_t *n_with, unsigned n,
	uint64_t n_samples)
{
	for (unsigned i = 0; i < n; i++) {
		struct candidate one = {.name = names[i],
			.n_with = MIN(n_with[i], n_samples),
			.from = {names[i]},
			.n_from = 1};
		int r = recipe_name_valid(names[i], strlen(names[i])) && n_with[i] ? VEC_PUSH(&c->list, one) : 0;

		if (r < 0)
			return r;
	}
	if (c->list.n == 0)
		return 0;
	join_cases(c, n_samples);
	candidates_sort(c);
	return 0;
}

static bool is_plain_image(const struct candidate *c)
{
	return !strchr(c->name, '.') && spec_kind_of(c->name) == FIELD_IMAGE;
}

/* All plain images as one, as they are sorted; ret_first is the most frequent. False when that cannot be. */
static bool gather_images(const struct candidates *c, struct candidate *image, unsigned *ret_first, uint64_t *ret_most)
{
	*ret_most = 0;
	for (size_t i = 0; i < c->list.n; i++) {
		const struct candidate *one = &c->list.ptr[i];

		if (!is_plain_image(one) && strcmp(one->name, "image") != 0)
			continue;
		if (!is_plain_image(one) || image->n_from == SPEC_MAX_FROM)
			return false;
		if (one->n_with > *ret_most) {
			*ret_most = one->n_with;
			*ret_first = image->n_from;
		}
		image->from[image->n_from++] = one->name;
		image->n_with += MIN(one->n_with, UINT64_MAX - image->n_with);
	}
	return image->n_from >= 2;
}

static void put_first(struct candidate *image, unsigned first)
{
	const char *name = image->from[first];

	memmove(image->from + 1, image->from, first * sizeof(*image->from));
	image->from[0] = name;
}

/*
 * jpg here and png there: when no two can be in one sample, they are one field. So they are when some samples have
 * two, as long as most of the rarer ones stand alone: to ask for the most frequent would leave those out, and most of
 * what is a mask or a small copy stands beside its picture.
 */
static void join_images(struct candidates *c, uint64_t n_samples)
{
	struct candidate image = {.name = "image"};
	size_t n_out = 0;
	unsigned first = 0;
	uint64_t most;

	if (!gather_images(c, &image, &first, &most))
		return;
	if (image.n_with > n_samples) {
		if (image.n_with - n_samples > (image.n_with - most) / 2)
			return;
		put_first(&image, first);
		/* The sum no longer tells that all samples have one. */
		image.n_with = n_samples - 1;
	}
	for (size_t i = 0; i < c->list.n; i++) {
		if (!is_plain_image(&c->list.ptr[i]))
			c->list.ptr[n_out++] = c->list.ptr[i];
	}
	c->list.ptr[n_out++] = image;
	c->list.n = n_out;
	candidates_sort(c);
}

/* A stray README among pictures is no reason to leave the pictures out. */
static void drop_rare(struct candidates *c, uint64_t n_samples)
{
	size_t n_out = 0;

	for (size_t i = 0; i < c->list.n; i++) {
		if (c->list.ptr[i].n_with >= n_samples - n_samples / 2)
			c->list.ptr[n_out++] = c->list.ptr[i];
	}
	c->list.n = n_out;
}

static int copy_from(struct spec_draft *d, const struct candidate *c)
{
	d->field.from = mem_calloc(c->n_from, sizeof(*d->field.from));
	if (!d->field.from)
		return -ENOMEM;
	for (; d->field.n_from < c->n_from; d->field.n_from++) {
		d->field.from[d->field.n_from] = mem_strdup(c->from[d->field.n_from]);
		if (!d->field.from[d->field.n_from])
			return -ENOMEM;
	}
	return 0;
}

static int add_field(struct spec_in *in, const struct candidate *c, uint64_t n_samples, struct spec *s)
{
	struct spec_draft CLEANUP(spec_draft_release) d = {0};
	int r = spec_draft_init(in, &d, str_of(c->name), 1);

	if (r == 0)
		r = copy_from(&d, c);
	if (r < 0)
		return r;
	/* Nobody counted the files beside the folders of classes. */
	d.field.on_missing = c->is_class || c->n_with < n_samples ? ON_MISSING_SKIP : ON_MISSING_FAIL;
	r = spec_draft_finish(in, &d);
	return r < 0 ? r : spec_draft_add(in, &d, s);
}

static int add_fields(struct spec_in *in, const struct candidates *c, uint64_t n_samples, struct spec *s)
{
	int r = 0;

	if (n_samples == 0)
		return err_set(in->e, E_SPEC, "there is no sample in the data, so no field can be inferred");
	if (c->list.n > RECIPE_MAX_FIELDS)
		return err_set(in->e, E_SPEC,
			"the samples have members of %zu extensions, more than the %u fields that there can "
			"be; write a spec with `fields`",
			c->list.n, RECIPE_MAX_FIELDS);
	for (size_t i = 0; r == 0 && i < c->list.n; i++)
		r = add_field(in, &c->list.ptr[i], n_samples, s);
	return r;
}

/* The class of a folder is a field of its own, unless the data has one of that name. */
static int add_class(struct candidates *c)
{
	int r;

	for (size_t i = 0; i < c->list.n; i++) {
		if (str_cmp_nocase(str_of(c->list.ptr[i].name), str_of("cls")) == 0) {
			c->list.ptr[i].is_class = true;
			return 0;
		}
	}
	r = VEC_PUSH(&c->list,
		((struct candidate){.name = "cls", .from = {"cls"}, .n_from = 1, .is_class = true}));
	if (r == 0)
		candidates_sort(c);
	return r;
}

/* With a few of the extensions that there are: they are often of a kind that is not read. */
static int refuse_rare(const char *const *names, unsigned n, uint64_t n_samples, struct err *e)
{
	char found[200] = "";

	for (unsigned i = 0; i < n && i < 6; i++) {
		size_t at = strlen(found);

		snprintf(found + at, sizeof(found) - at, "%s%.24s", i ? ", " : "", names[i]);
	}
	return err_set(e, E_SPEC, "no extension is in at least half of the %llu samples, so no field can be inferred "
		"(there are: %s%s); pictures are jpg, jpeg, png, webp; write a spec with `fields` for others",
		(unsigned long long)n_samples, n ? found : "none", n > 6 ? ", .." : "");
}

static void candidates_release(struct candidates *c)
{
	vec_release(&c->list);
}

int spec_infer_fields(struct spec *s, const char *const *names, const uint64_t *n_with, unsigned n,
	uint64_t n_samples, bool has_class, struct err *e)
{
	struct spec_in AUTO_SPEC_IN in;
	struct candidates CLEANUP(candidates_release) c = {VEC_MAX(MAX_EXTENSIONS)};
	int r;

	spec_in_init(&in, "inferred", e);
	if (s->recipe.n_fields)
		return 0;
	r = gather(&c, names, n_with, n, n_samples);
	if (r < 0)
		return r;
	join_images(&c, n_samples);
	drop_rare(&c, n_samples);
	if (n_samples > 0 && c.list.n == 0)
		return refuse_rare(names, n, n_samples, e);
	/* A class alone is no data. */
	if (has_class && c.list.n)
		r = add_class(&c);
	if (r == 0)
		r = add_fields(&in, &c, n_samples, s);
	if (r == 0)
		spec_seal(s);
	return r;
}
