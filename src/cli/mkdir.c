/* SPDX-License-Identifier: Apache-2.0 */
/* olddog mkdir: directories in any store, with those above them. */
#include "base/scope.h"
#include "cli/verbs.h"
#include "store/store.h"

/* Taken for what fingers are used to. */
static bool with_parents;

static const struct opt table[] = {
	{"parents", 'p', OPT_FLAG, &with_parents, NULL, "as always: with those above, and one that is there is no error"},
	{"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP},
	{NULL},
};

static int mkdir_one(const char *url, struct err *e)
{
	AUTO_STORE struct store *s = NULL;
	AUTO_FREE char *path = NULL;
	int r = store_open(url, &s, &path, e);

	return r < 0 ? r : store_mkdir(s, path, e);
}

static int run(int n, char **urls)
{
	int status = CMD_DONE;

	for (int i = 0; i < n; i++) {
		struct err e = {0};
		int r = mkdir_one(urls[i], &e);

		if (r < 0)
			status = cmd_failed(&e, r);
	}
	return status;
}

const struct cmd cmd_mkdir = {
	.name = "mkdir",
	.operands = "URL..",
	.help = "make directories in any store, with those above them",
	.opts = table,
	.min_operands = 1,
	.max_operands = 1000000,
	.run = run,
};
