/* SPDX-License-Identifier: Apache-2.0 */
/* Options by table: what getopt_long() parses and what --help prints are the same lines. */
#include "cli/cmd.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/scope.h"
#include "base/str.h"
#include "store/store.h"

#define MAX_OPTS 64
/* getopt_long() gives an option's index plus this; below it are letters. */
#define LONG_BASE 256
#define LONG_HELP (LONG_BASE + MAX_OPTS)

/* The table as getopt_long() wants it. */
struct parser {
	struct option longs[MAX_OPTS + 2];
	char letters[2 * MAX_OPTS + 2];
};

static void parser_init(struct parser *p, const struct opt *opts)
{
	size_t n = 0, n_letters = 0;

	memset(p, 0, sizeof(*p));
	/* First a colon: "argument missing" is then told apart from "unknown". */
	p->letters[n_letters++] = ':';
	for (; opts && opts[n].name; n++) {
		int has_arg = opts[n].kind == OPT_FLAG ? no_argument : required_argument;

		assert(n < MAX_OPTS);
		p->longs[n] = (struct option){opts[n].name, has_arg, NULL, LONG_BASE + (int)n};
		if (!opts[n].letter)
			continue;
		p->letters[n_letters++] = opts[n].letter;
		if (has_arg == required_argument)
			p->letters[n_letters++] = ':';
	}
	p->longs[n] = (struct option){"help", no_argument, NULL, LONG_HELP};
}

static void print_usage(FILE *f, const struct cmd *cmd)
{
	fprintf(f, "usage: olddog %s%s%s%s\n", cmd->name, cmd->opts ? " [options]" : "",
		cmd->operands[0] ? " " : "", cmd->operands);
}

static void print_opt(const struct opt *o)
{
	char name[64];

	snprintf(name, sizeof(name), "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
	if (o->letter)
		printf("  -%c, %-24s %s\n", o->letter, name, o->help);
	else
		printf("      %-24s %s\n", name, o->help);
}

static void print_help(const struct cmd *cmd)
{
	static const struct opt help = {.name = "help", .help = "this text"};

	print_usage(stdout, cmd);
	printf("olddog %s: %s.\n\n", cmd->name, cmd->help);
	for (const struct opt *o = cmd->opts; o && o->name; o++)
		print_opt(o);
	print_opt(&help);
}

static int opt_wrong(const struct cmd *cmd, const struct opt *o, const char *arg, const char *want)
{
	log_error("--%s %s: not %s; `olddog %s --help` tells more", o->name, arg, want, cmd->name);
	return CMD_USAGE;
}

static int opt_take(const struct cmd *cmd, const struct opt *o, const char *arg)
{
	struct opt_texts *texts = o->to;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)o->to = true;
		return 0;
	case OPT_TEXT:
		*(const char **)o->to = arg;
		return 0;
	case OPT_TEXTS:
		if (texts->n == OPT_MAX_TEXTS)
			return opt_wrong(cmd, o, arg, "possible more than 256 times");
		texts->texts[texts->n++] = arg;
		return 0;
	case OPT_U64:
		if (str_to_u64(str_of(arg), o->to) < 0)
			return opt_wrong(cmd, o, arg, "a whole number");
		return 0;
	case OPT_SIZE:
		if (str_to_size(str_of(arg), o->to) < 0)
			return opt_wrong(cmd, o, arg, "a size such as 4096, 64K or 1G");
		return 0;
	}
	assert(!"kind of option");
	return CMD_USAGE;
}

static const char *nearest_opt(const struct cmd *cmd, struct str name)
{
	const char *best = NULL;
	size_t best_distance = 3;

	for (const struct opt *o = cmd->opts; o && o->name; o++) {
		size_t distance = str_distance(name, str_of(o->name));

		if (distance < best_distance) {
			best_distance = distance;
			best = o->name;
		}
	}
	return best;
}

/* What getopt_long() answered '?' to; word is where it stands. */
static void say_unknown(const struct cmd *cmd, const char *word)
{
	struct str name = str_of(word);
	const char *nearest;

	if (optopt >= LONG_BASE) {
		log_error("%s: takes no argument", word);
		return;
	}
	if (optopt) {
		log_error("-%c: no such option; `olddog %s --help` lists them", optopt, cmd->name);
		return;
	}
	name = str_split(&name, '=');
	nearest = nearest_opt(cmd, (struct str){name.p + MIN(2, name.n), name.n - MIN(2, name.n)});
	if (nearest)
		log_error("%s: no such option; did you mean --%s?", word, nearest);
	else
		log_error("%s: no such option; `olddog %s --help` lists them", word, cmd->name);
}

/* The option that getopt_long() means by c. */
static const struct opt *opt_of(const struct cmd *cmd, int c)
{
	if (c >= LONG_BASE)
		return &cmd->opts[c - LONG_BASE];
	for (const struct opt *o = cmd->opts; o && o->name; o++)
		if (o->letter == c)
			return o;
	return NULL;
}

/* 0: go on. Else *ret_exit says how to end. */
static int parse_opts(const struct cmd *cmd, int argc, char **argv, int *ret_exit)
{
	struct parser p;
	int c;

	parser_init(&p, cmd->opts);
	opterr = 0;
	optind = 0; /* of glibc: starts afresh, also when something was parsed before */
	*ret_exit = CMD_USAGE;
	while ((c = getopt_long(argc, argv, p.letters, p.longs, NULL)) != -1) {
		switch (c) {
		case LONG_HELP:
			print_help(cmd);
			*ret_exit = CMD_DONE;
			return -1;
		case ':':
			log_error("%s needs an argument; `olddog %s --help` tells more", argv[optind - 1], cmd->name);
			return -1;
		case '?':
			say_unknown(cmd, argv[optind - 1]);
			return -1;
		}
		if (opt_take(cmd, opt_of(cmd, c), optarg) != 0)
			return -1;
	}
	return 0;
}

bool cmd_stats;

static void print_counter(void *ctx, const char *name, uint64_t value)
{
	fprintf(stderr, "%s %llu\n", name, (unsigned long long)value);
}

int cmd_run(const struct cmd *cmd, int argc, char **argv)
{
	int how, n, status;

	if (parse_opts(cmd, argc, argv, &how) < 0)
		return how;
	n = argc - optind;
	if (n < cmd->min_operands || n > cmd->max_operands) {
		print_usage(stderr, cmd);
		return CMD_USAGE;
	}
	status = cmd->run(n, argv + optind);
	if (cmd_stats)
		store_counters_of_all(print_counter, NULL);
	return status;
}

const struct cmd *cmd_find(const struct cmd *const *cmds, const char *name)
{
	for (; *cmds; cmds++)
		if (strcmp((*cmds)->name, name) == 0)
			return *cmds;
	return NULL;
}

const char *cmd_nearest(const struct cmd *const *cmds, const char *name)
{
	const char *best = NULL;
	size_t best_distance = 3;

	for (; *cmds; cmds++) {
		size_t distance = str_distance(str_of(name), str_of((*cmds)->name));

		if (distance < best_distance && distance < strlen((*cmds)->name)) {
			best_distance = distance;
			best = (*cmds)->name;
		}
	}
	return best;
}

int cmd_failed(const struct err *e, int r)
{
	log_error("%s", err_words(e, r));
	return CMD_FAILED;
}

int cmd_print_json(json_t *json)
{
	int r = json ? json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : -1;

	json_decref(json);
	if (r < 0)
		return cmd_failed(NULL, -ENOMEM);
	putchar('\n');
	return CMD_DONE;
}
