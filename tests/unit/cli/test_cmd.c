/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs and their options by table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scope.h"
#include "cli/cmd.h"

static struct {
	bool json;
	const char *out;
	struct opt_texts servers;
	uint64_t samples, limit_bytes;
	int n_operands, n_runs;
	const char *first;
} got;

static const struct opt opts[] = {
	{"json", 'j', OPT_FLAG, &got.json, NULL, "for machines"},
	{"out", 'o', OPT_TEXT, &got.out, "DIR", "where"},
	{"server", 0, OPT_TEXTS, &got.servers, "H:P", "whom to ask"},
	{"samples", 'n', OPT_U64, &got.samples, "N", "how many"},
	{"limit", 0, OPT_SIZE, &got.limit_bytes, "BYTES", "at most"},
	{NULL},
};

static int run(int n, char **operands)
{
	got.n_operands = n;
	got.n_runs++;
	got.first = n ? operands[0] : NULL;
	return CMD_DONE;
}

static const struct cmd cmd_read = {.name = "read", .operands = "PLAN [MORE]", .help = "Reads", .opts = opts,
	.min_operands = 1, .max_operands = 2, .run = run};
static const struct cmd cmd_plan = {.name = "plan", .operands = "", .help = "Plans", .run = run};
static const struct cmd *const cmds[] = {&cmd_plan, &cmd_read, NULL};

#define RUN(cmd, ...)                                                                                        \
	({                                                                                                   \
		char *argv_[] = {(char *)"verb", __VA_ARGS__, NULL};                                         \
		memset(&got, 0, sizeof(got));                                                                \
		cmd_run(cmd, (int)N_ELEMS(argv_) - 1, argv_);                                                \
	})
#define W(s) (char *)(s)

static void options_come_in_any_order_and_form(void **state)
{
	assert_int_equal(RUN(&cmd_read, W("plan"), W("--samples=17"), W("-o"), W("dir"), W("--server"), W("a:1"), W("-j"),
		W("--server=b:2"), W("--limit"), W("4K"), W("--"), W("-odd")), CMD_DONE);
	assert_int_equal(got.n_runs, 1);
	assert_true(got.json);
	assert_string_equal(got.out, "dir");
	assert_int_equal(got.samples, 17);
	assert_int_equal(got.limit_bytes, 4096);
	assert_int_equal(got.servers.n, 2);
	assert_string_equal(got.servers.texts[1], "b:2");
	assert_int_equal(got.n_operands, 2);
	assert_string_equal(got.first, "plan");
}

static void wrong_usage_does_not_run(void **state)
{
	assert_int_equal(RUN(&cmd_read, W("plan"), W("--sampels=17")), CMD_USAGE);
	assert_int_equal(RUN(&cmd_read, W("plan"), W("-q")), CMD_USAGE);
	assert_int_equal(RUN(&cmd_read, W("plan"), W("--samples")), CMD_USAGE);
	assert_int_equal(RUN(&cmd_read, W("plan"), W("--samples=many")), CMD_USAGE);
	assert_int_equal(RUN(&cmd_read, W("plan"), W("--limit=-1")), CMD_USAGE);
	assert_int_equal(RUN(&cmd_read, W("plan"), W("--json=yes")), CMD_USAGE);
	assert_int_equal(RUN(&cmd_read, W("--json")), CMD_USAGE);
	assert_int_equal(RUN(&cmd_read, W("a"), W("b"), W("c")), CMD_USAGE);
	assert_int_equal(RUN(&cmd_plan, W("a")), CMD_USAGE);
	assert_int_equal(got.n_runs, 0);
}

static void help_is_done_without_running(void **state)
{
	assert_int_equal(RUN(&cmd_read, W("--help")), CMD_DONE);
	assert_int_equal(got.n_runs, 0);
	assert_int_equal(RUN(&cmd_plan, W("--help")), CMD_DONE);
	assert_int_equal(got.n_runs, 0);
}

static void a_verb_is_found_or_the_nearest_is_named(void **state)
{
	assert_ptr_equal(cmd_find(cmds, "read"), &cmd_read);
	assert_null(cmd_find(cmds, "raed"));
	assert_string_equal(cmd_nearest(cmds, "raed"), "read");
	assert_string_equal(cmd_nearest(cmds, "plann"), "plan");
	assert_null(cmd_nearest(cmds, "replicate"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_come_in_any_order_and_form),
		cmocka_unit_test(wrong_usage_does_not_run),
		cmocka_unit_test(help_is_done_without_running),
		cmocka_unit_test(a_verb_is_found_or_the_nearest_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
