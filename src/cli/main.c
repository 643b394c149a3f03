/* SPDX-License-Identifier: Apache-2.0 */
/* olddog: the table of verbs. A new verb is its file, a line here, and one in cli/verbs.h. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/start.h"
#include "cli/cmd.h"
#include "cli/verbs.h"

/* In the order of --help. */
static const struct cmd *const cmds[] = {
	&cmd_doctor,
	&cmd_ls,
	&cmd_cat,
	&cmd_stat,
	&cmd_cp,
	&cmd_rm,
	&cmd_mkdir,
	&cmd_df,
	&cmd_plan,
	&cmd_peek,
	&cmd_read,
	NULL,
};

static void print_help(void)
{
	printf("usage: olddog VERB [options] ..\n"
	       "New tricks for the storage you already run.\n\n");
	for (const struct cmd *const *c = cmds; *c; c++)
		printf("  %-10s %s\n", (*c)->name, (*c)->help);
	printf("\n`olddog VERB --help` tells the options of one; `olddog --version` which olddog this is.\n");
}

static int unknown_verb(const char *name)
{
	const char *nearest = cmd_nearest(cmds, name);

	if (nearest)
		log_error("%s: no such verb; did you mean %s?", name, nearest);
	else
		log_error("%s: no such verb; `olddog --help` lists them", name);
	return CMD_USAGE;
}

static int run(int argc, char **argv)
{
	const struct cmd *cmd;

	if (argc < 2) {
		log_error("which verb? `olddog --help` lists them");
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help();
		return CMD_DONE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("olddog %s\n", OLDDOG_VERSION);
		return CMD_DONE;
	}
	cmd = cmd_find(cmds, argv[1]);
	return cmd ? cmd_run(cmd, argc - 1, argv + 1) : unknown_verb(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	start_program();
	log_name("olddog");
	status = run(argc, argv);
	/* A full disk shows only here. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == CMD_DONE) {
		log_error("stdout: %s", err_text(-errno));
		return CMD_FAILED;
	}
	return status;
}
