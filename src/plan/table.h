/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member table of one shard while it is made: its samples in order, and each sample's members in order. A shard is
 * a tar archive, or up to 10,000 files of a folder.
 */
#ifndef OLDDOG_PLAN_TABLE_H
#define OLDDOG_PLAN_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"
#include "plan/names.h"

#define TABLE_MAX_MEMBERS (1u << 24)
#define TABLE_MAX_EXTENSIONS 65535u
#define TABLE_KEYS_MAX (768u << 20)	/* bytes, so that a segment stays below 1 GiB */
#define CLASS_NONE UINT32_MAX

struct table_member {
	uint64_t offset, length;	/* of its bytes in the file */
	uint32_t ext;			/* number in table.exts */
};

struct table_sample {
	uint32_t key_at, key_n;		/* in table.keys */
	uint32_t first;			/* member */
	uint32_t class_no;		/* or CLASS_NONE */
};

struct table {
	bool files;		/* a folder's files: exts keep their case and their dot, offsets are 0 */
	VEC(struct table_member) members;
	VEC(struct table_sample) samples;
	struct buf keys;
	struct names exts;
};

void table_init(struct table *t, bool files);
void table_release(struct table *t);
#define AUTO_TABLE __attribute__((cleanup(table_release)))

/* Begins a sample; members go to the latest. 0, -ENOMEM, -E2BIG. */
int table_sample_add(struct table *t, struct str key, uint32_t class_no);
int table_member_add(struct table *t, struct str ext, uint64_t offset, uint64_t length);
struct str table_key(const struct table *t, size_t sample);
/* The number of its members, from samples.ptr[sample].first on. */
uint32_t table_n_members(const struct table *t, size_t sample);
/*
 * SHA-256 of the table, the same however it is stored: doc/design/0008-plan-files.md. Part of order_id.
 */
int table_identity(const struct table *t, uint8_t ret[SHA256_BYTES]);

#endif
