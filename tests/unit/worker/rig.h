/* SPDX-License-Identifier: Apache-2.0 */
/* A pool with works, for tests: on processes or on virtual time. */
#ifndef OLDDOG_TESTS_WORKER_RIG_H
#define OLDDOG_TESTS_WORKER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

#include "unit/open_fds.h"
#include "worker/worker.h"

#define RIG_MAX_WORKS 1024

struct rig_work {
	struct work work;
	struct rig *rig;
	unsigned n_done;
};

struct rig {
	struct loop *loop;
	struct worker_pool *pool;
	struct recipe recipe;
	struct rig_work works[RIG_MAX_WORKS];
	unsigned n_works, n_ended;
	bool all_ended;
	void (*on_done)(struct rig *rig, struct rig_work *w);	/* NULL: nothing */
};

/* A conf that suits most tests; program is that of the environment variable. */
struct worker_conf rig_conf(struct rig *rig, bool on_virtual, const char *program_variable);
/* A loop, a recipe of one image field by its chain (tests/chain.h), and nothing else yet. */
void rig_init(struct rig *rig, bool on_virtual, const char *chain);
void rig_open(struct rig *rig, const struct worker_conf *conf);
void rig_close(struct rig *rig);

/* A work over a copy of n bytes, submitted. */
struct rig_work *rig_submit(struct rig *rig, uint64_t position, const void *p, size_t n, uint64_t out_bytes);
/* Until all works that were submitted have ended. */
void rig_run(struct rig *rig);
/* Gives back the room of a work that has ended, input and output. */
void rig_release(struct rig *rig, struct rig_work *w);

/* Its children. */
unsigned rig_children(pid_t *ret, unsigned max);

#endif
