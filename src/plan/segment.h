/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments: what a plan's files are made of. A header, a table of columns, and columns of fixed-width little-endian
 * numbers or bytes; a checksum over all. doc/design/0008-plan-files.md has the bytes. A reader skips columns it does
 * not know. Everything read is checked: a segment may come from a stranger.
 */
#ifndef OLDDOG_PLAN_SEGMENT_H
#define OLDDOG_PLAN_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "plan/table.h"

#define SEGMENT_VERSION 1
#define SEGMENT_HEADER_BYTES 112u
#define SEGMENT_COLUMN_BYTES 32u
#define SEGMENT_MAX_COLUMNS 64u
#define SEGMENT_MAX_BYTES (1u << 30)
#define SEGMENT_KEY_MAX 4096u

/* TAR and FILES are member tables; REMOVED lists samples that on_missing took out; VERSIONS binds files. */
enum segment_kind { SEGMENT_TAR = 1, SEGMENT_FILES, SEGMENT_REMOVED, SEGMENT_VERSIONS };

enum column_id {
	COLUMN_FIRST = 1,	/* n_samples + 1: the first member of each sample */
	COLUMN_EXT,		/* per member: number of its extension */
	COLUMN_OFFSET,		/* per member; absent: 0 */
	COLUMN_LENGTH,		/* per member */
	COLUMN_EXT_ENDS,	/* per extension: where it ends in EXT_BYTES */
	COLUMN_EXT_BYTES,
	COLUMN_KEY_BYTES,	/* front-coded: LEB128 shared, LEB128 n, n bytes; shared is 0 for each 16th */
	COLUMN_KEY_STARTS,	/* per 16 samples: offset in KEY_BYTES */
	COLUMN_CLASS,		/* per sample; absent: none has a class */
	COLUMN_COST,		/* reserved: per sample, a log cost class */
	COLUMN_REMOVED,		/* sample numbers, rising */
	COLUMN_VERSION_ENDS,	/* per file: where its version ends in VERSION_BYTES */
	COLUMN_VERSION_BYTES,
	COLUMN_IDS
};

struct column {
	const uint8_t *p;	/* NULL: absent */
	uint64_t count;
	uint32_t width;		/* 1..8 */
};

/* A segment in memory; p is the caller's while it lives. */
struct segment {
	enum segment_kind kind;
	uint32_t n_samples, n_members;
	uint8_t origin[SHA256_BYTES];
	uint8_t identity[SHA256_BYTES];	/* of a member table: table_identity() */
	struct column columns[COLUMN_IDS];
};

/*
 * Append a segment. origin: what it was made from (name, length and version of its file), so that indexing can take it
 * over without reading the file again; NULL: the table's own content. -ENOMEM; -E2BIG past SEGMENT_MAX_BYTES.
 */
int segment_of_table(const struct table *t, const uint8_t origin[SHA256_BYTES], struct buf *to);
int segment_of_removed(const uint32_t *removed, uint32_t n, const uint8_t origin[SHA256_BYTES], struct buf *to);
int segment_of_versions(const char *const *versions, uint32_t n, const uint8_t origin[SHA256_BYTES], struct buf *to);

/* The length that a header tells, from its first SEGMENT_HEADER_BYTES. E_FORMAT. */
int segment_peek(const void *p, size_t n, uint64_t *ret_bytes);
/* Checks header, checksum and column bounds. E_FORMAT. */
int segment_open(const void *p, size_t n, struct segment *ret);

/* i < count (asserted by the caller's checks); little-endian. */
uint64_t column_at(const struct column *c, uint64_t i);

struct segment_sample {
	uint32_t first, n;	/* members */
	uint32_t class_no;
};

struct segment_member {
	struct str ext;		/* as the table had it */
	uint64_t offset, length;
};

/* E_FORMAT when the numbers do not fit each other; -EINVAL when i is past the end. */
int segment_sample(const struct segment *s, uint32_t i, struct segment_sample *ret);
int segment_member(const struct segment *s, uint32_t i, struct segment_member *ret);
/* out has room for SEGMENT_KEY_MAX + 1 bytes; a NUL follows the *ret_n bytes. */
int segment_key(const struct segment *s, uint32_t i, char *out, size_t *ret_n);
/* The version of file i, as a copy in out (with NUL). */
int segment_version(const struct segment *s, uint32_t i, char *out, size_t n_out);
/*
 * The sample that is number i when the removed ones (of a SEGMENT_REMOVED, or NULL) are not counted.
 */
uint32_t segment_kept(const struct segment *removed, uint32_t i);

#endif
