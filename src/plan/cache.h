/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments in memory: loaded and checked when a shard is first touched, the least recently used dropped past a limit.
 */
#ifndef OLDDOG_PLAN_CACHE_H
#define OLDDOG_PLAN_CACHE_H

#include "base/list.h"
#include "plan/index.h"
#include "plan/segment.h"

#define CACHE_MAX_BYTES (256u << 20)

struct cached {
	struct list used;
	uint32_t shard;
	size_t n_bytes;
	void *bytes[3];
	struct segment members, versions, removed;
	bool has_removed;
};

struct cache {
	struct index *index;	/* not owned */
	struct cached **by_shard;
	struct list used;	/* the latest at the end */
	size_t n_bytes, max_bytes;
};

int cache_init(struct cache *c, struct index *x, size_t max_bytes);
void cache_release(struct cache *c);
/* Valid until the next cache_get(). E_FORMAT with words when the plan's files are not as they were written. */
int cache_get(struct cache *c, uint32_t shard, const struct cached **ret, struct err *e);

#endif
