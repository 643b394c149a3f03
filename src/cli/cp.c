/* SPDX-License-Identifier: Apache-2.0 */
/* olddog cp: files and trees from any store to any store, resumable and verified (store/copy.h). */
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "base/scope.h"
#include "base/str.h"
#include "cli/cp_out.h"
#include "cli/verbs.h"
#include "store/glob.h"
#include "store/path.h"
#include "store/url.h"

#define EXIT_INTERRUPTED 130

static struct {
	bool dry, overwrite, preserve, json, verbose, recursive;
	uint64_t jobs, part_bytes;
} opts = {.jobs = 16, .part_bytes = 256u << 20};

static const struct opt table[] = {
	{"dry-run", 'n', OPT_FLAG, &opts.dry, NULL, "say for each file what would be done, and change nothing"},
	{"overwrite", 0, OPT_FLAG, &opts.overwrite, NULL, "replace files that are there and differ, in place of refusing them"},
	{"preserve", 'p', OPT_FLAG, &opts.preserve, NULL, "keep times and mode, and owner and group where that is allowed"},
	{"recursive", 'r', OPT_FLAG, &opts.recursive, NULL, "nothing more: folders are copied whole in any case"},
	{"verbose", 'v', OPT_FLAG, &opts.verbose, NULL, "a line for each file"},
	{"json", 0, OPT_FLAG, &opts.json, NULL, "the summary as an object"},
	{"jobs", 'j', OPT_U64, &opts.jobs, "N", "files, or parts of large ones, at once (16)"},
	{"part-size", 0, OPT_SIZE, &opts.part_bytes, "BYTES", "copy files of two such parts or more in parts (256M; 0: never)"},
	{"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP},
	{NULL},
};

static atomic_bool stopped;

static void on_signal(int number)
{
	atomic_store(&stopped, true);
}

/* The first asks for an orderly end, the second ends. */
static void watch_signals(void)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

struct target {
	const char *url;
	struct store *store;
	char *path;
	bool is_dir;		/* it is there, and a directory */
	bool into;		/* sources go into it by their names */
};

struct source {
	struct copy *copy;
	const struct target *target;
	const char *url;
};

static const char *last_part(const char *clean)
{
	const char *slash = strrchr(clean, '/');

	return slash ? slash + 1 : clean;
}

/* Both of one scheme, and the target below the source: it would be copied into itself for ever. */
static bool is_into_itself(const char *source, const char *path, const struct target *t)
{
	AUTO_URL struct url a = {NULL}, b = {NULL};
	AUTO_FREE char *from = mem_alloc(STORE_NAME_MAX), *to = mem_alloc(STORE_NAME_MAX);

	if (!from || !to || store_url(source, &a, NULL) < 0 || store_url(t->url, &b, NULL) < 0)
		return false;
	if (strcmp(a.scheme, b.scheme) != 0 || strlen(a.rest) >= STORE_NAME_MAX || strlen(b.rest) >= STORE_NAME_MAX)
		return false;
	path_clean(a.rest, from);
	path_clean(b.rest, to);
	return strcmp(from, to) != 0 && path_is_below(to, str_of(from));
}

static char *target_path(const struct source *s, const struct glob_hit *hit, const char *name)
{
	const struct target *t = s->target;
	/* What a pattern finds goes in; a name may have the same characters, and then it is one. */
	bool into = t->into || strcmp(hit->shown, s->url) != 0 || (hit->stat.kind == STORE_FILE && t->is_dir);
	size_t n = strlen(t->path);

	if (!into)
		return mem_strdup(t->path);
	return mem_printf("%s%s%s", t->path, n && t->path[n - 1] != '/' ? "/" : "", name);
}

static int add(void *ctx, const struct glob_hit *hit, struct err *e)
{
	const struct source *s = ctx;
	AUTO_FREE char *clean = mem_alloc(STORE_NAME_MAX), *to = NULL;

	if (!clean)
		return -ENOMEM;
	if (hit->stat.kind == STORE_DIR && is_into_itself(hit->shown, hit->path, s->target))
		return err_set(e, -EINVAL, "%.200s is not copied into itself (%.200s)", hit->shown, s->target->url);
	path_clean(hit->path, clean);
	if (*last_part(clean) == '\0' && s->target->into)
		return err_set(e, -EINVAL, "%.200s has no name by which it could go into %.200s", hit->shown, s->target->url);
	to = target_path(s, hit, last_part(clean));
	return to ? copy_add(s->copy, hit->store, hit->path, &hit->stat, s->target->store, to, e) : -ENOMEM;
}

static int target_open(struct target *t, const char *url, int n_sources, struct err *e)
{
	size_t n = strlen(url);
	struct store_stat stat;
	struct err words = {0};
	int r = store_open(url, &t->store, &t->path, e);

	if (r < 0)
		return r;
	t->url = url;
	r = store_stat(t->store, t->path, &stat, &words);
	if (r < 0 && r != -ENOENT) {
		*e = words;
		return r;
	}
	t->is_dir = r == 0 && stat.kind == STORE_DIR;
	t->into = n_sources > 1 || (n && url[n - 1] == '/');
	if (t->into && r == 0 && !t->is_dir)
		return err_set(e, -ENOTDIR, "%.300s is no directory: %s", url,
			n_sources > 1 ? "several sources do not go into it" : "it is written with a slash");
	return 0;
}

/* What an earlier copy left where files go, or beside the one that comes; trees are swept by themselves. */
static void sweep_target(const struct target *t)
{
	const char *slash = strrchr(t->path, '/');
	AUTO_FREE char *parent = slash && slash > t->path ? mem_strndup(t->path, (size_t)(slash - t->path)) : NULL;

	if (t->is_dir || parent)
		copy_sweep(t->store, t->is_dir ? t->path : parent);
}

static int copy_all(struct copy *c, const struct target *t, int n, char **urls)
{
	int status = CMD_DONE;

	for (int i = 0; i < n && !atomic_load(&stopped); i++) {
		struct source s = {c, t, urls[i]};
		struct err e = {0};
		int r = glob_url(urls[i], add, &s, &e);

		if (r < 0 && r != -ECANCELED)
			status = cmd_failed(&e, r);
	}
	return status;
}

static int finish(struct copy *c, struct cp_out *out, int status)
{
	struct copy_counts counts = {0};
	struct err e = {0};
	int r = copy_finish(c, &counts, &e), printed = cp_out_finish(out, &counts);

	if (r == -ECANCELED) {
		log_warn("interrupted; the same command goes on where this one stopped");
		return EXIT_INTERRUPTED;
	}
	if (r < 0)
		return cmd_failed(&e, r);
	return status != CMD_DONE ? status : counts.n_failed ? CMD_FAILED : printed;
}

static int run(int n, char **urls)
{
	const struct copy_rules rules = {.overwrite = opts.overwrite, .dry = opts.dry, .preserve = opts.preserve,
		.n_workers = (unsigned)MIN(MAX(opts.jobs, 1), COPY_MAX_WORKERS), .part_bytes = opts.part_bytes};
	struct cp_out out = {.json = opts.json, .each = opts.dry || opts.verbose, .dry = opts.dry};
	const struct copy_watch watch = {cp_out_event, cp_out_progress, &out};
	struct target target = {NULL};
	AUTO(copy) struct copy *c = NULL;
	struct err e = {0};
	int status, r;

	watch_signals();
	r = target_open(&target, urls[n - 1], n - 1, &e);
	if (r == 0 && !opts.dry)
		sweep_target(&target);
	if (r == 0)
		r = cp_out_init(&out);
	if (r == 0)
		r = copy_new(&rules, &watch, &stopped, &c);
	status = r < 0 ? cmd_failed(&e, r) : finish(c, &out, copy_all(c, &target, n - 1, urls));
	store_unref(target.store);
	mem_free(target.path);
	return status;
}

const struct cmd cmd_cp = {
	.name = "cp",
	.operands = "SOURCE.. TARGET",
	.help = "copy files and trees between stores, resumable and verified",
	.opts = table,
	.min_operands = 2,
	.max_operands = 1000000,
	.run = run,
};
