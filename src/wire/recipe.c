/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes as bytes: what a kind of field or step does not use is not written, so equal chains have equal bytes. */
#include "wire/recipe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/rd.h"
#include "base/scope.h"

#define RECIPE_MAGIC 0x4352444fu /* "ODRC" */

enum { USES_SIZE = 1, USES_SHORTER = 2, USES_INTERPOLATION = 4, USES_P = 8, USES_BOX = 16, USES_RANDOM = 32 };

static const unsigned step_uses[] = {
	[STEP_RESIZE] = USES_SIZE | USES_SHORTER | USES_INTERPOLATION,
	[STEP_CENTER_CROP] = USES_SIZE,
	[STEP_RANDOM_CROP] = USES_SIZE | USES_RANDOM,
	[STEP_RANDOM_RESIZED_CROP] = USES_SIZE | USES_INTERPOLATION | USES_BOX | USES_RANDOM,
	[STEP_HFLIP] = USES_P | USES_RANDOM,
	[STEP_VFLIP] = USES_P | USES_RANDOM,
	[STEP_GRAYSCALE] = USES_P | USES_RANDOM,
	[STEP_PAD] = USES_SIZE,
};

#define DTYPE_BIT(d) (1u << (d))

static const unsigned kind_dtypes[] = {
	[FIELD_IMAGE] = DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16) |
		DTYPE_BIT(DTYPE_FLOAT32),
	[FIELD_BYTES] = DTYPE_BIT(DTYPE_UINT8),
	[FIELD_TEXT] = DTYPE_BIT(DTYPE_UINT8),
	[FIELD_INT] = DTYPE_BIT(DTYPE_INT64),
	[FIELD_FLOAT] = DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT64),
	[FIELD_JSON] = DTYPE_BIT(DTYPE_UINT8),
};

static const struct dtype_row {
	const char *name;
	unsigned n_bytes;
} dtypes[] = {
	[DTYPE_UINT8] = {"uint8", 1},	    [DTYPE_INT64] = {"int64", 8},     [DTYPE_FLOAT16] = {"float16", 2},
	[DTYPE_BFLOAT16] = {"bfloat16", 2}, [DTYPE_FLOAT32] = {"float32", 4}, [DTYPE_FLOAT64] = {"float64", 8},
};

unsigned dtype_bytes(enum dtype d)
{
	return dtypes[d].n_bytes;
}

const char *dtype_name(enum dtype d)
{
	return dtypes[d].name;
}

static void put_double(struct buf *to, double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	buf_u64(to, bits);
}

static void put_step(struct buf *to, const struct recipe_step *s)
{
	unsigned uses = s->kind < N_ELEMS(step_uses) ? step_uses[s->kind] : 0;

	buf_u8(to, (uint8_t)s->kind);
	if (uses & USES_SIZE) {
		buf_u32(to, s->h);
		buf_u32(to, s->w);
	}
	if (uses & USES_INTERPOLATION)
		buf_u8(to, (uint8_t)s->interpolation);
	if (uses & USES_P)
		put_double(to, s->p);
	for (unsigned i = 0; uses & USES_BOX && i < 2; i++) {
		put_double(to, s->scale[i]);
		put_double(to, s->log2_ratio[i]);
	}
	if (uses & USES_RANDOM) {
		buf_u32(to, s->key.k[0]);
		buf_u32(to, s->key.k[1]);
		buf_u32(to, s->draw);
	}
}

static void put_image(struct buf *to, const struct recipe_field *f)
{
	buf_u8(to, (uint8_t)f->mode);
	buf_u8(to, (uint8_t)f->orientation);
	buf_u8(to, (uint8_t)f->layout);
	buf_u8(to, f->normalize);
	for (unsigned i = 0; f->normalize && i < 3; i++) {
		put_double(to, f->mean[i]);
		put_double(to, f->std[i]);
	}
	buf_u8(to, (uint8_t)f->n_steps);
	for (unsigned i = 0; i < f->n_steps; i++)
		put_step(to, &f->steps[i]);
}

