/* SPDX-License-Identifier: Apache-2.0 */
/* Chains from text, by a table. */
#include "chain.h"

#include "base/poly.h"
#include "base/scope.h"
#include "base/str.h"

struct chain {
	struct recipe *recipe;
	struct recipe_field *field;
	uint64_t seed;
	struct str args;
	int r;
};

static struct str take_arg(struct chain *c)
{
	return str_split(&c->args, ',');
}

static uint64_t take_u64(struct chain *c)
{
	uint64_t v = 0;

	if (str_to_u64(take_arg(c), &v) < 0)
		c->r = -EINVAL;
	return v;
}

static double take_double(struct chain *c)
{
	double v = 0.0;

	if (str_to_double(take_arg(c), &v) < 0)
		c->r = -EINVAL;
	return v;
}

/* Position of the word in a list that ends with NULL, from 1. */
static unsigned take_word(struct chain *c, const char *const *words)
{
	struct str arg = take_arg(c);

	for (unsigned i = 0; words[i]; i++) {
		if (str_eq(arg, words[i]))
			return i + 1;
	}
	c->r = -EINVAL;
	return 1;
}

static enum interpolation take_filter(struct chain *c)
{
	return take_word(c, (const char *const[]){"box", "bilinear", "bicubic", NULL});
}

static void take_size(struct chain *c, struct recipe_step *s)
{
	s->h = (uint32_t)take_u64(c);
	s->w = (uint32_t)take_u64(c);
}

static void take_resize(struct chain *c, struct recipe_step *s)
{
	take_size(c, s);
	s->interpolation = take_filter(c);
}

static void take_random_resized_crop(struct chain *c, struct recipe_step *s)
{
	take_resize(c, s);
	for (unsigned i = 0; i < 2; i++)
		s->scale[i] = take_double(c);
	for (unsigned i = 0; i < 2; i++)
		s->log2_ratio[i] = log2_poly(take_double(c));
}

static void take_p(struct chain *c, struct recipe_step *s)
{
	s->p = take_double(c);
}

static const struct step_word {
	const char *name;
	enum step_kind kind;
	void (*take)(struct chain *c, struct recipe_step *s);
} step_words[] = {
	{"resize", STEP_RESIZE, take_resize},
	{"center_crop", STEP_CENTER_CROP, take_size},
	{"random_crop", STEP_RANDOM_CROP, take_size},
	{"random_resized_crop", STEP_RANDOM_RESIZED_CROP, take_random_resized_crop},
	{"hflip", STEP_HFLIP, take_p},
	{"vflip", STEP_VFLIP, take_p},
	{"grayscale", STEP_GRAYSCALE, take_p},
	{"pad", STEP_PAD, take_size},
};

static void add_step(struct chain *c, const struct step_word *word)
{
	struct recipe_field *f = c->field;
	struct recipe_step *s = &f->steps[f->n_steps];

	if (f->n_steps == RECIPE_MAX_STEPS) {
		c->r = -EINVAL;
		return;
	}
	*s = (struct recipe_step){.kind = word->kind, .key = philox_key_of(c->seed, word->name)};
	for (uint32_t i = 0; i < f->n_steps; i++)
		s->draw += f->steps[i].kind == s->kind ? 256 : 0;
	word->take(c, s);
	f->n_steps++;
}

static void add_setting(struct chain *c, struct str name)
{
	if (str_eq(name, "mode"))
		c->field->mode = take_word(c, (const char *const[]){"rgb", "gray", "keep", NULL});
	else if (str_eq(name, "orientation"))
		c->field->orientation = take_word(c, (const char *const[]){"apply", "ignore", NULL});
	else if (str_eq(name, "resample"))
		c->recipe->resample = take_word(c, (const char *const[]){"13", "12", NULL});
	else if (str_eq(name, "max_pixels"))
		c->recipe->max_pixels = take_u64(c);
	else if (str_eq(name, "max_bytes"))
		c->recipe->max_bytes = take_u64(c);
	else
		c->r = -EINVAL;
}

static void add_word(struct chain *c, struct str word)
{
	struct str name = str_split(&word, '=');

	c->args = word;
	for (unsigned i = 0; i < N_ELEMS(step_words); i++) {
		if (str_eq(name, step_words[i].name)) {
			add_step(c, &step_words[i]);
			return;
		}
	}
	add_setting(c, name);
}

int chain_parse(const char *text, uint64_t seed, struct recipe *ret)
{
	struct chain c = {.recipe = ret, .field = &ret->fields[0], .seed = seed};
	struct str rest = str_of(text);

	*ret = (struct recipe){.resample = RESAMPLE_PILLOW_13, .max_pixels = 1u << 28, .max_bytes = 1u << 30, .n_fields = 1};
	*c.field = (struct recipe_field){.name = "image", .kind = FIELD_IMAGE, .mode = DECODE_RGB,
		.orientation = ORIENTATION_APPLY, .dtype = DTYPE_UINT8, .layout = LAYOUT_HWC, .collate = COLLATE_STACK};
	while (rest.n > 0 && c.r == 0)
		add_word(&c, str_split(&rest, ';'));
	return c.r;
}
