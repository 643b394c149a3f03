/* SPDX-License-Identifier: Apache-2.0 */
/* olddog doctor: what can be found out about a store by asking, and what to do about it (store/doctor.h). */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/str.h"
#include "cli/verbs.h"
#include "store/doctor.h"
#include "store/store.h"

#define MAX_SECONDS 3600u

static struct {
	bool json;
	uint64_t seconds;
} opts = {.seconds = DOCTOR_TIMEOUT_NS / NS_PER_S};

static const struct opt table[] = {
	{"timeout", 't', OPT_U64, &opts.seconds, "SECONDS", "how long to wait for each answer (5)"},
	{"json", 0, OPT_FLAG, &opts.json, NULL, "an array of objects in place of the lines"},
	{NULL},
};

static void print_lines(const struct doctor *d)
{
	int width = 0;

	for (size_t i = 0; i < d->lines.n; i++)
		width = MAX(width, (int)strlen(d->lines.ptr[i].topic));
	for (size_t i = 0; i < d->lines.n; i++)
		printf("%-4s  %s:%*s  %s\n", doctor_grade_name(d->lines.ptr[i].grade), d->lines.ptr[i].topic,
			width - (int)strlen(d->lines.ptr[i].topic), "", d->lines.ptr[i].words);
}

static json_t *json_of(const char *url, const struct doctor *d)
{
	json_t *lines = json_array();
	char shown[STORE_NAME_MAX];

	for (size_t i = 0; i < d->lines.n; i++)
		if (json_array_append_new(lines, json_pack("{s:s,s:s,s:s}", "grade", doctor_grade_name(d->lines.ptr[i].grade),
			"topic", d->lines.ptr[i].topic, "words", d->lines.ptr[i].words)) < 0) {
			json_decref(lines);
			return NULL;
		}
	return json_pack("{s:s,s:s,s:o}", "url", str_printable(str_of(url), shown, sizeof(shown)), "grade",
		doctor_grade_name(doctor_worst(d)), "lines", lines);
}

/* True: nothing has failed. */
static bool look_at(const char *url, bool many, json_t *all)
{
	AUTO_DOCTOR struct doctor d;
	char shown[STORE_NAME_MAX];
	int r;

	doctor_init(&d);
	d.timeout_ns = opts.seconds * NS_PER_S;
	r = store_doctor(url, &d);
	if (r == 0 && opts.json && json_array_append_new(all, json_of(url, &d)) < 0)
		r = -ENOMEM;
	if (many && !opts.json)
		printf("%s\n", str_printable(str_of(url), shown, sizeof(shown)));
	if (!opts.json)
		print_lines(&d);
	if (r < 0)
		log_error("%s: %s", str_printable(str_of(url), shown, sizeof(shown)), err_text(r));
	return r == 0 && doctor_worst(&d) != DOCTOR_FAIL;
}

static int run(int n, char **urls)
{
	json_t *all = opts.json ? json_array() : NULL;
	int status = CMD_DONE;

	if (opts.seconds == 0 || opts.seconds > MAX_SECONDS) {
		log_error("--timeout is to be 1 to %u seconds", MAX_SECONDS);
		json_decref(all);
		return CMD_USAGE;
	}
	for (int i = 0; i < MAX(n, 1); i++)
		if (!look_at(n ? urls[i] : ".", n > 1, all))
			status = CMD_FAILED;
	return opts.json && cmd_print_json(all) != CMD_DONE ? CMD_FAILED : status;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.operands = "[URL..]",
	.help = "say whether a store can be used from here, what is missing, and what to do",
	.opts = table,
	.max_operands = 1000000,
	.run = run,
};