static int put_field(struct buf *to, const struct recipe_field *f)
{
	size_t n_name = strnlen(f->name, sizeof(f->name));

	if (n_name == sizeof(f->name) || f->n_steps > RECIPE_MAX_STEPS)
		return -EINVAL;
	buf_u8(to, (uint8_t)n_name);
	buf_add(to, f->name, n_name);
	buf_u8(to, (uint8_t)f->kind);
	buf_u32(to, f->index);
	buf_u8(to, (uint8_t)f->dtype);
	buf_u8(to, (uint8_t)f->collate);
	if (f->kind == FIELD_IMAGE)
		put_image(to, f);
	return to->r;
}

int recipe_encode(const struct recipe *recipe, struct buf *to)
{
	int r = 0;

	if (recipe->n_fields > RECIPE_MAX_FIELDS)
		return -EINVAL;
	buf_u32(to, RECIPE_MAGIC);
	buf_u32(to, RECIPE_VERSION);
	buf_u8(to, (uint8_t)recipe->resample);
	buf_u64(to, recipe->max_pixels);
	buf_u64(to, recipe->max_bytes);
	buf_u8(to, (uint8_t)recipe->n_fields);
	for (unsigned i = 0; r == 0 && i < recipe->n_fields; i++)
		r = put_field(to, &recipe->fields[i]);
	return r < 0 ? r : to->r;
}

/* What is being read, and the first thing that was wrong with it. */
struct taker {
	struct rd rd;
	const char *field;
	struct err *e;
	int r;
};

static void __attribute__((format(printf, 2, 3))) refuse(struct taker *t, const char *fmt, ...)
{
	char words[160];
	va_list ap;

	if (t->r < 0)
		return;
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	t->r = t->field ? err_set(t->e, E_FORMAT, "recipe, field %s: %s", t->field, words) :
			  err_set(t->e, E_FORMAT, "recipe: %s", words);
}

static uint32_t take_enum(struct taker *t, const char *what, uint32_t last)
{
	uint32_t v = rd_u8(&t->rd);

	if (!t->rd.bad && (v < 1 || v > last))
		refuse(t, "%s cannot be %u", what, v);
	return v;
}

static bool take_bool(struct taker *t, const char *what)
{
	uint8_t v = rd_u8(&t->rd);

	if (v > 1)
		refuse(t, "%s cannot be %u", what, v);
	return v == 1;
}

/* A number within bounds that are themselves allowed; NaN is within none. */
static double take_double(struct taker *t, const char *what, double min, double max)
{
	uint64_t bits = rd_u64(&t->rd);
	double d;

	memcpy(&d, &bits, sizeof(d));
	if (!t->rd.bad && !(d >= min && d <= max))
		refuse(t, "%s cannot be %g, but from %g to %g", what, d, min, max);
	return d;
}

static uint64_t take_u64(struct taker *t, const char *what, uint64_t max)
{
	uint64_t v = rd_u64(&t->rd);

	if (!t->rd.bad && (v < 1 || v > max))
		refuse(t, "%s cannot be %llu, but up to %llu", what, (unsigned long long)v, (unsigned long long)max);
	return v;
}

static void take_size(struct taker *t, unsigned uses, struct recipe_step *s)
{
	s->h = rd_u32(&t->rd);
	s->w = rd_u32(&t->rd);
	if (t->rd.bad)
		return;
	if (s->h < 1 || s->h > RECIPE_MAX_SIDE)
		refuse(t, "a step's height cannot be %u", s->h);
	if ((s->w < 1 && !(uses & USES_SHORTER)) || s->w > RECIPE_MAX_SIDE)
		refuse(t, "a step's width cannot be %u", s->w);
}

static void take_box(struct taker *t, struct recipe_step *s)
{
	for (unsigned i = 0; i < 2; i++) {
		s->scale[i] = take_double(t, "a scale", 0, 1);
		s->log2_ratio[i] = take_double(t, "log2 of a ratio", -RECIPE_MAX_LOG2_RATIO, RECIPE_MAX_LOG2_RATIO);
	}
	if (!(s->scale[0] > 0) || s->scale[0] > s->scale[1])
		refuse(t, "scale cannot be from %g to %g", s->scale[0], s->scale[1]);
	if (s->log2_ratio[0] > s->log2_ratio[1])
		refuse(t, "log2 of the ratio cannot be from %g to %g", s->log2_ratio[0], s->log2_ratio[1]);
}

