/* SPDX-License-Identifier: Apache-2.0 */
/* A field's keys: from the mapping in the spec, in the order written, to a chain of the recipe. */
#include <string.h>

#include "base/poly.h"
#include "base/scope.h"
#include "plan/spec_kind.h"
#include "plan/spec_table.h"

#define IMAGENET_TAIL "normalize: imagenet, dtype: float32, layout: chw"

static const struct transform {
	const char *name, *chain;
} transforms[] = {
	{"imagenet_train", "{random_resized_crop: 224, hflip: 0.5, " IMAGENET_TAIL "}"},
	{"imagenet_val", "{resize: 256, center_crop: 224, " IMAGENET_TAIL "}"},
};

const char *spec_transform_find(struct str name)
{
	for (size_t i = 0; i < N_ELEMS(transforms); i++) {
		if (str_eq(name, transforms[i].name))
			return transforms[i].chain;
	}
	return NULL;
}

int spec_bind_transform(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	const char *chain = n->kind == NODE_SCALAR ? spec_transform_find(n->text) : NULL;
	struct spec_draft *d = to;
	struct spec_node *map;
	int r;

	if (!chain)
		return spec_refuse_value(in, k, n);
	if (d->chain.n_steps)
		return spec_refuse(in, n->line, "`transform` stands beside `%s`; keep one of them",
			spec_key_of_step(d->chain.steps[0].kind)->name);
	if (d->late_key && d->late_key->stage > STAGE_DECODE)
		return spec_refuse(in, n->line,
			"`transform` stands after `%s`, which it brings itself; leave `%s` out, or write it after "
			"`transform`", d->late_key->name, d->late_key->name);
	r = spec_tree(in, chain, strlen(chain), &map);
	if (r < 0)
		return r;
	for (struct spec_node *c = map->first; c; c = c->next)
		c->line = n->line;
	r = spec_draft_bind(in, d, map);
	d->transformed = r == 0;
	return r;
}

static int check_extension(struct spec_in *in, const char *from, unsigned line)
{
	if (!recipe_name_valid(from, strlen(from)))
		return spec_refuse(in, line,
			"%s is not an extension; write 1 to %u visible ASCII characters without a slash or a "
			"dot before",
			spec_show(str_of(from)).text, RECIPE_NAME_MAX - 1);
	return 0;
}

int spec_bind_from(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec_draft *d = to;
	int r = spec_bind_texts(in, k, n, &d->field.from, &d->field.n_from);

	for (unsigned i = 0; r == 0 && i < d->field.n_from; i++)
		r = check_extension(in, d->field.from[i], n->line);
	if (r == 0 && d->field.n_from > SPEC_MAX_FROM)
		r = spec_refuse(in, n->line, "%u extensions in `from`; at most %u are allowed",
			d->field.n_from, SPEC_MAX_FROM);
	return r;
}

static int bind_side(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, uint32_t *ret)
{
	uint64_t v;

	if (n->kind != NODE_SCALAR || str_to_u64(n->text, &v) < 0)
		return spec_refuse_value(in, k, n);
	if (v < 1 || v > RECIPE_MAX_SIDE)
		return spec_refuse(in, n->line, "`%s` has a side of %s; allowed are 1 to %u", k->name,
			spec_show(n->text).text, RECIPE_MAX_SIDE);
	*ret = (uint32_t)v;
	return 0;
}

static int bind_sides(
	struct spec_in *in, const struct spec_key *k, const struct spec_node *n, struct recipe_step *s)
{
	int r;

	if (n->n != 2)
		return spec_refuse_value(in, k, n);
	r = bind_side(in, k, n->first, &s->h);
	return r < 0 ? r : bind_side(in, k, n->last, &s->w);
}

int spec_bind_square(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct recipe_step *s = &((struct spec_draft *)to)->step;
	int r;

	if (n->kind == NODE_LIST)
		return bind_sides(in, k, n, s);
	r = bind_side(in, k, n, &s->h);
	s->w = s->h;
	return r;
}

int spec_bind_shorter(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct recipe_step *s = &((struct spec_draft *)to)->step;

	return n->kind == NODE_LIST ? bind_sides(in, k, n, s) : bind_side(in, k, n, &s->h);
}

static bool has_step(const struct recipe_field *f, enum step_kind kind)
{
	for (unsigned i = 0; i < f->n_steps; i++) {
		if (f->steps[i].kind == kind)
			return true;
	}
	return false;
}

