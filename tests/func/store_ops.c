/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store-ops URL SEED N TOTAL MAX [LIVE [MIN_REPLICAS [MAX_REPLICAS [BLOCK]]]]
 *
 * N random operations in a directory of a store, each compared with what it should have done (shadow.h): writes, appends,
 * scattered reads, renames, removals, concatenations, exclusive creation, listings, checksums. Sizes are log-uniform up to
 * MAX bytes; TOTAL bytes are written in all, not counting what failed, of which LIVE are kept at once. At the end everything
 * is read and compared.
 *
 * Prints "at N" as it goes on and before the last look, and waits for a line on stdin then (unless that has ended): what a
 * test does between strikes at the same operation in each run of a seed. Prints "failed .." for each operation that gave an
 * error (what there is after it must be what was before or what was wanted), at the end "file PATH LENGTH SHA-256" for each
 * file, "counter NAME N" of the engine, and "ops N written N read N failed N unclear N cpu_ms N". Exit 1: a difference, in
 * words.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/scope.h"
#include "ops.h"

#define N_DIRS 6
#define N_NAMES 40

struct run run;

/* xorshift64*. */
uint64_t dice(uint64_t below)
{
	run.dice ^= run.dice >> 12;
	run.dice ^= run.dice << 25;
	run.dice ^= run.dice >> 27;
	return below ? (run.dice * 2685821657736338717u >> 11) % below : 0;
}

uint64_t log_uniform(uint64_t max)
{
	unsigned bits = 0;
	uint64_t n;

	while (bits < 63 && 1ull << bits < max)
		bits++;
	n = dice(1ull << dice(bits + 1));
	return MIN(n, max);
}

void differs(const char *fmt, ...)
{
	va_list args;

	printf("DIFFERENCE at operation %u: ", run.at);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	exit(1);
}

/* The path in the store of one in the shadow; of two at a time. */
const char *full(const char *path)
{
	static char text[2][PATH_BYTES];
	static unsigned turn;

	turn = !turn;
	snprintf(text[turn], PATH_BYTES, "%s%s%s", run.top, *path ? "/" : "", path);
	return text[turn];
}

/* Whether it worked; what did not is told and counted. */
bool worked(int r, const char *what, const char *path, const struct err *e)
{
	if (r == 0)
		return true;
	run.n_failed++;
	printf("failed at %u: %s %s: %s\n", run.at, what, path, err_words(e, r));
	return false;
}

static const char *some_dir(void)
{
	static char text[16];
	unsigned i = (unsigned)dice(N_DIRS + 1);

	snprintf(text, sizeof(text), "d%u", i);
	return i < N_DIRS && shadow_find(&run.shadow, text) ? text : "";
}

static const char *some_path(void)
{
	static char text[2][PATH_BYTES];
	static unsigned turn;
	const char *dir = some_dir();

	turn = !turn;
	snprintf(text[turn], PATH_BYTES, "%s%sf%u", dir, *dir ? "/" : "", (unsigned)dice(N_NAMES));
	return text[turn];
}

static struct shadow_file *some_file(void)
{
	for (unsigned attempt = 0; attempt < 64 && run.shadow.files.n; attempt++) {
		struct shadow_file *f = &run.shadow.files.ptr[dice(run.shadow.files.n)];

		if (!f->is_dir)
			return f;
	}
	return NULL;
}

static void change_tree(unsigned what)
{
	char from[16], to[16];
	struct shadow_file *f;

	snprintf(from, sizeof(from), "d%u", (unsigned)dice(N_DIRS));
	snprintf(to, sizeof(to), "d%u", (unsigned)dice(N_DIRS));
	f = shadow_find(&run.shadow, from);
	if (!f || what < 4)
		op_mkdir(from);
	else if (what < 7)
		op_rename(f, to);
	else if (dice(4) == 0)
		op_remove(from, true);
}

