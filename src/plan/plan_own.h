/* SPDX-License-Identifier: Apache-2.0 */
/* A plan inside: for plan.c, plan_dir.c and plan_any.c only. */
#ifndef OLDDOG_PLAN_PLAN_OWN_H
#define OLDDOG_PLAN_PLAN_OWN_H

#include "base/hash.h"
#include "plan/cache.h"
#include "plan/index.h"
#include "plan/plan.h"

struct plan {
	struct spec *spec;
	struct index *index;
	struct cache cache;
	struct order *order;
	uint64_t *first;
	uint64_t n_samples;
	uint8_t order_id[SHA256_BYTES], fields_id[SHA256_BYTES];
};

struct plan *plan_new(void);
/* From spec and index on: order, cache, fields_id. */
int plan_settle(struct plan *p, struct err *e);

#endif