int spec_bind_step(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec_draft *d = to;
	int r = 0;

	if (has_step(&d->chain, k->step))
		return spec_refuse(in, n->line,
			"`%s` stands beside a `transform` that has it; keep one of them", k->name);
	d->step = (struct recipe_step){.kind = k->step};
	if (k->keys)
		r = spec_defaults(in, k->keys, d);
	if (r == 0 && k->keys && n->kind == NODE_MAP) {
		r = spec_bind_map(in, k->keys, n, d);
		if (r == 0 && !d->step.h)
			return spec_refuse(
				in, n->line, "`%s` lacks `size`; write %s: {size: 224}", k->name, k->name);
	} else if (r == 0) {
		r = k->value->bind(in, k, n, d);
	}
	/* Each kind is in a field once, so the steps of the array are never used up. */
	if (r == 0)
		d->chain.steps[d->chain.n_steps++] = d->step;
	return r;
}

/* One number (gray) or three; the count decides later, when the mode is known. */
int spec_bind_triple(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec_draft *d = to;
	bool mean = strcmp(k->name, "mean") == 0;
	double *v = mean ? d->mean : d->std;
	unsigned i = 0;

	if (n->kind != NODE_LIST || (n->n != 1 && n->n != 3))
		return spec_refuse_value(in, k, n);
	SPEC_NODE_EACH(c, n)
	{
		struct spec_key one = *k;
		int r;

		one.offset = 0;
		one.form = NULL;
		r = spec_bind_real(in, &one, c, &v[i++]);
		if (r < 0)
			return r;
	}
	*(mean ? &d->n_mean : &d->n_std) = n->n;
	return 0;
}

int spec_bind_normalize(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec_draft *d = to;
	int r;

	d->chain.normalize = true;
	if (n->kind == NODE_SCALAR && str_eq(n->text, "imagenet")) {
		memcpy(d->mean, spec_imagenet_mean, sizeof(d->mean));
		memcpy(d->std, spec_imagenet_std, sizeof(d->std));
		d->n_mean = d->n_std = 3;
		return 0;
	}
	if (n->kind != NODE_MAP)
		return spec_refuse_value(in, k, n);
	d->n_mean = d->n_std = 0;
	r = spec_bind_map(in, k->keys, n, d);
	if (r == 0 && (!d->n_mean || !d->n_std))
		return spec_refuse(in, n->line, "`normalize` lacks `%s`", d->n_mean ? "std" : "mean");
	return r;
}

/* Pixels are uint8 until they are turned into numbers at the end; keys that say otherwise would not be obeyed. */
static int check_stage(struct spec_in *in, struct spec_draft *d, const struct spec_key *k, unsigned line)
{
	if (k->stage == STAGE_ANY)
		return 0;
	if (d->late_key && d->late_key->stage > k->stage)
		return spec_refuse(in, line,
			"`%s` stands after `%s`, but keys run in the order written and it can only be done "
			"before; move it up",
			k->name, d->transformed ? "transform" : d->late_key->name);
	if (!d->late_key || d->late_key->stage < k->stage)
		d->late_key = k;
	return 0;
}

int spec_draft_bind(struct spec_in *in, struct spec_draft *d, const struct spec_node *map)
{
	SPEC_NODE_EACH(n, map)
	{
		const struct spec_key *k = NULL;
		int r = spec_key_of(in, "fields.*", n, &k);

		if (r == 0)
			r = check_stage(in, d, k, n->line);
		if (r == 0)
			r = k->type->bind(in, k, n, d);
		if (r < 0)
			return r;
		if (k->image && !d->image_key)
			d->image_key = k;
	}
	return 0;
}

static void step_seal(struct recipe_step *s, const struct spec *spec, const struct spec_field *f)
{
	s->key = philox_key_of(spec->seed, spec_key_of_step(s->kind)->name);
	s->draw = 0;
	for (unsigned i = 0; s->kind == STEP_RANDOM_RESIZED_CROP && i < 2; i++)
		s->log2_ratio[i] = log2_poly(f->ratio[i]);
}

void spec_seal(struct spec *s)
{
	for (unsigned i = 0; i < s->recipe.n_fields; i++) {
		for (unsigned j = 0; j < s->recipe.fields[i].n_steps; j++)
			step_seal(&s->recipe.fields[i].steps[j], s, &s->fields[i]);
	}
}