static void take_step(struct taker *t, struct recipe_step *s)
{
	unsigned uses;

	s->kind = take_enum(t, "the kind of a step", STEP_PAD);
	if (t->r < 0 || t->rd.bad)
		return;
	uses = step_uses[s->kind];
	if (uses & USES_SIZE)
		take_size(t, uses, s);
	if (uses & USES_INTERPOLATION)
		s->interpolation = take_enum(t, "the interpolation", INTERPOLATION_BICUBIC);
	if (uses & USES_P)
		s->p = take_double(t, "a probability", 0, 1);
	if (uses & USES_BOX)
		take_box(t, s);
	if (uses & USES_RANDOM) {
		s->key.k[0] = rd_u32(&t->rd);
		s->key.k[1] = rd_u32(&t->rd);
		s->draw = rd_u32(&t->rd);
		if (s->draw % 256 || s->draw >= 256 * RECIPE_MAX_STEPS)
			refuse(t, "a step's first draw cannot be %u", s->draw);
	}
}

static void take_image(struct taker *t, struct recipe_field *f)
{
	f->mode = take_enum(t, "the mode", DECODE_KEEP);
	f->orientation = take_enum(t, "the orientation", ORIENTATION_IGNORE);
	f->layout = take_enum(t, "the layout", LAYOUT_CHW);
	f->normalize = take_bool(t, "normalize");
	if (f->normalize && f->dtype == DTYPE_UINT8)
		refuse(t, "normalize needs a dtype of floats, not uint8");
	for (unsigned i = 0; f->normalize && i < 3; i++) {
		f->mean[i] = take_double(t, "a mean", -RECIPE_MAX_MEAN, RECIPE_MAX_MEAN);
		f->std[i] = take_double(t, "a standard deviation", 1 / RECIPE_MAX_MEAN, RECIPE_MAX_MEAN);
	}
	f->n_steps = rd_u8(&t->rd);
	if (f->n_steps > RECIPE_MAX_STEPS)
		refuse(t, "%u steps, more than %u", f->n_steps, RECIPE_MAX_STEPS);
	for (unsigned i = 0; t->r == 0 && i < f->n_steps; i++)
		take_step(t, &f->steps[i]);
}

bool recipe_name_valid(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			return false;
	}
	return n > 0 && n < RECIPE_NAME_MAX && name[0] != '.';
}

static void take_name(struct taker *t, const struct recipe *recipe, struct recipe_field *f)
{
	uint8_t n = rd_u8(&t->rd);
	const char *name = (const char *)rd_bytes(&t->rd, n);

	t->field = NULL;
	if (!name)
		return;
	if (!recipe_name_valid(name, n)) {
		refuse(t, "a name of %u bytes that is not 1 to %u visible characters without a slash", n,
			RECIPE_NAME_MAX - 1);
		return;
	}
	memcpy(f->name, name, n);
	t->field = f->name;
	for (const struct recipe_field *other = recipe->fields; other != f; other++) {
		if (strcmp(other->name, f->name) == 0)
			refuse(t, "two fields have this name");
	}
}

static void take_field(struct taker *t, const struct recipe *recipe, struct recipe_field *f)
{
	take_name(t, recipe, f);
	f->kind = take_enum(t, "the kind", FIELD_JSON);
	f->index = rd_u32(&t->rd);
	if (f->index >= RECIPE_MAX_FIELDS)
		refuse(t, "its index cannot be %u", f->index);
	f->dtype = take_enum(t, "the dtype", DTYPE_FLOAT64);
	f->collate = take_enum(t, "collate", COLLATE_RAGGED);
	if (t->r < 0 || t->rd.bad)
		return;
	if (!(kind_dtypes[f->kind] & DTYPE_BIT(f->dtype)))
		refuse(t, "its kind has no dtype %s", dtype_name(f->dtype));
	if (f->kind == FIELD_IMAGE)
		take_image(t, f);
}

