/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cp_out.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/cmd.h"

#define DRAW_NS (NS_PER_S / 4)
#define SHOWN_BYTES 600

int cp_out_init(struct cp_out *o)
{
	o->begun_ns = clock_monotonic_ns();
	o->terminal = !o->json && !o->each && isatty(STDERR_FILENO);
	o->failures = o->json ? json_array() : NULL;
	return o->json && !o->failures ? -ENOMEM : 0;
}

static void wipe(struct cp_out *o)
{
	if (o->drawn)
		fputs("\r\033[K", stderr);
	o->drawn = false;
}

static void add_failure(struct cp_out *o, const char *from, const char *to, const char *words)
{
	char a[SHOWN_BYTES], b[SHOWN_BYTES], c[SHOWN_BYTES];

	if (o->failures && json_array_size(o->failures) < CP_MAX_FAILURES)
		json_array_append_new(o->failures, json_pack("{s:s,s:s,s:s}",
			"from", str_printable(str_of(from), a, sizeof(a)), "to", str_printable(str_of(to), b, sizeof(b)),
			"why", str_printable(str_of(words), c, sizeof(c))));
}

void cp_out_event(void *ctx, enum copy_event event, const char *from, const char *to, uint64_t n_bytes, const char *words)
{
	static const char *const done[] = {[COPY_COPIED] = "copied", [COPY_REPLACED] = "replaced", [COPY_WHOLE] = "whole"};
	static const char *const would[] = {[COPY_COPIED] = "copy", [COPY_REPLACED] = "replace", [COPY_WHOLE] = "skip"};
	struct cp_out *o = ctx;
	char a[SHOWN_BYTES], b[SHOWN_BYTES];

	if (event == COPY_FAILED) {
		wipe(o);
		log_error("%s", words);
		add_failure(o, from, to, words);
	} else if (o->each && !o->json) {
		printf("%-8s  %14llu  %s -> %s\n", (o->dry ? would : done)[event], (unsigned long long)n_bytes,
			str_printable(str_of(from), a, sizeof(a)), str_printable(str_of(to), b, sizeof(b)));
	}
}

static void draw_left(const struct copy_counts *c, double rate)
{
	uint64_t done = c->bytes_moved + c->bytes_resumed + c->bytes_skipped, left = c->n_bytes > done ? c->n_bytes - done : 0;
	uint64_t seconds = rate > 0 ? (uint64_t)((double)left / rate) : 0;

	if (c->all_seen && rate > 0)
		fprintf(stderr, ", %llu:%02llu left", (unsigned long long)(seconds / 60), (unsigned long long)(seconds % 60));
}

void cp_out_progress(void *ctx, const struct copy_counts *c)
{
	struct cp_out *o = ctx;
	uint64_t now;
	char done[STR_SIZE_MAX], all[STR_SIZE_MAX], rate_text[STR_SIZE_MAX];
	double rate;

	if (!o->terminal)
		return;
	now = clock_monotonic_ns();
	if (now < o->drawn_ns + DRAW_NS)
		return;
	o->drawn_ns = now;
	rate = (double)c->bytes_moved / ((double)(now - o->begun_ns) / NS_PER_S);
	fprintf(stderr, "\r\033[K%llu of %llu%s files, %s of %s, %s/s", (unsigned long long)(c->n_copied + c->n_skipped),
		(unsigned long long)c->n_files, c->all_seen ? "" : " or more",
		str_size((double)(c->bytes_moved + c->bytes_resumed + c->bytes_skipped), done), str_size((double)c->n_bytes, all),
		str_size(rate, rate_text));
	draw_left(c, rate);
	o->drawn = true;
}

static int print_json(struct cp_out *o, const struct copy_counts *c, double seconds)
{
	return cmd_print_json(json_pack("{s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:o}", "dry", o->dry,
		"files", (json_int_t)c->n_files, "dirs", (json_int_t)c->n_dirs,
		"copied", (json_int_t)c->n_copied, "bytes_copied", (json_int_t)c->bytes_copied,
		"bytes_resumed", (json_int_t)c->bytes_resumed,
		"skipped", (json_int_t)c->n_skipped, "bytes_skipped", (json_int_t)c->bytes_skipped,
		"failed", (json_int_t)c->n_failed, "seconds", seconds, "failures", o->failures));
}

int cp_out_finish(struct cp_out *o, const struct copy_counts *c)
{
	double seconds = (double)(clock_monotonic_ns() - o->begun_ns) / NS_PER_S;
	char copied[STR_SIZE_MAX], resumed[STR_SIZE_MAX], rate[STR_SIZE_MAX];
	int r = CMD_DONE;

	wipe(o);
	if (o->json)
		return print_json(o, c, seconds);
	printf("%s %llu files, %s", o->dry ? "would copy" : "copied", (unsigned long long)c->n_copied,
		str_size((double)c->bytes_copied, copied));
	if (c->bytes_resumed)
		printf(" (%s of it were there in parts)", str_size((double)c->bytes_resumed, resumed));
	if (c->n_skipped)
		printf("; %llu were whole already", (unsigned long long)c->n_skipped);
	if (c->n_failed)
		printf("; %llu failed", (unsigned long long)c->n_failed);
	if (!o->dry)
		printf("; %.1f s, %s/s", seconds, str_size((double)c->bytes_moved / seconds, rate));
	printf("\n");
	return r;
}
