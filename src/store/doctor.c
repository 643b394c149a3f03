/* SPDX-License-Identifier: Apache-2.0 */
#include "store/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/str.h"
#include "store/store.h"

#define WORDS_MAX 1024u

void doctor_init(struct doctor *d)
{
	*d = (struct doctor){.lines = VEC_MAX(DOCTOR_MAX_LINES)};
}

void doctor_release(struct doctor *d)
{
	for (size_t i = 0; i < d->lines.n; i++)
		mem_free(d->lines.ptr[i].words);
	vec_release(&d->lines);
}

void doctor_say(struct doctor *d, enum doctor_grade grade, const char *topic, const char *fmt, ...)
{
	struct doctor_line line = {.grade = grade, .topic = topic};
	char said[WORDS_MAX], shown[WORDS_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	line.words = mem_strdup(str_printable(str_of(said), shown, sizeof(shown)));
	if (line.words && VEC_PUSH(&d->lines, line) == 0)
		return;
	/* Past the maximum nothing is lost that anybody would read. */
	if (!line.words || d->lines.n < DOCTOR_MAX_LINES)
		d->r = -ENOMEM;
	mem_free(line.words);
}

enum doctor_grade doctor_worst(const struct doctor *d)
{
	enum doctor_grade worst = DOCTOR_OK;

	for (size_t i = 0; i < d->lines.n; i++)
		worst = MAX(worst, d->lines.ptr[i].grade);
	return worst;
}

const char *doctor_grade_name(enum doctor_grade grade)
{
	static const char *const names[] = {"ok", "note", "warn", "fail"};

	return names[grade];
}

const char *doctor_time(uint64_t ns, char out[DOCTOR_NUMBER_MAX])
{
	snprintf(out, DOCTOR_NUMBER_MAX, ns < 1000000000 ? "%.1f ms" : "%.0f ms", (double)ns / 1e6);
	return out;
}

/* What any engine's operations tell. */

static void tell_space(struct store *s, const char *path, struct doctor *d)
{
	char total[STR_SIZE_MAX], room[STR_SIZE_MAX];
	struct store_space space = {0};
	struct err e = {0};
	int r = store_space_at(s, path, &space, &e);

	if (r == -EOPNOTSUPP)
		return;
	if (r < 0)
		doctor_say(d, DOCTOR_WARN, "space", "%s", err_words(&e, r));
	else
		doctor_say(d, space.free_bytes < space.total_bytes / 20 ? DOCTOR_WARN : DOCTOR_OK, "space", "%s free of %s",
			str_size((double)space.free_bytes, room), str_size((double)space.total_bytes, total));
}

/* Whether it can be read: a page of a folder, the first bytes of a file. */
static void tell_reading(struct store *s, const char *path, const struct store_stat *stat, struct doctor *d)
{
	struct store_listing page = {0};
	struct err e = {0};
	char bytes[64];
	size_t n = (size_t)MIN(stat->file.length, sizeof(bytes));
	int r = stat->kind == STORE_DIR ? store_list_page(s, path, NULL, &page, &e) :
		n ? store_pread(s, path, &stat->file, bytes, n, 0, &e) : 0;

	if (r < 0)
		doctor_say(d, DOCTOR_FAIL, "reading", "%s", err_words(&e, r));
	else if (stat->kind == STORE_DIR)
		doctor_say(d, DOCTOR_OK, "reading", "the folder can be listed: %zu%s names", page.n,
			page.more ? " and more" : "");
	else
		doctor_say(d, DOCTOR_OK, "reading", n ? "its first bytes can be read" : "it is empty");
	store_listing_release(&page);
}

void doctor_any(const char *url, struct doctor *d)
{
	AUTO_STORE struct store *s = NULL;
	AUTO_FREE char *path = NULL;
	struct store_stat stat;
	struct err e = {0};
	int r = store_open(url, &s, &path, &e);

	if (r < 0) {
		doctor_say(d, DOCTOR_FAIL, "store", "%s", err_words(&e, r));
		return;
	}
	r = store_stat(s, path, &stat, &e);
	if (r < 0) {
		doctor_say(d, DOCTOR_FAIL, "path", "%s", err_words(&e, r));
		return;
	}
	doctor_say(d, stat.kind == STORE_OTHER ? DOCTOR_FAIL : DOCTOR_OK, "path", "%s is %s%s%s%s", url,
		stat.kind == STORE_DIR ? "a folder" : stat.kind == STORE_FILE ? "a file" : "neither file nor folder",
		stat.owner ? ", of " : "", stat.owner ? stat.owner : "", stat.growing ? "; somebody writes it" : "");
	if (stat.kind != STORE_OTHER)
		tell_reading(s, path, &stat, d);
	tell_space(s, path, d);
}
