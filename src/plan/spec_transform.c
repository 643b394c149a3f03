/* SPDX-License-Identifier: Apache-2.0 */
/* A Loader's `transform=`: another chain for the images of a spec. */
#include <string.h>

#include "base/scope.h"
#include "plan/spec_kind.h"
#include "plan/spec_table.h"

/* A chain's keys, and none of those that say where a field comes from. */
static int check_keys(struct spec_in *in, const struct spec_node *map)
{
	SPEC_NODE_EACH(n, map)
	{
		const struct spec_key *k = NULL;
		int r = spec_key_of(in, "fields.*", n, &k);

		if (r < 0)
			return r;
		if (k->stage == STAGE_ANY && !k->image)
			return spec_refuse(in, n->line,
				"`%s` belongs into a spec; a transform has steps, normalize, dtype, layout",
				k->name);
	}
	return 0;
}

static int parse_chain(struct spec_in *in, const char *chain, struct spec_node **ret)
{
	const char *named = spec_transform_find(str_of(chain));
	int r = spec_tree(in, named ? named : chain, strlen(named ? named : chain), ret);

	if (r < 0)
		return r;
	if ((*ret)->kind != NODE_MAP)
		return spec_refuse(in, 1,
			"%s is no transform; use imagenet_train, imagenet_val, or a chain such as "
			"{resize: 256, center_crop: 224}",
			spec_show(str_of(chain)).text);
	return check_keys(in, *ret);
}

/* The new chain of field i; what a transform does not say of decoding and collating is as it was. */
static int chain_of(struct spec_in *in, const struct spec *s, unsigned i, const struct spec_node *map,
	struct spec_draft *d)
{
	const struct recipe_field *old = &s->recipe.fields[i];
	int r = spec_draft_init(in, d, str_of(old->name), 1);

	if (r < 0)
		return r;
	d->chain.mode = old->mode;
	d->chain.orientation = old->orientation;
	d->chain.collate = old->collate;
	r = spec_draft_bind(in, d, map);
	if (r < 0)
		return r;
	d->chain.kind = FIELD_IMAGE;
	r = spec_draft_finish(in, d);
	d->chain.index = old->index;
	return r;
}

static int apply_one(struct spec_in *in, const struct spec *s, unsigned i, const struct spec_node *map,
	struct recipe_field *ret_chain, double ret_ratio[2])
{
	struct spec_draft CLEANUP(spec_draft_release) d = {0};
	const struct recipe_field *f = &s->recipe.fields[i];
	int r;

	if (f->kind != FIELD_IMAGE)
		return spec_refuse(in, 1, "field `%s` is %s; only images can be transformed", f->name,
			spec_kind_name(f->kind));
	r = chain_of(in, s, i, map, &d);
	if (r < 0)
		return r;
	*ret_chain = d.chain;
	memcpy(ret_ratio, d.field.ratio, sizeof(d.field.ratio));
	return 0;
}

static bool is_meant(const struct recipe_field *f, const char *field)
{
	return field ? strcmp(f->name, field) == 0 : f->kind == FIELD_IMAGE;
}

/* Into chains and ratio first, so that a failure leaves the spec as it was. */
static int apply_all(struct spec_in *in, struct spec *s, const char *field, const struct spec_node *map)
{
	AUTO_FREE struct recipe *recipe = mem_dup(&s->recipe, sizeof(s->recipe));
	double ratio[RECIPE_MAX_FIELDS][2];
	unsigned n = 0;
	int r = recipe ? 0 : -ENOMEM;

	for (unsigned i = 0; r == 0 && i < s->recipe.n_fields; i++) {
		memcpy(ratio[i], s->fields[i].ratio, sizeof(ratio[i]));
		if (!is_meant(&s->recipe.fields[i], field))
			continue;
		n++;
		r = apply_one(in, s, i, map, &recipe->fields[i], ratio[i]);
	}
	if (r < 0)
		return r;
	if (!n)
		return field ? spec_refuse(in, 1, "there is no field %s", spec_show(str_of(field)).text)
			     : spec_refuse(in, 1, "there is no image among the fields");
	s->recipe = *recipe;
	for (unsigned i = 0; i < s->recipe.n_fields; i++)
		memcpy(s->fields[i].ratio, ratio[i], sizeof(ratio[i]));
	spec_seal(s);
	return 0;
}

int spec_apply_transform(struct spec *s, const char *field, const char *name_or_yaml_chain, struct err *e)
{
	struct spec_in AUTO_SPEC_IN in;
	struct spec_node *map;
	int r;

	spec_in_init(&in, "transform", e);
	r = parse_chain(&in, name_or_yaml_chain, &map);
	return r < 0 ? r : apply_all(&in, s, field, map);
}
