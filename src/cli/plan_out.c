/* SPDX-License-Identifier: Apache-2.0 */
/* Words and figures of `olddog plan`. */
#include "cli/plan_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/str.h"
#include "cli/cmd.h"

#define SHOW_EVERY_NS (NS_PER_S / 10)
#define WARNINGS_MAX 10000u

const char *grouped(uint64_t v, char out[32])
{
	char digits[32];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, v), at = 0;

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

void plan_out_begin(struct plan_out *o, bool json)
{
	*o = (struct plan_out){.json = json, .terminal = isatty(STDERR_FILENO), .begin_ns = clock_monotonic_ns()};
	o->warnings = json_array();
}

void plan_out_clear(struct plan_out *o)
{
	if (o->line)
		fputs("\r\033[K", stderr);
	o->line = false;
}

void plan_out_warn(void *ctx, const char *words)
{
	struct plan_out *o = ctx;

	plan_out_clear(o);
	log_warn("%s", words);
	if (json_array_size(o->warnings) < WARNINGS_MAX)
		json_array_append_new(o->warnings, json_string(words));
}

void plan_out_progress(void *ctx, uint64_t n_done, uint64_t n_all, uint64_t n_bytes)
{
	struct plan_out *o = ctx;
	uint64_t now = clock_monotonic_ns();
	double passed = (double)(now - o->begin_ns) / NS_PER_S;
	char done[32], all[32], bytes[32];

	if (!o->terminal || now - o->shown_ns < SHOW_EVERY_NS)
		return;
	o->shown_ns = now;
	o->line = true;
	fprintf(stderr, "\r\033[K%s of %s files, %s, %s/s, %.0f s left", grouped(n_done, done), grouped(n_all, all),
		str_size((double)n_bytes, bytes), str_size((double)n_bytes / (passed + 1e-9), (char[STR_SIZE_MAX]){0}),
		passed * (double)(n_all - n_done) / (double)MAX(n_done, 1));
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_found(const struct plan_out *o, const struct plan_stats *st, double seconds)
{
	char a[32];

	if (st->n_archives > 0)
		printf("%s shard%s, ", grouped(st->n_archives, a), plural(st->n_archives));
	if (st->n_files > 0)
		printf("%s file%s, ", grouped(st->n_files, a), plural(st->n_files));
	printf("%s, ", str_size((double)st->n_bytes, a));
	printf("%s sample%s ", grouped(st->n_found, a), plural(st->n_found));
	for (unsigned i = 0; i < st->n_exts; i++)
		printf("  %s %s", st->exts[i].name[0] ? st->exts[i].name : "(no extension)", grouped(st->exts[i].n, a));
	printf("   %.1f s at %s/s", seconds, str_size((double)st->n_bytes / (seconds + 1e-9), a));
	if (st->n_taken_over > 0)
		printf(" (%s shards had been done before)", grouped(st->n_taken_over, a));
	printf("\n");
	if (st->n_bad > 0)
		printf("%s bad shard%s left out (--strict stops): %s\n", grouped(st->n_bad, a), plural(st->n_bad),
			st->bad);
}

static const char *on_missing_name(enum on_missing m)
{
	static const char *const names[] = {"skip", "fail", "empty"};

	return names[m];
}

static void print_missing(const struct plan *p)
{
	const struct plan_stats *st = plan_stats(p);
	const struct spec *spec = plan_spec(p);
	char a[32];

	for (unsigned i = 0; i < spec->recipe.n_fields; i++) {
		if (st->missing[i].n == 0)
			continue;
		printf("%s sample%s without %s (first %s) -> on_missing: %s\n", grouped(st->missing[i].n, a),
			plural(st->missing[i].n), spec->recipe.fields[i].name, st->missing[i].first,
			on_missing_name(spec->fields[i].on_missing));
	}
}

static int print_text(const struct plan_out *o, const struct plan *p, const char *to, double seconds)
{
	char id[9], a[32], b[32];

	print_found(o, plan_stats(p), seconds);
	print_missing(p);
	hex_of(plan_order_id(p), 4, id);
	printf("%s: %s samples, %s an epoch", to, grouped(plan_n_samples(p), a), grouped(plan_epoch_len(p), b));
	if (o->spec_path)
		printf(o->spec_written ? "   Spec written: %s" :
			"   %s was left as it is, and not followed: name it in place of the data for that", o->spec_path);
	printf("   id %s\n", id);
	return CMD_DONE;
}

static json_t *missing_json(const struct plan *p)
{
	const struct plan_stats *st = plan_stats(p);
	const struct spec *spec = plan_spec(p);
	json_t *all = json_object();

	for (unsigned i = 0; i < spec->recipe.n_fields; i++)
		if (st->missing[i].n > 0)
			json_object_set_new(all, spec->recipe.fields[i].name,
				json_pack("{s:I, s:s, s:s}", "samples", (json_int_t)st->missing[i].n, "first",
					st->missing[i].first, "on_missing", on_missing_name(spec->fields[i].on_missing)));
	return all;
}

static json_t *exts_json(const struct plan_stats *st)
{
	json_t *all = json_object();

	for (unsigned i = 0; i < st->n_exts; i++)
		json_object_set_new(all, st->exts[i].name, json_integer((json_int_t)st->exts[i].n));
	return all;
}

static json_t *result_json(const struct plan_out *o, const struct plan *p, const char *to, double seconds)
{
	const struct plan_stats *st = plan_stats(p);
	char order_id[SHA256_HEX], fields_id[SHA256_HEX];
	json_t *j;

	hex_of(plan_order_id(p), SHA256_BYTES, order_id);
	hex_of(plan_fields_id(p), SHA256_BYTES, fields_id);
	j = json_pack("{s:s, s:s%, s:s, s:s, s:I, s:I, s:s?, s:f}", "plan", to, "id", order_id, (size_t)8, "order_id",
		order_id, "fields_id", fields_id, "samples", (json_int_t)plan_n_samples(p), "epoch",
		(json_int_t)plan_epoch_len(p), "spec", o->spec_path, "seconds", seconds);
	json_object_update_new(j, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:s}}", "shards",
		(json_int_t)st->n_archives, "files", (json_int_t)st->n_files, "bytes", (json_int_t)st->n_bytes, "found",
		(json_int_t)st->n_found, "bytes_read", (json_int_t)st->n_read, "taken_over",
		(json_int_t)st->n_taken_over, "left_out", "shards", (json_int_t)st->n_bad, "words", st->bad));
	json_object_update_new(j, json_pack("{s:o, s:o, s:O}", "extensions", exts_json(st), "missing", missing_json(p),
		"warnings", o->warnings));
	return j;
}

int plan_out_end(struct plan_out *o, const struct plan *p, const char *to)
{
	double seconds = (double)(clock_monotonic_ns() - o->begin_ns) / NS_PER_S;
	int status = o->json ? cmd_print_json(result_json(o, p, to, seconds)) : print_text(o, p, to, seconds);

	json_decref(o->warnings);
	return status;
}
