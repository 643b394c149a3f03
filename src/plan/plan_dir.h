/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan's directory: part-NNNN and bind-NNNN (plan/parts.h), shards.bin, and plan.json, which is written last: a
 * directory without it is not finished. doc/design/0008-plan-files.md.
 */
#ifndef OLDDOG_PLAN_PLAN_DIR_H
#define OLDDOG_PLAN_PLAN_DIR_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/index.h"
#include "plan/plan.h"

#define SHARDS_MAX_BYTES (4ull << 30)
#define PLAN_JSON_MAX_BYTES (64u << 20)

/* Whether path is a plan's directory, finished or not. */
bool plan_dir_is(const char *path);
/* p has all but the files; its parts are in dir already. */
int plan_dir_write(struct plan *p, const char *dir, struct err *e);
/* Fills in p's spec, index and order_id. */
int plan_dir_read(struct plan *p, const char *dir, struct err *e);

/* shards.bin. */
int shards_encode(const struct index *x, struct buf *to);
/* Everything is checked: numbers of bases, ranges of sources, bounds of names. E_FORMAT. */
int shards_decode(const void *p, size_t n, struct index *x);

#endif
