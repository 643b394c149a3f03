/* SPDX-License-Identifier: Apache-2.0 */
/* A set of names, numbered in the order of their coming: extensions, classes. */
#ifndef OLDDOG_PLAN_NAMES_H
#define OLDDOG_PLAN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

struct name_place {
	uint64_t at;	/* in bytes */
	uint32_t n;
};

struct names {
	struct buf bytes;
	VEC(struct name_place) all;
	uint32_t *slots;	/* open addressing; number + 1, 0 is empty */
	size_t n_slots;
	uint32_t last;		/* the latest that was asked for by names_add() */
};

/* At most max names (below 2^31). */
void names_init(struct names *s, uint32_t max);
void names_release(struct names *s);
#define AUTO_NAMES __attribute__((cleanup(names_release)))

/* The number of a name, which is added when it is new. 0, -ENOMEM, -E2BIG past the maximum. */
int names_add(struct names *s, struct str name, uint32_t *ret_number);
bool names_find(const struct names *s, struct str name, uint32_t *ret_number);
/* number < s->all.n. Valid until the next add. */
struct str names_at(const struct names *s, uint32_t number);
/* Numbers the names anew, in bytewise order. */
int names_sort(struct names *s);

#endif
