/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a verb is. Each lives in a file of its name, cli/VERB.c, as one `const struct cmd cmd_VERB` with its table of
 * options, from which parsing and help are made; cli/main.c has the table of verbs. A verb runs once per process, so
 * its options are static variables that the table points to.
 */
#ifndef OLDDOG_CLI_CMD_H
#define OLDDOG_CLI_CMD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum cmd_exit { CMD_DONE = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

/* What an option's `to` points to. */
enum opt_kind {
	OPT_FLAG = 1,	/* bool: set when the option is there */
	OPT_TEXT,	/* const char *, the argument itself */
	OPT_TEXTS,	/* struct opt_texts: the option may be repeated */
	OPT_U64,	/* uint64_t */
	OPT_SIZE,	/* uint64_t, bytes: 4096, 64K, 1G */
};

#define OPT_MAX_TEXTS 256

struct opt_texts {
	const char *texts[OPT_MAX_TEXTS];
	unsigned n;
};

struct opt {
	const char *name;	/* --name; NULL ends the table */
	char letter;		/* -l, or 0 */
	enum opt_kind kind;
	void *to;
	const char *arg;	/* how help names the argument; NULL for a flag */
	const char *help;	/* one line, begins small, no full stop */
};

struct cmd {
	const char *name;
	const char *operands;	/* as usage prints them: "URL.." */
	const char *help;	/* one line, begins small, no full stop */
	const struct opt *opts;	/* NULL: none but --help */
	int min_operands, max_operands;
	/* Gets operands only. enum cmd_exit. */
	int (*run)(int n, char **operands);
};

/* For a row {"stats", 0, OPT_FLAG, &cmd_stats, NULL, CMD_STATS_HELP}: cmd_run() ends with the counters of all stores. */
extern bool cmd_stats;
#define CMD_STATS_HELP "on stderr, at the end: what the stores have counted"

/* Parses argv (argv[0] is the verb) by the verb's table, says on stderr what is wrong, and runs it. enum cmd_exit. */
int cmd_run(const struct cmd *cmd, int argc, char **argv);
/* The verb of this name or NULL; cmds ends with NULL. */
const struct cmd *cmd_find(const struct cmd *const *cmds, const char *name);
/* The nearest name of a verb, when it is near enough to be meant; or NULL. */
const char *cmd_nearest(const struct cmd *const *cmds, const char *name);

/* For verbs: says it and gives CMD_FAILED. */
int cmd_failed(const struct err *e, int r);
/* Prints and frees; NULL (short of memory while it was built) is a failure. enum cmd_exit. */
int cmd_print_json(json_t *json);

#endif
