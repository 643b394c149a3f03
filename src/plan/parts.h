/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where segments are kept: append-only files part-NNNN (and bind-NNNN) of up to 1 GiB in a plan's directory, or memory.
 * What has been appended is never changed, so readers and one writer meet without locks.
 *
 * Read by pread(2) into memory, a segment at a time, not by mmap(2): a file that is cut short under a mapping kills the
 * reader by SIGBUS, under pread it is an error; and segments are small (some 30 bytes a sample) and cached.
 */
#ifndef OLDDOG_PLAN_PARTS_H
#define OLDDOG_PLAN_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scope.h"

#define PARTS_MAX 100000u
#define PART_MAX_BYTES (1u << 30)

struct parts;
struct stat;

struct part_ref {
	uint64_t offset;
	uint32_t part;
	uint32_t n_bytes;	/* 0: there is none */
};

int parts_new_memory(struct parts **ret);
/* Reads from dir the files PREFIX-NNNN ("part", "bind"). */
int parts_open(const char *dir, const char *prefix, struct parts **ret, struct err *e);
/*
 * Appends to dir, which is made when it is missing, and (the "part" files) locked: -EBUSY while another process makes a
 * plan there. -EEXIST with words when dir has other things in it than a plan.
 */
int parts_create(const char *dir, const char *prefix, struct parts **ret, struct err *e);
/* Of a plan that failed: when nothing is in its parts and binds, they go, and dir with them if it was made for them. */
void parts_leave(const struct parts *parts, const struct parts *binds, const char *dir);
void parts_free(struct parts *p);
DEFINE_AUTO(parts);

/*
 * The journal: calls fn for each whole segment that an earlier, perhaps killed, writer left; what is not whole at the
 * end of a part is cut off. fn's failure ends it.
 */
int parts_replay(struct parts *p, int (*fn)(void *ctx, const struct part_ref *ref, const void *bytes), void *ctx,
	struct err *e);
int parts_append(struct parts *p, const void *bytes, uint32_t n, struct part_ref *ret, struct err *e);
/* A copy (mem_free) of a segment. E_FORMAT when it is not there. */
int parts_read(struct parts *p, const struct part_ref *ref, void **ret, struct err *e);
/* E_FORMAT with words, for who looked into a segment and found it broken. */
int parts_broken(const struct parts *p, const struct part_ref *ref, struct err *e);
/* What was appended is on disk after this. */
int parts_sync(struct parts *p, struct err *e);
/*
 * A descriptor of one of a plan's files, which is a regular one, whatever was put in its place. -EISDIR and -EINVAL: it
 * is none; and what openat() says.
 */
int regular_open(int dir, const char *name, int flags, struct stat *ret);
/* Descriptor of the directory; -1 in memory. */
int parts_dir(const struct parts *p);

#endif
