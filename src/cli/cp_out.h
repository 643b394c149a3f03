/* SPDX-License-Identifier: Apache-2.0 */
/* What cp says while it copies and at its end. */
#ifndef OLDDOG_CLI_CP_OUT_H
#define OLDDOG_CLI_CP_OUT_H

#include <jansson.h>

#include "store/copy.h"

#define CP_MAX_FAILURES 1000u	/* that --json lists; all are on stderr */

struct cp_out {
	bool json, each, dry;		/* each: a line for each file */
	bool terminal;			/* stderr is one: progress is drawn there */
	bool drawn;
	uint64_t begun_ns, drawn_ns;
	json_t *failures;
};

int cp_out_init(struct cp_out *o);
/* Of struct copy_watch; ctx is the struct cp_out. */
void cp_out_event(void *ctx, enum copy_event event, const char *from, const char *to, uint64_t n_bytes, const char *words);
void cp_out_progress(void *ctx, const struct copy_counts *counts);
/* The summary; frees what o has. enum cmd_exit. */
int cp_out_finish(struct cp_out *o, const struct copy_counts *counts);

#endif
