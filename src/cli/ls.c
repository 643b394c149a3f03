/* SPDX-License-Identifier: Apache-2.0 */
/* olddog ls: directories of any store, page by page, so that a long one starts to print at once. */
#include <string.h>

#include "base/scope.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/entry.h"
#include "cli/verbs.h"
#include "store/glob.h"

static struct {
	bool json, names, table, deep;
	unsigned n_printed;
} opts;

/* Of -R: links to directories may make a ring. */
#define MAX_DEPTH 64
#define MAX_BELOW (1u << 24)

/* A directory that is listed: how its names are printed, and which of them -R goes on with. */
struct dir {
	struct store *store;
	const char *path;
	const char *shown;	/* before each name: "" or "a/b/" */
	unsigned depth;
	VEC(char *) below;
};

static const struct opt table[] = {
	{"json", 0, OPT_FLAG, &opts.json, NULL, "an array of objects in place of the table"},
	{"long", 'l', OPT_FLAG, &opts.table, NULL, "mode, replicas, owner, group and block size in the table too"},
	{"recursive", 'R', OPT_FLAG, &opts.deep, NULL, "what is below directories too, by its path"},
	{"names", '1', OPT_FLAG, &opts.names, NULL, "names only, one a line, as they are"},
	{"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP},
	{NULL},
};

static const char *text_or_dash(const char *text, char out[64])
{
	return text ? str_printable(str_of(text), out, 64) : "-";
}

static void print_head(void)
{
	if (opts.table)
		printf("%-10s  %8s  %-10s  %-10s  %11s  ", "MODE", "REPLICAS", "OWNER", "GROUP", "BLOCK");
	printf("%14s  %-19s  %s\n", "BYTES", "MODIFIED", "NAME");
}

/* The columns of -l, before the others. */
static void print_long(const struct store_stat *stat)
{
	char mode[ENTRY_MODE_MAX], owner[64], group[64], replicas[16] = "-", block[32] = "-";

	if (stat->replication)
		snprintf(replicas, sizeof(replicas), "%u", stat->replication);
	if (stat->block_bytes)
		snprintf(block, sizeof(block), "%llu", (unsigned long long)stat->block_bytes);
	printf("%-10s  %8s  %-10s  %-10s  %11s  ", entry_mode(stat, mode), replicas, text_or_dash(stat->owner, owner),
		text_or_dash(stat->group, group), block);
}

static void print_row(const char *name, const struct store_stat *stat)
{
	char shown[STORE_NAME_MAX], when[ENTRY_TIME_MAX], length[32] = "-";

	if (opts.n_printed == 0)
		print_head();
	if (opts.table)
		print_long(stat);
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

static int print_entry(struct dir *d, const struct store_entry *entry)
{
	AUTO_FREE char *name = d->shown[0] ? mem_printf("%s%s", d->shown, entry->name) : NULL, *below = NULL;
	int r = d->shown[0] && !name ? -ENOMEM : print_one(name ? name : entry->name, &entry->stat);

	if (r < 0 || !opts.deep || entry->stat.kind != STORE_DIR)
		return r;
	below = mem_strdup(entry->name);
	r = below ? VEC_PUSH(&d->below, below) : -ENOMEM;
	if (r == 0)
		TAKE(below);
	return r;
}

static int list_page(struct dir *d, char **after, bool *ret_more, struct err *e)
{
	struct store_listing page;
	int r = store_list_page(d->store, d->path, *after, &page, e);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < page.n; i++)
		r = print_entry(d, &page.entries[i]);
	*ret_more = page.more;
	mem_free(*after);
	*after = page.n ? mem_strdup(page.entries[page.n - 1].name) : NULL;
	if (page.more && !*after)
		r = -ENOMEM;
	store_listing_release(&page);
	return r;
}

static int list_dir(struct dir *d, struct err *e);

static int list_below(const struct dir *d, const char *name, struct err *e)
{
	AUTO_FREE char *path = mem_printf("%s/%s", d->path, name), *shown = mem_printf("%s%s/", d->shown, name);
	struct dir below = {.store = d->store, .path = path, .shown = shown, .depth = d->depth + 1, .below = VEC_MAX(MAX_BELOW)};

	if (!path || !shown)
		return -ENOMEM;
	if (below.depth > MAX_DEPTH)
		return err_set(e, -ELOOP, "%.300s is deeper than %d directories: is there a ring of symbolic links?", shown,
			MAX_DEPTH);
	return list_dir(&below, e);
}

/* Names of directories are kept until all of a directory is printed; nothing else is. */
static int list_dir(struct dir *d, struct err *e)
{
	AUTO_FREE char *after = NULL;
	bool more = true;
	int r = 0;

	while (r == 0 && more)
		r = list_page(d, &after, &more, e);
	for (size_t i = 0; i < d->below.n; i++) {
		r = r < 0 ? r : list_below(d, d->below.ptr[i], e);
		mem_free(d->below.ptr[i]);
	}
	vec_release(&d->below);
	return r;
}

/* A directory that a pattern found is one entry: what is in it was not asked for. */
static int ls(void *url, const struct glob_hit *hit, struct err *e)
{
	struct dir d = {.store = hit->store, .path = hit->path, .shown = "", .below = VEC_MAX(MAX_BELOW)};

	if (hit->stat.kind != STORE_DIR || strcmp(hit->shown, url) != 0)
		return print_one(hit->shown, &hit->stat);
	return list_dir(&d, e);
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
