/* SPDX-License-Identifier: Apache-2.0 */
/* From a field's keys to what it is: kinds, what depends on them, what does not fit together. */
#include "plan/spec_kind.h"

#include <string.h>

#include "base/scope.h"
#include "plan/spec_table.h"

/* Of ImageNet's training set, as everybody uses them since Torch7's fb.resnet.torch. */
const double spec_imagenet_mean[3] = {0.485, 0.456, 0.406};
const double spec_imagenet_std[3] = {0.229, 0.224, 0.225};

static const struct {
	const char *extension;
	enum field_kind kind;
} kinds[] = {
	{"jpg", FIELD_IMAGE},
	{"jpeg", FIELD_IMAGE},
	{"png", FIELD_IMAGE},
	{"webp", FIELD_IMAGE},
	{"txt", FIELD_TEXT},
	{"json", FIELD_TEXT},
	{"cls", FIELD_INT},
};

static const char *const kind_names[] = {
	[FIELD_IMAGE] = "image",
	[FIELD_BYTES] = "bytes",
	[FIELD_TEXT] = "text",
	[FIELD_INT] = "int",
	[FIELD_FLOAT] = "float",
	[FIELD_JSON] = "json",
};

const char *spec_kind_name(enum field_kind kind)
{
	return kind_names[kind];
}

enum field_kind spec_kind_of(const char *extension)
{
	const char *dot = strrchr(extension, '.');
	const char *last = dot ? dot + 1 : extension;

	for (size_t i = 0; i < N_ELEMS(kinds); i++) {
		if (str_cmp_nocase(str_of(last), str_of(kinds[i].extension)) == 0)
			return kinds[i].kind;
	}
	return FIELD_BYTES;
}

int spec_draft_init(struct spec_in *in, struct spec_draft *d, struct str name, unsigned line)
{
	int r;

	*d = (struct spec_draft){.line = line};
	if (!recipe_name_valid(name.p, name.n))
		return spec_refuse(in, line,
			"a field cannot be named %s; use 1 to %u visible ASCII characters without a slash or "
			"a dot at the front",
			spec_show(name).text, RECIPE_NAME_MAX - 1);
	memcpy(d->chain.name, name.p, name.n);
	for (unsigned i = 0; i < 3; i++)
		d->std[i] = 1;
	r = spec_defaults(in, "fields.*.decode", d);
	return r < 0 ? r : spec_defaults(in, "fields.*", d);
}

void spec_draft_release(struct spec_draft *d)
{
	for (unsigned i = 0; i < d->field.n_from; i++)
		mem_free(d->field.from[i]);
	mem_free(d->field.from);
	*d = (struct spec_draft){0};
}

static int name_is_from(struct spec_draft *d)
{
	if (d->field.from)
		return 0;
	d->field.from = mem_calloc(1, sizeof(*d->field.from));
	if (!d->field.from)
		return -ENOMEM;
	d->field.from[0] = mem_strdup(d->chain.name);
	d->field.n_from = d->field.from[0] != NULL;
	return d->field.n_from ? 0 : -ENOMEM;
}

static int refuse_mixture(struct spec_in *in, const struct spec_draft *d, const char *a, const char *b)
{
	return spec_refuse(in, d->line,
		"field `%s` comes from %s, which is %s, and %s, which is %s; say what it is with `as`, "
		"or make two fields",
		d->chain.name, spec_show(str_of(a)).text, kind_names[spec_kind_of(a)],
		spec_show(str_of(b)).text, kind_names[spec_kind_of(b)]);
}

/* What was written with `as`, else what all extensions are, else what the keys are for. */
static int decide_kind(struct spec_in *in, struct spec_draft *d)
{
	char *const *from = d->field.from;
	enum field_kind kind = spec_kind_of(from[0]);

	for (unsigned i = 1; !d->chain.kind && i < d->field.n_from; i++) {
		if (spec_kind_of(from[i]) != kind)
			return refuse_mixture(in, d, from[0], from[i]);
	}
	if (d->chain.kind)
		kind = d->chain.kind;
	else if (kind == FIELD_BYTES && d->image_key)
		kind = FIELD_IMAGE;
	if (kind != FIELD_IMAGE && d->image_key)
		return spec_refuse(in, d->line, "field `%s` is %s, but `%s` is for images; leave it out",
			d->chain.name, kind_names[kind], d->image_key->name);
	d->chain.kind = kind;
	return 0;
}

