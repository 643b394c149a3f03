/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: index, order and chains of a data set, made once and opened by everybody (CONTRACTS C1, C5). It binds to the
 * data by URL and by each file's opaque version; changed data is E_CHANGED with words.
 */
#ifndef OLDDOG_PLAN_PLAN_H
#define OLDDOG_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scope.h"
#include "plan/order.h"
#include "plan/spec.h"
#include "store/store.h"

struct plan;

struct plan_conf {
	bool strict;			/* a bad shard stops; else it is left out and told */
	unsigned n_threads;		/* for indexing; 0: as many as processors, at most 16 */
	/* Told of what is odd (file, offset, words) and of progress (shards); may be NULL. On the caller's thread. */
	void (*warn)(void *ctx, const char *words);
	void (*progress)(void *ctx, uint64_t n_done, uint64_t n_all, uint64_t n_bytes);
	void *ctx;
};

/*
 * Lists, indexes and orders the spec's data; takes spec, also when it fails. to: a directory X.plan/ to write (and to
 * resume from), or NULL: all in memory, nothing written.
 */
int plan_make(struct spec *spec, const char *to, const struct plan_conf *conf, struct plan **ret, struct err *e);
/* Opens what plan_make() wrote. Memory is used only for what is touched. */
int plan_open(const char *dir, struct plan **ret, struct err *e);
/* A plan's directory, a spec's file (*.yaml, *.yml), or bare paths: opened, or made in memory. */
int plan_open_any(const char *const *paths, unsigned n_paths, const struct plan_conf *conf, struct plan **ret,
	struct err *e);
/* The spec that plan_open_any() would make a plan of: read from a file, or that of bare paths. */
int plan_spec_of(const char *const *paths, unsigned n_paths, struct spec **ret, struct err *e);
void plan_free(struct plan *p);
DEFINE_AUTO(plan);

/* What indexing found, for people. */
#define PLAN_STATS_EXTS 16
struct plan_stats {
	uint64_t n_archives, n_files;	/* tar shards; files of folders */
	uint64_t n_bytes;		/* of the archives and files */
	uint64_t n_read;		/* by this indexing */
	uint64_t n_taken_over;		/* archives that an earlier, broken-off indexing had done */
	uint64_t n_found;		/* samples, before on_missing took some out */
	struct plan_ext {
		char name[32];
		uint64_t n;		/* samples that have it */
	} exts[PLAN_STATS_EXTS];	/* the most frequent, falling */
	unsigned n_exts;
	uint64_t n_bad;			/* archives left out */
	char bad[512];			/* the first of them with their words, "; " between */
	struct plan_missing {
		uint64_t n;		/* samples without the field */
		char first[256];	/* SHARD:KEY */
	} missing[RECIPE_MAX_FIELDS];	/* by field */
};

const struct plan_stats *plan_stats(const struct plan *p);
const struct spec *plan_spec(const struct plan *p);
const uint8_t *plan_order_id(const struct plan *p);	/* 32 bytes */
const uint8_t *plan_fields_id(const struct plan *p);	/* 32 bytes */
uint64_t plan_n_samples(const struct plan *p);
uint64_t plan_epoch_len(const struct plan *p);

enum member_kind { MEMBER_NONE, MEMBER_RANGE, MEMBER_INLINE };

/* Where one field's bytes are. */
struct plan_member {
	enum member_kind kind;
	struct store *store;		/* RANGE: the plan's */
	const char *path;		/* RANGE: within the store; valid until the next plan_sample() into the same struct */
	struct store_file file;		/* RANGE: as it was when it was indexed */
	uint64_t offset, length;	/* RANGE */
	int64_t value;			/* INLINE: a class's number */
};

struct plan_sample {
	struct order_item item;
	/* The sample's key: its tar member's name, or its relative name, without extension; cut after 1,023 bytes. */
	char key[1024];
	unsigned n_fields;
	struct plan_member fields[RECIPE_MAX_FIELDS];
	char *paths;			/* memory of the paths; plan_sample_release() */
};

/*
 * ret is zeroed before its first use. Not for two threads at a time.
 * attempt 0 is the sample of the position; 1..8 its substitutes. E_FORMAT when the plan's own bytes are broken; then no
 * field has a member.
 */
int plan_sample(struct plan *p, uint64_t position, unsigned attempt, struct plan_sample *ret, struct err *e);
void plan_sample_release(struct plan_sample *s);

#endif
