/* SPDX-License-Identifier: Apache-2.0 */
/* What `olddog plan` says: progress and warnings on stderr, the result on stdout. */
#ifndef OLDDOG_CLI_PLAN_OUT_H
#define OLDDOG_CLI_PLAN_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct plan_out {
	bool json, terminal, line;	/* line: there is a line of progress to clear */
	uint64_t begin_ns, shown_ns;
	json_t *warnings;
	const char *spec_path;		/* of the inferred spec, or NULL */
	bool spec_written;		/* false: another one is there, and was left alone */
};

void plan_out_begin(struct plan_out *o, bool json);
/* For struct plan_conf; ctx is the plan_out. */
void plan_out_warn(void *ctx, const char *words);
void plan_out_progress(void *ctx, uint64_t n_done, uint64_t n_all, uint64_t n_bytes);
/* Takes the line of progress away. */
void plan_out_clear(struct plan_out *o);
/* enum cmd_exit. */
int plan_out_end(struct plan_out *o, const struct plan *p, const char *to);

/* 3318333 as "3,318,333". */
const char *grouped(uint64_t v, char out[32]);

#endif