static enum dtype dtype_default(const struct recipe_field *f)
{
	if (f->kind == FIELD_INT)
		return DTYPE_INT64;
	if (f->kind == FIELD_FLOAT)
		return DTYPE_FLOAT64;
	return f->kind == FIELD_IMAGE && f->normalize ? DTYPE_FLOAT32 : DTYPE_UINT8;
}

static bool dtype_fits(const struct recipe_field *f)
{
	if (f->kind == FIELD_INT)
		return f->dtype == DTYPE_INT64;
	if (f->kind == FIELD_FLOAT)
		return f->dtype == DTYPE_FLOAT64 || f->dtype == DTYPE_FLOAT32;
	if (f->kind == FIELD_IMAGE)
		return f->dtype != DTYPE_INT64 && f->dtype != DTYPE_FLOAT64;
	return false;
}

static int decide_dtype(struct spec_in *in, struct spec_draft *d)
{
	struct recipe_field *f = &d->chain;

	if (!f->dtype) {
		f->dtype = dtype_default(f);
		return 0;
	}
	if (!dtype_fits(f))
		return spec_refuse(in, d->line, "field `%s` is %s, which cannot be %s; leave `dtype` out",
			f->name, kind_names[f->kind], dtype_name(f->dtype));
	if (f->normalize && f->dtype == DTYPE_UINT8)
		return spec_refuse(in, d->line,
			"field `%s` has `normalize`, whose numbers are no uint8; leave `dtype` out, "
			"or write dtype: float32",
			f->name);
	return 0;
}

static int decide_normalize(struct spec_in *in, struct spec_draft *d)
{
	struct recipe_field *f = &d->chain;
	unsigned n_channels = f->mode == DECODE_GRAY ? 1 : 3;

	if (f->normalize && f->mode == DECODE_KEEP)
		return spec_refuse(in, d->line,
			"field `%s` keeps its channels, whose number `normalize` must know; write decode: "
			"rgb or gray",
			f->name);
	if (f->normalize && (d->n_mean != n_channels || d->n_std != n_channels))
		return spec_refuse(in, d->line,
			"field `%s` is decoded to %u channel%s; `normalize` needs %u of mean and of std",
			f->name, n_channels, n_channels > 1 ? "s" : "", n_channels);
	for (unsigned i = 0; i < 3; i++) {
		f->mean[i] = d->mean[n_channels == 1 ? 0 : i];
		f->std[i] = d->std[n_channels == 1 ? 0 : i];
	}
	return 0;
}

static int check_missing(struct spec_in *in, const struct spec_draft *d)
{
	enum field_kind kind = d->chain.kind;

	if (d->field.on_missing == ON_MISSING_EMPTY && kind != FIELD_BYTES && kind != FIELD_TEXT &&
		kind != FIELD_JSON)
		return spec_refuse(in, d->line,
			"field `%s` is %s, which cannot be empty; write on_missing: skip or fail",
			d->chain.name, kind_names[kind]);
	return 0;
}

int spec_draft_finish(struct spec_in *in, struct spec_draft *d)
{
	int r = name_is_from(d);

	if (r == 0)
		r = decide_kind(in, d);
	if (r == 0)
		r = decide_normalize(in, d);
	if (r == 0)
		r = decide_dtype(in, d);
	if (r == 0)
		r = check_missing(in, d);
	/* Bytes and text have no shape to stack or pad: a batch is a list of them. */
	if (d->chain.kind == FIELD_BYTES || d->chain.kind == FIELD_TEXT || d->chain.kind == FIELD_JSON)
		d->chain.collate = COLLATE_RAGGED;
	return r;
}

int spec_draft_add(struct spec_in *in, struct spec_draft *d, struct spec *s)
{
	uint32_t i = s->recipe.n_fields;

	if (i >= RECIPE_MAX_FIELDS)
		return spec_refuse(in, d->line, "more than %u fields", RECIPE_MAX_FIELDS);
	if (!s->fields)
		s->fields = mem_calloc(RECIPE_MAX_FIELDS, sizeof(*s->fields));
	if (!s->fields)
		return -ENOMEM;
	d->chain.index = i;
	s->recipe.fields[i] = d->chain;
	s->fields[i] = d->field;
	s->recipe.n_fields++;
	d->field = (struct spec_field){0};
	return 0;
}
