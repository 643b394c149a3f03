/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store-io write|append|read URL SEED BYTES CHUNK [REPLICAS [BLOCK]]
 *
 * Writes, or reads and compares, a file of BYTES bytes of stream SEED (shadow.h), CHUNK bytes a call. After each call it
 * prints "at OFFSET" and waits for a line on stdin, so that a test does harm at that point; when stdin has ended it goes
 * on without. A line "flush" makes what was written visible first; "count" prints "counter NAME N" of the engine and
 * "counted", and waits again. append goes on behind what is there. At the end the counters. Exit 1: an error or a
 * difference, in words on stderr.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "shadow.h"
#include "store/store.h"

static struct {
	struct store *store;
	char *path;
	uint64_t seed, length, chunk;
	struct store_how how;
	struct err err;
	uint8_t *buf, *wanted;
} run;

static void show_counter(void *ctx, const char *name, uint64_t value)
{
	printf("counter %s %" PRIu64 "\n", name, value);
}

/* Whether what was written so far is to be flushed. */
static bool wait_for_line(uint64_t at)
{
	char line[64];

	printf("at %" PRIu64 "\n", at);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "count\n") != 0)
			return strcmp(line, "flush\n") == 0;
		store_counters(run.store, show_counter, NULL);
		printf("counted\n");
		fflush(stdout);
	}
	return false;
}

static int do_write(struct store_writer *w, uint64_t at, uint64_t end)
{
	while (at < end) {
		uint64_t n = MIN(run.chunk, end - at);
		int r;

		stream_fill(run.seed, at, run.buf, n);
		r = store_append(run.store, run.path, w, run.buf, n, &run.err);
		at += n;
		if (r == 0 && wait_for_line(at))
			r = store_flush(run.store, run.path, w, false, &run.err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int verb_write(bool append)
{
	struct store_stat st = {0};
	struct store_writer *w = NULL;
	int r = append ? store_stat(run.store, run.path, &st, &run.err) : 0;

	run.how.append = append;
	r = r < 0 ? r : store_create(run.store, run.path, &run.how, &w, &run.err);
	if (r < 0)
		return r;
	r = do_write(w, st.file.length, st.file.length + run.length);
	if (r < 0) {
		store_abort(run.store, run.path, w);
		return r;
	}
	return store_commit(run.store, run.path, w, &run.err);
}

static int verb_read(void)
{
	struct store_stat st;
	int r = store_stat(run.store, run.path, &st, &run.err);

	if (r == 0 && st.file.length != run.length)
		return err_set(&run.err, -EIO, "%s has %" PRIu64 " bytes, not %" PRIu64, run.path, st.file.length, run.length);
	for (uint64_t at = 0; r == 0 && at < run.length; at += run.chunk) {
		uint64_t n = MIN(run.chunk, run.length - at);

		r = store_pread(run.store, run.path, &st.file, run.buf, n, at, &run.err);
		stream_fill(run.seed, at, run.wanted, n);
		if (r == 0 && memcmp(run.buf, run.wanted, n) != 0)
			return err_set(&run.err, -EIO, "DIFFERENCE in the %" PRIu64 " bytes at %" PRIu64, n, at);
		if (r == 0)
			wait_for_line(at + n);
	}
	return r;
}

static int run_verb(const char *verb)
{
	return strcmp(verb, "read") == 0 ? verb_read() : verb_write(strcmp(verb, "append") == 0);
}

static uint64_t number(int argc, char **argv, int i)
{
	return i < argc ? strtoull(argv[i], NULL, 0) : 0;
}

int main(int argc, char **argv)
{
	int r = argc < 6 ? err_set(&run.err, -EINVAL, "usage: store-io write|append|read URL SEED BYTES CHUNK ..") :
		store_open(argv[2], &run.store, &run.path, &run.err);

	run.seed = number(argc, argv, 3);
	run.length = number(argc, argv, 4);
	run.chunk = number(argc, argv, 5);
	run.how = (struct store_how){.replication = (uint32_t)number(argc, argv, 6), .block_bytes = number(argc, argv, 7)};
	run.buf = mem_alloc(run.chunk + 1);
	run.wanted = mem_alloc(run.chunk + 1);
	if (r == 0 && (!run.buf || !run.wanted))
		r = err_set(&run.err, -ENOMEM, "no memory for chunks of %" PRIu64 " bytes", run.chunk);
	r = r < 0 ? r : run_verb(argv[1]);
	if (run.store)
		store_counters(run.store, show_counter, NULL);
	if (r < 0)
		fprintf(stderr, "store-io: %s\n", err_words(&run.err, r));
	mem_free(run.buf);
	mem_free(run.wanted);
	mem_free(run.path);
	store_unref(run.store);
	return r < 0;
}
