/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one request: taken piece by piece, given back at once. */
#ifndef OLDDOG_BASE_ARENA_H
#define OLDDOG_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t n_bytes, max;
};

void arena_init(struct arena *a, size_t max_bytes);
/* Zeroed, aligned for any type. NULL past the maximum or when memory is short. */
void *arena_alloc(struct arena *a, size_t n_bytes) __attribute__((warn_unused_result));
char *arena_strndup(struct arena *a, const char *s, size_t n) __attribute__((warn_unused_result));
void arena_release(struct arena *a);

#define AUTO_ARENA __attribute__((cleanup(arena_release)))

#endif
