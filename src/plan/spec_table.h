/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of a spec's keys, for plan/spec*.c only. A row says where a key may stand, how its value is
 * written, what holds without it, where the value goes and what it means. Parsing, defaults, writing, help
 * and man page are walks over it; a new key is a row, and a type when none fits.
 *
 * A section is a path: "" is the top, "sources[]" each source, "fields.*" each field, "order.shuffle" what
 * is in there. Values go into the section's struct at the row's offset: struct spec for the top and what is
 * nested in it, struct spec_source for sources[], struct spec_draft for fields.* and what is nested in
 * them.
 */
#ifndef OLDDOG_PLAN_SPEC_TABLE_H
#define OLDDOG_PLAN_SPEC_TABLE_H

#include "plan/spec.h"
#include "plan/spec_yaml.h"

struct spec_key;
struct spec_out;

/* A value's kind: how it is read, written, and described. */
struct key_type {
	int (*bind)(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
	void (*write)(struct spec_out *out, const struct spec_key *k, const void *from);
	bool (*absent)(const struct spec_key *k, const void *from); /* not to be written; NULL: always written */
};

/* What may be written for an enumeration's value. */
struct spec_word {
	const char *text;		/* NULL ends the list */
	int value;
	bool unbuilt;			/* known, refused by name */
};

/* When a key acts on an image: no key of an earlier stage may follow one of a later. */
enum key_stage { STAGE_ANY, STAGE_DECODE, STAGE_STEP, STAGE_FINISH };

struct spec_key {
	const char *in, *name;
	const struct key_type *type;	/* NULL: not built yet */
	const struct key_type *value;	/* of a step or group: its short form, when it has one */
	const char *keys;		/* the section of its value, when that may be a mapping */
	const char *form;		/* what may be written, when type and limits do not say it */
	const char *by_default;		/* YAML, bound when the key is absent; NULL: none */
	const char *otherwise;		/* words on what holds without it; neither this nor a default: required */
	const char *help;
	const struct spec_word *words;
	uint64_t min, max;		/* whole numbers */
	double low, high;		/* reals */
	size_t offset;
	unsigned step;			/* enum step_kind */
	enum key_stage stage;
	bool image;			/* makes its field an image */
};

/* A field while it is being bound or written. */
struct spec_draft {
	struct spec_field field;
	struct recipe_field chain;	/* kind 0 and dtype 0: not given */
	struct recipe_step step;	/* the one being bound or written */
	const struct spec_key *image_key, *late_key; /* the first that makes it an image; that reached the latest stage */
	double mean[3], std[3];
	unsigned n_mean, n_std, line;
	bool transformed;		/* late_key came by `transform` */
};

extern const struct spec_key spec_keys[];
extern const unsigned spec_n_keys;

/* The next row of a section after k (NULL: its first), or NULL. */
const struct spec_key *spec_key_next(const char *section, const struct spec_key *k);
const struct spec_key *spec_key_find(const char *section, struct str name);
/* The row in `fields.*` of a kind of step. */
const struct spec_key *spec_key_of_step(enum step_kind kind);
/* "a number from 0 to 1", "short | drop", ... */
void spec_key_form(const struct spec_key *k, struct buf *to);

/* spec_bind.c: nodes into structs. All give E_SPEC with words, or -ENOMEM. */
int spec_defaults(struct spec_in *in, const char *section, void *to);
/* The row of an entry of a section: unknown ones and those that are not built are refused with words. */
int spec_key_of(struct spec_in *in, const char *section, const struct spec_node *n, const struct spec_key **ret);
int spec_bind_map(struct spec_in *in, const char *section, const struct spec_node *map, void *to);
/* "`tail` is `shrot`; write short | drop | pad | carry" */
int spec_refuse_value(struct spec_in *in, const struct spec_key *k, const struct spec_node *n);
int spec_bind_word(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_u64(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_u32(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_size(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_real(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_pair(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_share(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_group(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
/* A text, or a list of them, into a new array of strings. ret and ret_n hold what there is of it also when it fails. */
int spec_bind_texts(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, char ***ret, unsigned *ret_n);

/* spec_top.c: sources, order, batch, ranges. */
int spec_bind_sources(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_data(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_weight(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_order(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_batch(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_skip(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_fields(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);

/* spec_chain.c: a field's keys. */
int spec_bind_from(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_step(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_square(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_shorter(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_normalize(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_triple(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);
int spec_bind_transform(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to);

/* A field with the defaults of the table, and no `from`. */
int spec_draft_init(struct spec_in *in, struct spec_draft *d, struct str name, unsigned line);
void spec_draft_release(struct spec_draft *d);
int spec_draft_bind(struct spec_in *in, struct spec_draft *d, const struct spec_node *map);
/* Decides the kind, fills in what depends on it, refuses what does not fit together. */
int spec_draft_finish(struct spec_in *in, struct spec_draft *d);
/* Moves it into s as its next field; s->fields has room for RECIPE_MAX_FIELDS. */
int spec_draft_add(struct spec_in *in, struct spec_draft *d, struct spec *s);
/* Numbers that depend on the whole spec: random keys, logarithms. */
void spec_seal(struct spec *s);

/* spec.c */
int spec_new(struct spec_in *in, struct spec **ret);

#endif
