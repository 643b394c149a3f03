/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of a plan's data: its shards, in order, and where their segments are. A shard is a tar archive or up to
 * 10,000 files of a folder. Made from the data by index_make(), or read from a plan's directory.
 */
#ifndef OLDDOG_PLAN_INDEX_H
#define OLDDOG_PLAN_INDEX_H

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "plan/bases.h"
#include "plan/journal.h"
#include "plan/names.h"
#include "plan/parts.h"
#include "plan/plan.h"
#include "plan/spec.h"

#define INDEX_MAX_SHARDS (1u << 24)
#define INDEX_FILES_PER_SHARD 10000u

/* Samples of a shard that have an extension; ext is a number in index.exts. */
struct ext_count {
	uint32_t ext, n;
};

struct shard {
	uint64_t name;		/* offset of its relative name in index.text, NUL-terminated; "" for a folder's files */
	uint64_t length;	/* of the archive; of all files together */
	uint32_t base;
	uint32_t n_samples;	/* as they were found, the removed ones included */
	uint32_t n_removed;
	struct part_ref members;	/* in parts: SEGMENT_TAR or SEGMENT_FILES */
	struct part_ref removed;	/* in parts: SEGMENT_REMOVED; none when n_removed is 0 */
	struct part_ref versions;	/* in binds: SEGMENT_VERSIONS; one of an archive, or one per member */
	uint8_t identity[SHA256_BYTES];
	/* Only while it is made: lower-case extensions without their dot. NULL when there are too many. */
	struct ext_count *counts;
	uint32_t n_counts;
};

struct index_source {
	enum source_format format;
	uint32_t first, n;	/* shards */
};

struct index {
	struct bases bases;
	struct index_source *sources;
	unsigned n_sources;
	VEC(struct shard) shards;
	struct buf text;
	struct names classes;	/* by number; none: no classes */
	struct parts *parts, *binds;
	struct journal parts_journal, binds_journal;	/* of what is in them, while it is made */
	/* What people are told. */
	struct plan_stats stats;
	struct names exts;	/* lower case */
	uint64_t *n_with;	/* samples, by extension; removed ones included */
};

struct index *index_new(void);
void index_free(struct index *x);
DEFINE_AUTO(index);

static inline const char *shard_name(const struct index *x, const struct shard *s)
{
	return (const char *)x->text.ptr + s->name;
}
/* What people know a shard by: its name, or the folder's URL. */
const char *shard_title(const struct index *x, const struct shard *s);

/* Lists and indexes spec's sources into x, whose parts and binds are open. Words name the shard. */
int index_make(struct index *x, const struct spec *spec, const struct plan_conf *conf, struct err *e);
/* Takes out samples as the fields' on_missing says; fields of spec are settled by now. */
int index_remove_missing(struct index *x, const struct spec *spec, struct err *e);
/* Lets spec's open fields be inferred from what the data has. */
int index_infer_fields(const struct index *x, struct spec *spec, struct err *e);
/* order_id: doc/design/0008-plan-files.md. Reads back lists of removed samples. */
int index_order_id(struct index *x, const struct spec *spec, uint8_t ret[SHA256_BYTES], struct err *e);

#endif
