/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec: what a training job wants of its data, in YAML (DESIGN.md section 4, "Samples"). One table
 * binds keys to fields here, and makes help and the man page; an unknown key is refused with its line and
 * the nearest key; a key whose feature is not built yet is refused by name (CONTRACTS C13).
 */
#ifndef OLDDOG_PLAN_SPEC_H
#define OLDDOG_PLAN_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "wire/recipe.h"

#define SPEC_MAX_BYTES (1u << 20)
#define SPEC_MAX_SOURCES 256
#define SPEC_MAX_RANGES 10000

enum source_format { FORMAT_INFER, FORMAT_WEBDATASET, FORMAT_FILES };
enum on_end { ON_END_STOP, ON_END_REPEAT, ON_END_DROP };
enum on_missing { ON_MISSING_SKIP, ON_MISSING_FAIL, ON_MISSING_EMPTY };
enum order_kind { ORDER_SEQUENTIAL, ORDER_SHUFFLE, ORDER_WINDOW };
enum tail { TAIL_SHORT, TAIL_DROP, TAIL_PAD, TAIL_CARRY };
enum on_bad { ON_BAD_STOP, ON_BAD_SKIP };

struct spec_source {
	char **data;			/* URLs: paths, globs, brace ranges */
	unsigned n_data;
	enum source_format format;
	double weight;			/* > 0; by default 1 for each source */
	bool weighted;			/* whether the spec gave it */
	enum on_end on_end;
};

struct spec_field {
	char **from;			/* extensions without the dot, tried in this order; "cls" is a folder's class */
	unsigned n_from;
	enum on_missing on_missing;
	double ratio[2];		/* of its random_resized_crop, as given; the recipe has their logarithms */
	/* recipe.fields[i] of the same number is the chain. */
};

struct spec_range {
	uint64_t first, last;		/* positions, inclusive */
};

struct spec {
	struct spec_source *sources;
	unsigned n_sources;
	struct spec_field *fields;	/* n_fields is recipe.n_fields; 0: to be inferred from the data */
	struct recipe recipe;
	uint64_t seed;
	enum order_kind order;
	uint64_t window;		/* ORDER_WINDOW: samples */
	uint32_t group;			/* ORDER_WINDOW: shards mixed with each other */
	uint64_t batch;			/* of all ranks together when global, else per rank */
	bool batch_is_global;
	enum tail tail;
	enum on_bad on_bad;
	uint32_t stop_above_ppm;	/* of the last 10,000 positions */
	struct spec_range *skip;	/* sorted, disjoint */
	unsigned n_skip;
};

void spec_free(struct spec *s);
DEFINE_AUTO(spec);

/* Parses n bytes of YAML. Defaults are filled in. E_SPEC with words that begin "NAME:LINE: ". */
int spec_parse(const char *name, const char *text, size_t n, struct spec **ret, struct err *e);
/* The spec of a bare path: sequential, seed 0, batch 32, no fields yet. */
int spec_of_paths(const char *const *paths, unsigned n_paths, struct spec **ret, struct err *e);
/*
 * Fills in fields that were left to inference, from the extensions that the data has (n counts parallel to
 * names); does nothing when there are fields. Extensions that less than half of the samples have become no
 * field, but image extensions that share the samples out among them, or nearly, become one field `image`. Extensions
 * that cannot be a field's name are passed over. has_class adds the field `cls`. E_SPEC when no field is
 * left, or more than RECIPE_MAX_FIELDS.
 */
int spec_infer_fields(struct spec *s, const char *const *names, const uint64_t *n_with, unsigned n,
	uint64_t n_samples, bool has_class, struct err *e);
/* A deep copy. -ENOMEM. */
int spec_copy(const struct spec *s, struct spec **ret);

/*
 * For `fields=` of a Loader: keeps these fields, in this order. Each keeps its number (recipe_field.index),
 * so that its random choices stay the same. E_SPEC with words when there is no such field; s is then as
 * before.
 */
int spec_select_fields(struct spec *s, const char *const *names, unsigned n, struct err *e);
/*
 * For `transform=` of a Loader: replaces the steps, normalize, dtype and layout of an image field (NULL: of
 * all image fields) by a named chain (imagenet_train, imagenet_val), or by one in YAML: "{resize: 256,
 * center_crop: 224}". decode and collate stay unless the chain has them. E_SPEC with words; s is then as
 * before.
 */
int spec_apply_transform(struct spec *s, const char *field, const char *name_or_yaml_chain, struct err *e);

/* Writes a spec that parses to the same, all defaults spelled out. (Numbers kept by spec_select_fields() are not.) */
int spec_write(const struct spec *s, struct buf *to);
/* fields_id: SHA-256 of the encoded recipe without limits and random keys, and of each field's extensions. */
int spec_fields_id(const struct spec *s, uint8_t ret[32]);
/* The list of all keys with their defaults and meaning, for --help; from the table. */
void spec_help(struct buf *to);
/* The man page olddog-spec(5) in scdoc's format, from the same table. */
void spec_page(struct buf *to);

#endif
