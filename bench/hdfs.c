/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-hdfs VERB URL ..: what bench/hdfs.py measures of us, by store/store.h alone.
 *
 *	read URL [CHUNK]		all of the file, CHUNK bytes (4 MiB) a request, two requests under way
 *	ranges URL			the ranges of stdin ("OFFSET LENGTH" a line), in one request
 *	write URL BYTES REPLICAS	a file of so many bytes, 4 MiB at a time
 *	make URL N			N directories in a directory, 64 requests under way
 *	stat URL N			N looks at that one path, 64 under way
 *	list URL			all entries
 *
 * Prints a line of JSON: seconds, and CPU seconds of the process, of the work without the start; what there was of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/vec.h"
#include "store/store.h"

#define CHUNK (4u << 20)
#define N_READS 2u
#define N_CALLS 64u
#define MAX_RANGES STORE_MAX_RANGES

static struct {
	struct store *store;
	char *path;
	struct loop *loop;
	uint64_t began_ns, began_cpu_ns;
	uint64_t n_items, n_bytes;
	uint64_t next, last;	/* of what is asked for */
	unsigned n_under_way;
	bool done;
	int r;
	struct err err;
} run;

struct slot {
	struct store_req req;
	struct store_range range;
	struct store_file file;
	uint8_t *buf;
	char path[256];
	void (*begin)(struct slot *s);
};

static int tell(int r)
{
	uint64_t ns = clock_monotonic_ns() - run.began_ns, cpu_ns = clock_cpu_ns() - run.began_cpu_ns;

	if (r < 0) {
		fprintf(stderr, "bench-hdfs: %s\n", err_words(&run.err, r));
		return 1;
	}
	printf("{\"seconds\": %.6f, \"cpu_s\": %.6f, \"items\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", (double)ns / 1e9,
		(double)cpu_ns / 1e9, run.n_items, run.n_bytes);
	return 0;
}

static void begin_clock(void)
{
	run.began_ns = clock_monotonic_ns();
	run.began_cpu_ns = clock_cpu_ns();
}

/* --- many requests of a kind, some under way at once */

static void slot_done(struct store_req *req)
{
	struct slot *s = container_of(req, struct slot, req);

	run.n_under_way--;
	if (req->r < 0 && run.r == 0)
		run.r = req->r;
	run.n_items += req->r == 0;
	run.n_bytes += req->op == STORE_READ ? s->range.done : 0;
	if (run.next < run.last && run.r == 0)
		s->begin(s);
	run.done = run.n_under_way == 0;
}

static void submit(struct slot *s, struct store_req req)
{
	s->req = req;
	s->req.loop = run.loop;
	s->req.prio = STORE_PRIO_NORMAL;
	s->req.done = slot_done;
	s->req.err = &run.err;
	run.n_under_way++;
	store_submit(run.store, &s->req);
}

static int run_slots(struct slot *slots, unsigned n, void (*begin)(struct slot *))
{
	begin_clock();
	for (unsigned i = 0; i < n && run.next < run.last; i++) {
		slots[i].begin = begin;
		begin(&slots[i]);
	}
	run.done = run.n_under_way == 0;
	loop_run_until(run.loop, &run.done);
	return run.r;
}

static uint64_t chunk = CHUNK;

static void begin_read(struct slot *s)
{
	s->range = (struct store_range){.offset = run.next, .length = MIN(chunk, run.last - run.next), .buf = s->buf};
	run.next += s->range.length;
	submit(s, (struct store_req){.op = STORE_READ, .path = run.path, .file = &s->file, .ranges = &s->range, .n_ranges = 1});
}

static int verb_read(int argc, char **argv)
{
	static struct slot slots[N_READS];
	struct store_stat st;
	int r;

	chunk = argc > 3 ? strtoull(argv[3], NULL, 0) : CHUNK;
	begin_clock();
	r = store_stat(run.store, run.path, &st, &run.err);
	for (unsigned i = 0; i < N_READS && r == 0; i++) {
		slots[i].buf = mem_alloc(chunk);
		slots[i].file = st.file;
		r = slots[i].buf ? 0 : -ENOMEM;
	}
	run.last = st.file.length;
	r = r < 0 ? r : run_slots(slots, N_READS, begin_read);
	for (unsigned i = 0; i < N_READS; i++)
		mem_free(slots[i].buf);
	return tell(r);
}

static void begin_stat(struct slot *s)
{
	run.next++;
	submit(s, (struct store_req){.op = STORE_STAT, .path = run.path});
}

static void begin_make(struct slot *s)
{
	snprintf(s->path, sizeof(s->path), "%.200s/entry-%07" PRIu64, run.path, run.next++);
	submit(s, (struct store_req){.op = STORE_MKDIR, .path = s->path});
}