static void one_of_a_file(unsigned what, struct shadow_file *f)
{
	char dir[16] = "";

	if (what < 28)
		op_read(f);
	else if (what < 35)
		compare_file(f, NULL);
	else if (what < 41)
		op_append(f);
	else if (what < 48)
		op_rename(f, some_path());
	else if (what < 54)
		op_remove(f->path, false);
	else if (what < 58)
		op_sum(f);
	else if (what < 62)
		op_replicate(f);
	else {
		snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(f->path, '/') ? strrchr(f->path, '/') - f->path : 0), f->path);
		op_concat(f, dir);
	}
}

static void step(void)
{
	struct shadow_file *f = some_file();
	unsigned what = (unsigned)dice(100);

	while (shadow_bytes(&run.shadow) > run.live && (f = some_file()))
		op_remove(f->path, false);
	f = some_file();
	if (what < 66 && f)
		one_of_a_file(what, f);
	else if (what < 79)
		op_write(some_path());
	else if (what < 83)
		op_create(some_path());
	else if (what < 89)
		op_stat(some_path());
	else if (what < 93)
		op_list(some_dir());
	else
		change_tree(what - 93);
}

static void show_counter(void *ctx, const char *name, uint64_t value)
{
	printf("counter %s %" PRIu64 "\n", name, value);
}

static void look_at_all(void)
{
	for (size_t i = 0; i < run.shadow.files.n; i++) {
		struct shadow_file *f = &run.shadow.files.ptr[i];
		AUTO(sha256) struct sha256 *sum = sha256_new();
		uint8_t digest[SHA256_BYTES];
		char hex[SHA256_HEX];

		if (f->is_dir || !compare_file(f, sum))
			continue;
		sha256_finish(sum, digest);
		hex_of(digest, sizeof(digest), hex);
		printf("file %s %" PRIu64 " %s\n", f->path, f->content.length, hex);
	}
	for (unsigned i = 0; i <= N_DIRS; i++)
		op_list(some_dir());
}

static uint64_t cpu_ms(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
		(uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* Tells where it is, and waits for an answer. */
static void tell_where(void)
{
	char line[16];

	printf("at %u\n", run.at);
	if (!fgets(line, sizeof(line), stdin))
		return;
}

static uint64_t number(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
	AUTO_STORE struct store *s = NULL;
	AUTO_FREE char *path = NULL;
	struct err e = {0};
	unsigned n = (unsigned)number(argc, argv, 3, 500);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 6 || store_open(argv[1], &s, &path, &e) < 0) {
		fprintf(stderr, "%s\n", argc < 6 ? "usage: store-ops URL SEED N TOTAL MAX .." : err_words(&e, 0));
		return 2;
	}
	run.store = s;
	run.top = path;
	run.dice = number(argc, argv, 2, 1) * 0x9e3779b97f4a7c15u + 1;
	run.total = number(argc, argv, 4, 0);
	run.max = number(argc, argv, 5, 0);
	run.live = number(argc, argv, 6, 1ull << 30);
	run.min_replicas = (unsigned)number(argc, argv, 7, 0);
	run.max_replicas = (unsigned)number(argc, argv, 8, run.min_replicas);
	run.block = number(argc, argv, 9, 0);
	shadow_init(&run.shadow);
	if (store_mkdir(s, path, &e) < 0) {
		fprintf(stderr, "%s\n", err_words(&e, 0));
		return 2;
	}
	for (run.at = 0; run.at < n; run.at++) {
		if (run.at % 20 == 0)
			tell_where();
		step();
	}
	tell_where();
	look_at_all();
	store_counters(s, show_counter, NULL);
	printf("ops %u written %" PRIu64 " read %" PRIu64 " failed %u unclear %u cpu_ms %" PRIu64 "\n", n, run.n_written,
		run.n_read, run.n_failed, run.n_unclear, cpu_ms());
	shadow_release(&run.shadow);
	return 0;
}
