/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers of a pool on virtual time that decode nothing, and take their time over it: for tests of what is begun when. A
 * result is h * w * c bytes, all of them the position's last.
 */
#ifndef OLDDOG_TESTS_SLOW_WORKER_H
#define OLDDOG_TESTS_SLOW_WORKER_H

#include "net/conn.h"
#include "wire/recipe.h"

#define SLOW_MAX_WORKS 4096

struct slow_workers {
	uint32_t h, w, c;
	uint64_t (*cost_ns)(const uint8_t *in, size_t n);
	/* What was begun, in that order. */
	struct slow_work {
		uint64_t position, from_ns, to_ns;
	} works[SLOW_MAX_WORKS];
	unsigned n_works;
};

/* For struct worker_conf and engine_conf: spawn and kill; ctx is a struct slow_workers. */
int slow_worker_spawn(void *ctx, struct loop *loop, const struct recipe *recipe, const uint8_t *in, size_t in_bytes,
	uint8_t *out, size_t out_bytes, struct conn *end, void **ret_worker);
void slow_worker_kill(void *ctx, void *worker);

#endif
