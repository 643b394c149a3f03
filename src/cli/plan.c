/* SPDX-License-Identifier: Apache-2.0 */
/* olddog plan: data -> a plan's directory, with words about what was found. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/str.h"
#include "cli/plan_out.h"
#include "cli/verbs.h"
#include "plan/plan.h"
#include "store/store.h"

static struct {
	const char *to;
	bool strict, json;
	uint64_t n_threads;
} opt;

static const struct opt opts[] = {
	{"output", 'o', OPT_TEXT, &opt.to, "PLAN", "directory of the plan, by custom X.plan; made, or gone on with"},
	{"strict", 0, OPT_FLAG, &opt.strict, NULL, "stop at a bad shard; otherwise it is left out and told"},
	{"json", 0, OPT_FLAG, &opt.json, NULL, "print JSON"},
	{"threads", 0, OPT_U64, &opt.n_threads, "N", "threads that index; by default as many as processors, at most 16"},
	{NULL},
};

static struct plan_out out;

/* Whatever is in the parts by now is found there by the next run: there is nothing to tidy up. */
static void interrupted(int sig)
{
	static const char words[] = "\nolddog: interrupted; the same command goes on where it was\n";

	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	_exit(128 + sig);
}

static void catch_interrupts(void)
{
	const struct sigaction action = {.sa_handler = interrupted};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* X.plan -> X.yaml, beside it. */
static char *spec_path(const char *plan)
{
	struct str s = str_of(plan);

	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	if (str_ends(s, ".plan"))
		s.n -= 5;
	return mem_printf("%.*s.yaml", STR_ARG(s));
}

/* Writes what was inferred, unless somebody's own spec is there. 1: written or there already, 0: left alone. */
static int spec_write_beside(const struct plan *p, const char *path, struct err *e)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *in_store = NULL;
	AUTO_FREE void *old = NULL;
	AUTO_BUF struct buf text;
	size_t n_old;
	int r = store_open(path, &store, &in_store, e);

	buf_init(&text, SPEC_MAX_BYTES);
	if (r == 0)
		r = spec_write(plan_spec(p), &text);
	if (r < 0)
		return r;
	if (store_read_all(store, in_store, SPEC_MAX_BYTES, &old, &n_old, NULL) == 0)
		return n_old == text.n && memcmp(old, text.ptr, n_old) == 0;
	r = store_create_exclusive(store, in_store, text.ptr, text.n, e);
	if (r == -EEXIST)
		return 0;
	return r < 0 ? r : 1;
}

static int make(const char *const *paths, unsigned n, struct plan **ret, bool *ret_inferred, struct err *e)
{
	struct plan_conf conf = {
		.strict = opt.strict,
		.n_threads = (unsigned)MIN(opt.n_threads, 256),
		.warn = plan_out_warn,
		.progress = plan_out_progress,
		.ctx = &out,
	};
	struct spec *spec;
	int r = plan_spec_of(paths, n, &spec, e);

	if (r < 0)
		return r;
	*ret_inferred = spec->recipe.n_fields == 0;
	return plan_make(spec, opt.to, &conf, ret, e);
}

static int run(int n, char **operands)
{
	AUTO(plan) struct plan *p = NULL;
	AUTO_FREE char *beside = NULL;
	struct err e = {0};
	bool inferred;
	int r;

	if (!opt.to) {
		log_error("plan: where to? -o X.plan names the plan's directory");
		return CMD_USAGE;
	}
	catch_interrupts();
	plan_out_begin(&out, opt.json);
	r = make((const char *const *)operands, (unsigned)n, &p, &inferred, &e);
	plan_out_clear(&out);
	if (r < 0)
		return cmd_failed(&e, r);
	if (inferred) {
		beside = spec_path(opt.to);
		if (!beside)
			return cmd_failed(&e, -ENOMEM);
	}
	/* A spec without fields that is beside the plan was followed, and stays as it is. */
	if (inferred && !(n == 1 && strcmp(operands[0], beside) == 0)) {
		r = spec_write_beside(p, beside, &e);
		if (r < 0)
			return cmd_failed(&e, r);
		out.spec_path = beside;
		out.spec_written = r > 0;
	}
	return plan_out_end(&out, p, opt.to);
}

const struct cmd cmd_plan = {
	.name = "plan",
	.operands = "SPEC|PATH.. -o PLAN",
	.help = "index data, infer or read the spec, fix the order",
	.opts = opts,
	.min_operands = 1,
	.max_operands = 65536,
	.run = run,
};
