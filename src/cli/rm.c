/* SPDX-License-Identifier: Apache-2.0 */
/* olddog rm: files and trees of any store, into the trash where the store has one. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scope.h"
#include "base/str.h"
#include "cli/verbs.h"
#include "store/glob.h"
#include "store/path.h"

static struct {
	bool tree, force, skip_trash;
} opts;

static const struct opt table[] = {
	{"recursive", 'r', OPT_FLAG, &opts.tree, NULL, "directories too, with all that is in them"},
	{"force", 'f', OPT_FLAG, &opts.force, NULL, "what is not there is no error"},
	{"skip-trash", 0, OPT_FLAG, &opts.skip_trash, NULL, "remove at once also where there is a trash"},
	{"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP},
	{NULL},
};

static int remove_now(const struct glob_hit *hit, struct err *e)
{
	return hit->stat.kind == STORE_DIR ? store_remove_tree(hit->store, hit->path, e) :
		store_remove(hit->store, hit->path, e);
}

/* Of somebody in HDFS, by its usual place; of who runs this, on this host. */
static bool is_home(const struct glob_hit *hit, const char *clean)
{
	const char *home = getenv("HOME");
	struct stat st, home_st;

	if (str_starts(str_of(hit->shown), "hdfs:"))
		return str_starts(str_of(clean), "user/") && clean[5] && !strchr(clean + 5, '/');
	return home && stat(home, &home_st) == 0 && stat(hit->shown, &st) == 0 && st.st_ino == home_st.st_ino &&
		st.st_dev == home_st.st_dev;
}

static int rm_one(const struct glob_hit *hit, struct err *e)
{
	AUTO_FREE char *clean = mem_alloc(STORE_NAME_MAX);
	struct err words = {0};
	int r;

	if (!clean)
		return -ENOMEM;
	path_clean(hit->path, clean);
	if (!*clean)
		return err_set(e, -EINVAL, "%.300s: a whole store is not removed", hit->shown);
	if (hit->stat.kind == STORE_DIR && is_home(hit, clean))
		return err_set(e, -EINVAL, "%.300s: a home directory is not removed; what is in it can be", hit->shown);
	if (hit->stat.kind == STORE_DIR && !opts.tree)
		return err_set(e, -EISDIR, "%.300s is a directory; -r removes it with all that is in it", hit->shown);
	r = opts.skip_trash ? -EOPNOTSUPP : store_trash(hit->store, hit->path, &words);
	if (r == -EOPNOTSUPP)
		return remove_now(hit, e);
	if (r < 0)
		*e = words;
	return r;
}

/* What is not there: with -f no error, also where a file is in the way. */
static bool is_nothing(int r)
{
	return opts.force && (r == -ENOENT || r == -ENOTDIR);
}

/* One that fails ends nothing: the others that match are removed. With -f it may have gone since it was listed. */
static int rm(void *ctx, const struct glob_hit *hit, struct err *unused)
{
	int *status = ctx;
	struct err e = {0};
	int r = rm_one(hit, &e);

	if (r < 0 && !is_nothing(r))
		*status = cmd_failed(&e, r);
	return 0;
}

static int run(int n, char **urls)
{
	int status = CMD_DONE;

	for (int i = 0; i < n; i++) {
		struct err e = {0};
		int r = glob_url(urls[i], rm, &status, &e);

		if (r < 0 && !is_nothing(r))
			status = cmd_failed(&e, r);
	}
	return status;
}

const struct cmd cmd_rm = {
	.name = "rm",
	.operands = "URL..",
	.help = "remove files and trees in any store",
	.opts = table,
	.min_operands = 1,
	.max_operands = 1000000,
	.run = run,
};