static int verb_calls(int argc, char **argv, void (*begin)(struct slot *))
{
	static struct slot slots[N_CALLS];
	struct store_stat st;
	int r = 0;

	run.last = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	if (begin == begin_stat) /* connects */
		r = store_stat(run.store, run.path, &st, &run.err);
	return tell(r < 0 ? r : run_slots(slots, N_CALLS, begin));
}

/* --- one request */

static void set_true(struct store_req *req)
{
	run.done = true;
}

static int read_ranges(struct store_range *ranges, unsigned n)
{
	struct store_req req = {.op = STORE_READ, .path = run.path, .ranges = ranges, .n_ranges = n, .loop = run.loop,
		.prio = STORE_PRIO_NORMAL, .done = set_true, .err = &run.err};

	begin_clock();
	store_submit(run.store, &req);
	loop_run_until(run.loop, &run.done);
	for (unsigned i = 0; i < n; i++)
		run.n_bytes += ranges[i].done;
	run.n_items = n;
	return req.r;
}

static int verb_ranges(void)
{
	AUTO_FREE struct store_range *ranges = mem_calloc(MAX_RANGES, sizeof(*ranges));
	AUTO_FREE uint8_t *all = NULL;
	uint64_t total = 0;
	unsigned n = 0;

	while (ranges && n < MAX_RANGES && scanf("%" SCNu64 " %" SCNu64, &ranges[n].offset, &ranges[n].length) == 2)
		total += ranges[n++].length;
	all = mem_alloc(total + 1);
	if (!ranges || !all)
		return tell(-ENOMEM);
	/* A user's buffer has its pages before a read: the loader's is made once, and the peer's are malloc's of the range before. */
	memset(all, 1, total);
	total = 0;
	for (unsigned i = 0; i < n; i++) {
		ranges[i].buf = all + total;
		total += ranges[i].length;
	}
	return tell(read_ranges(ranges, n));
}

static int verb_write(int argc, char **argv)
{
	uint64_t left = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	struct store_how how = {.replication = argc > 4 ? (uint32_t)strtoull(argv[4], NULL, 0) : 0};
	AUTO_FREE uint8_t *buf = mem_alloc(CHUNK);
	struct store_writer *w = NULL;
	int r;

	if (!buf)
		return tell(-ENOMEM);
	for (unsigned i = 0; i < CHUNK; i++)
		buf[i] = (uint8_t)(i * 2654435761u >> 13);
	begin_clock();
	r = store_create(run.store, run.path, &how, &w, &run.err);
	while (r == 0 && left) {
		uint64_t n = MIN(CHUNK, left);

		r = store_append(run.store, run.path, w, buf, n, &run.err);
		left -= n;
		run.n_bytes += n;
	}
	if (r < 0 && w)
		store_abort(run.store, run.path, w);
	return tell(r < 0 ? r : store_commit(run.store, run.path, w, &run.err));
}

static int verb_list(void)
{
	struct store_listing l;
	AUTO_FREE char *after = NULL;
	bool more = true;
	int r = 0;

	begin_clock();
	while (more) {
		r = store_list_page(run.store, run.path, after, &l, &run.err);
		if (r < 0)
			break;
		more = l.more;
		run.n_items += l.n;
		mem_free(TAKE(after));
		after = l.n ? mem_strdup(l.entries[l.n - 1].name) : NULL;
		store_listing_release(&l);
	}
	return tell(r);
}

static int verb(int argc, char **argv)
{
	if (strcmp(argv[1], "read") == 0)
		return verb_read(argc, argv);
	if (strcmp(argv[1], "ranges") == 0)
		return verb_ranges();
	if (strcmp(argv[1], "write") == 0)
		return verb_write(argc, argv);
	if (strcmp(argv[1], "list") == 0)
		return verb_list();
	if (strcmp(argv[1], "stat") == 0)
		return verb_calls(argc, argv, begin_stat);
	if (strcmp(argv[1], "make") == 0)
		return verb_calls(argc, argv, begin_make);
	fprintf(stderr, "bench-hdfs: no verb %s\n", argv[1]);
	return 2;
}

int main(int argc, char **argv)
{
	int r;

	if (argc < 3) {
		fprintf(stderr, "usage: bench-hdfs read|ranges|write|make|stat|list URL ..\n");
		return 2;
	}
	if (store_open(argv[2], &run.store, &run.path, &run.err) < 0 || loop_new(&run.loop) < 0)
		return tell(-EIO);
	r = verb(argc, argv);
	loop_free(run.loop);
	store_unref(run.store);
	mem_free(run.path);
	return r;
}
