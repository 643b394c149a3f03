/* SPDX-License-Identifier: Apache-2.0 */
/* What store_ops.c is made of: one run, what looks (ops_look.c), what changes (ops_change.c). */
#ifndef OLDDOG_TESTS_OPS_H
#define OLDDOG_TESTS_OPS_H

#include "base/err.h"
#include "base/hash.h"
#include "shadow.h"
#include "store/store.h"

#define CHUNK (4u << 20)
#define PATH_BYTES 512

struct run {
	struct store *store;
	const char *top;
	struct shadow shadow;
	uint64_t dice, total, live, max, block;
	uint64_t n_read, n_written;
	unsigned at, n_failed, n_unclear, min_replicas, max_replicas;
	bool no_concat, no_append, no_sum;	/* the engine lacks it */
	uint8_t buf[CHUNK];
};

extern struct run run;

/* Below a number; 0: of all 53 bits. */
uint64_t dice(uint64_t below);
uint64_t log_uniform(uint64_t max);
/* Ends the run. */
void differs(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The path in the store of one in the shadow; of two at a time. */
const char *full(const char *path);
/* Whether it worked; what did not is told and counted. */
bool worked(int r, const char *what, const char *path, const struct err *e);

/* All of it; the sum is for those who read it by other means. False: it could not be read. */
bool compare_file(const struct shadow_file *f, struct sha256 *sum);
void op_read(struct shadow_file *f);
void op_list(const char *dir);
void op_stat(const char *path);
void op_sum(struct shadow_file *f);

void op_write(const char *path);
void op_append(struct shadow_file *f);
void op_create(const char *path);
void op_rename(struct shadow_file *f, const char *to);
void op_remove(const char *path, bool is_dir);
void op_mkdir(const char *path);
void op_concat(struct shadow_file *to, const char *dir);
void op_replicate(struct shadow_file *f);

#endif
