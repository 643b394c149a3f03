/* SPDX-License-Identifier: Apache-2.0 */
/* olddog ls: directories of any store, page by page, so that a long one starts to print at once. */
#include <string.h>

#include "base/scope.h"
#include "base/str.h"
#include "cli/entry.h"
#include "cli/verbs.h"
#include "store/glob.h"

static struct {
	bool json, names;
	unsigned n_printed;
} opts;

static const struct opt table[] = {
	{"json", 0, OPT_FLAG, &opts.json, NULL, "an array of objects in place of the table"},
	{"names", '1', OPT_FLAG, &opts.names, NULL, "names only, one a line, as they are"},
	{NULL},
};

static void print_row(const char *name, const struct store_stat *stat)
{
	char shown[STORE_NAME_MAX], when[ENTRY_TIME_MAX], length[32] = "-";

	if (opts.n_printed == 0)
		printf("%14s  %-19s  %s\n", "BYTES", "MODIFIED", "NAME");
	if (stat->kind == STORE_FILE)
		snprintf(length, sizeof(length), "%llu", (unsigned long long)stat->file.length);
	printf("%14s  %-19s  %s%s\n", length, entry_time(stat, when), str_printable(str_of(name), shown, sizeof(shown)),
		stat->kind == STORE_DIR ? "/" : "");
}

static int print_json(const char *name, const struct store_stat *stat)
{
	json_t *json = entry_json(name, stat);
	int r = json ? printf("%s\n  ", opts.n_printed ? "," : ""), json_dumpf(json, stdout, 0) : -1;

	json_decref(json);
	return r < 0 ? -ENOMEM : 0;
}

static int print_one(const char *name, const struct store_stat *stat)
{
	int r = 0;

	if (opts.json)
		r = print_json(name, stat);
	else if (opts.names)
		printf("%s\n", name);
	else
		print_row(name, stat);
	opts.n_printed++;
	return r;
}

static int list_page(struct store *s, const char *path, char **after, bool *ret_more, struct err *e)
{
	struct store_listing page;
	int r = store_list_page(s, path, *after, &page, e);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < page.n; i++)
		r = print_one(page.entries[i].name, &page.entries[i].stat);
	*ret_more = page.more;
	mem_free(*after);
	*after = page.n ? mem_strdup(page.entries[page.n - 1].name) : NULL;
	if (page.more && !*after)
		r = -ENOMEM;
	store_listing_release(&page);
	return r;
}

/* A directory that a pattern found is one entry: what is in it was not asked for. */
static int ls(void *url, const struct glob_hit *hit, struct err *e)
{
	AUTO_FREE char *after = NULL;
	bool more = true;
	int r = 0;

	if (hit->stat.kind != STORE_DIR || strcmp(hit->shown, url) != 0)
		return print_one(hit->shown, &hit->stat);
	while (r == 0 && more)
		r = list_page(hit->store, hit->path, &after, &more, e);
	return r;
}

static int run(int n, char **urls)
{
	char here[] = ".";
	int status = CMD_DONE;

	if (opts.json)
		printf("[");
	for (int i = 0; i < MAX(n, 1); i++) {
		struct err e = {0};
		int r;

		if (n > 1 && !opts.json && !opts.names) {
			printf("%s%s:\n", i ? "\n" : "", urls[i]);
			opts.n_printed = 0;
		}
		r = glob_url(n ? urls[i] : here, ls, n ? urls[i] : here, &e);
		if (r < 0)
			status = cmd_failed(&e, r);
	}
	if (opts.json)
		printf("%s]\n", opts.n_printed ? "\n" : "");
	return status;
}

const struct cmd cmd_ls = {
	.name = "ls",
	.operands = "[URL..]",
	.help = "list directories in any store",
	.opts = table,
	.max_operands = 1000000,
	.run = run,
};