static void take_recipe(struct taker *t, struct recipe *recipe)
{
	recipe->resample = take_enum(t, "the resampling rule", RESAMPLE_PILLOW_12);
	recipe->max_pixels = take_u64(t, "the limit of pixels", RECIPE_MAX_PIXELS);
	recipe->max_bytes = take_u64(t, "the limit of bytes", RECIPE_MAX_BYTES);
	recipe->n_fields = rd_u8(&t->rd);
	if (!t->rd.bad && (recipe->n_fields < 1 || recipe->n_fields > RECIPE_MAX_FIELDS))
		refuse(t, "the number of fields cannot be %u", recipe->n_fields);
	for (unsigned i = 0; t->r == 0 && !t->rd.bad && i < recipe->n_fields; i++)
		take_field(t, recipe, &recipe->fields[i]);
}

int recipe_decode(const void *p, size_t n, struct recipe *ret, struct err *e)
{
	struct taker t = {.rd = rd_of(p, n), .e = e};
	AUTO_FREE struct recipe *recipe = mem_zalloc(sizeof(*recipe));
	uint32_t magic = rd_u32(&t.rd), version = rd_u32(&t.rd);

	if (!recipe)
		return -ENOMEM;
	if (t.rd.bad || magic != RECIPE_MAGIC)
		return err_set(e, E_FORMAT, "these %zu bytes are not a recipe", n);
	if (version != RECIPE_VERSION)
		return err_set(e, E_FORMAT, "the recipe has version %u, this program knows %u: use equal releases on both sides",
			version, RECIPE_VERSION);
	take_recipe(&t, recipe);
	if (t.r < 0)
		return t.r;
	if (t.rd.bad)
		return err_set(e, E_FORMAT, "the recipe ends in the middle, after %zu bytes", n);
	if (rd_left(&t.rd) > 0)
		return err_set(e, E_FORMAT, "the recipe has %zu bytes behind its end", rd_left(&t.rd));
	*ret = *recipe;
	return 0;
}

/* As torchvision: int(h * long / short); exact here, since the quotient is far below 2^53. */
static bool resize_shape(const struct recipe_step *s, bool known, uint32_t *h, uint32_t *w)
{
	uint64_t shorter = MIN(*h, *w), longer = MAX(*h, *w), other;

	if (s->w) {
		*h = s->h;
		*w = s->w;
		return true;
	}
	if (!known)
		return false;
	other = s->h * longer / shorter;
	if (other > RECIPE_MAX_SIDE)
		return false;
	*w = *w == shorter ? s->h : (uint32_t)other;
	*h = *h == shorter ? s->h : (uint32_t)other;
	return true;
}

static bool step_shape(const struct recipe_step *s, bool known, uint32_t *h, uint32_t *w)
{
	switch (s->kind) {
	case STEP_RESIZE:
		return resize_shape(s, known, h, w);
	case STEP_CENTER_CROP:
	case STEP_RANDOM_CROP:
	case STEP_RANDOM_RESIZED_CROP:
		*h = s->h;
		*w = s->w;
		return true;
	case STEP_PAD:
		*h = MAX(*h, s->h);
		*w = MAX(*w, s->w);
		return known;
	default:
		return known;
	}
}

bool recipe_fixed_shape(const struct recipe_field *f, uint32_t *ret_h, uint32_t *ret_w, uint32_t *ret_c)
{
	uint32_t h = 0, w = 0;
	bool known = false;

	if (f->kind != FIELD_IMAGE || f->mode == DECODE_KEEP)
		return false;
	for (unsigned i = 0; i < f->n_steps; i++)
		known = step_shape(&f->steps[i], known, &h, &w);
	if (!known)
		return false;
	*ret_h = h;
	*ret_w = w;
	*ret_c = f->mode == DECODE_GRAY ? 1 : 3;
	return true;
}
