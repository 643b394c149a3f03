/* SPDX-License-Identifier: Apache-2.0 */
/* olddog stat: what a store says of a file, with the version by which readers notice a change. */
#include "base/scope.h"
#include "base/str.h"
#include "cli/entry.h"
#include "cli/verbs.h"
#include "store/glob.h"

static struct {
	bool json;
} opts;

static const struct opt table[] = {
	{"json", 0, OPT_FLAG, &opts.json, NULL, "an array of objects"},
	{"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP},
	{NULL},
};

static void print_text(const char *url, const struct store_stat *stat)
{
	char shown[STORE_NAME_MAX], when[ENTRY_TIME_MAX], mode[ENTRY_MODE_MAX];

	printf("%s\n", str_printable(str_of(url), shown, sizeof(shown)));
	printf("  kind      %s\n", entry_kind(stat));
	if (stat->kind == STORE_FILE)
		printf("  bytes     %llu\n", (unsigned long long)stat->file.length);
	if (stat->mtime_ns)
		printf("  modified  %s\n", entry_time(stat, when));
	if (stat->atime_ns)
		printf("  read      %s\n", entry_time(&(struct store_stat){.mtime_ns = stat->atime_ns}, when));
	if (stat->mode)
		printf("  mode      %s (%04o)\n", entry_mode(stat, mode), stat->mode);
	if (stat->owner)
		printf("  owner     %s\n", str_printable(str_of(stat->owner), shown, sizeof(shown)));
	if (stat->group)
		printf("  group     %s\n", str_printable(str_of(stat->group), shown, sizeof(shown)));
	if (stat->replication)
		printf("  replicas  %u\n", stat->replication);
	if (stat->block_bytes)
		printf("  block     %llu\n", (unsigned long long)stat->block_bytes);
	if (stat->growing)
		printf("  growing   somebody writes it\n");
	if (stat->file.version[0])
		printf("  version   %s\n", stat->file.version);
}

static int stat_one(void *all, const struct glob_hit *hit, struct err *e)
{
	struct store_stat stat = hit->stat;
	int r = hit->matched ? store_look(hit->store, hit->path, &stat, e) : 0;

	if (r < 0)
		return r;
	if (opts.json)
		return json_array_append_new(all, entry_json(hit->shown, &stat)) < 0 ? -ENOMEM : 0;
	print_text(hit->shown, &stat);
	return 0;
}

static int run(int n, char **urls)
{
	json_t *all = opts.json ? json_array() : NULL;
	int status = CMD_DONE;

	for (int i = 0; i < n; i++) {
		struct err e = {0};
		int r = glob_url(urls[i], stat_one, all, &e);

		if (r < 0)
			status = cmd_failed(&e, r);
	}
	return opts.json && cmd_print_json(all) != CMD_DONE ? CMD_FAILED : status;
}

const struct cmd cmd_stat = {
	.name = "stat",
	.operands = "URL..",
	.help = "show length, time and version of files in any store",
	.opts = table,
	.min_operands = 1,
	.max_operands = 1000000,
	.run = run,
};
