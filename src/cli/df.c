/* SPDX-License-Identifier: Apache-2.0 */
/* olddog df: how much room a store has. */
#include <inttypes.h>

#include "base/scope.h"
#include "base/str.h"
#include "cli/verbs.h"
#include "store/store.h"

static struct {
	bool json;
	unsigned n_printed;
} opts;

static const struct opt table[] = {
	{"json", 0, OPT_FLAG, &opts.json, NULL, "an array of objects in place of the table"},
	{"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP},
	{NULL},
};

static void print_row(const char *url, const struct store_space *space)
{
	char shown[STORE_NAME_MAX];
	double share = space->total_bytes ? 100.0 * (double)space->used_bytes / (double)space->total_bytes : 0;

	if (opts.n_printed++ == 0)
		printf("%20s %20s %20s %5s  %s\n", "TOTAL", "USED", "FREE", "USED%", "URL");
	printf("%20" PRIu64 " %20" PRIu64 " %20" PRIu64 " %4.0f%%  %s\n", space->total_bytes, space->used_bytes,
		space->free_bytes, share, str_printable(str_of(url), shown, sizeof(shown)));
}

static int df(const char *url, json_t *all, struct err *e)
{
	AUTO_STORE struct store *s = NULL;
	AUTO_FREE char *path = NULL;
	struct store_space space = {0};
	int r = store_open(url, &s, &path, e);

	if (r == 0)
		r = store_space_at(s, path, &space, e);
	if (r < 0)
		return r;
	if (!opts.json) {
		print_row(url, &space);
		return 0;
	}
	return json_array_append_new(all, json_pack("{s:s,s:I,s:I,s:I}", "url", url, "total_bytes",
		(json_int_t)space.total_bytes, "used_bytes", (json_int_t)space.used_bytes, "free_bytes",
		(json_int_t)space.free_bytes)) < 0 ? -ENOMEM : 0;
}

static int run(int n, char **urls)
{
	json_t *all = opts.json ? json_array() : NULL;
	int status = CMD_DONE;

	for (int i = 0; i < MAX(n, 1); i++) {
		struct err e = {0};
		int r = df(n ? urls[i] : ".", all, &e);

		if (r < 0)
			status = cmd_failed(&e, r);
	}
	return opts.json && cmd_print_json(all) != CMD_DONE ? CMD_FAILED : status;
}

const struct cmd cmd_df = {
	.name = "df",
	.operands = "[URL..]",
	.help = "show how much room stores have",
	.opts = table,
	.max_operands = 1000000,
	.run = run,
};
