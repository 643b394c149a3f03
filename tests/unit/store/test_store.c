/* SPDX-License-Identifier: Apache-2.0 */
/* What every store does alike, on each kind of store, filter and loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "place.h"

#define N_BYTES 100000

static uint8_t *pattern(size_t n, unsigned seed)
{
	uint8_t *p = mem_alloc(n);

	assert_non_null(p);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)((i + seed) * 2654435761u >> 24);
	return p;
}

static void what_was_written_is_read(void **state)
{
	struct place *p = *state;
	AUTO_FREE uint8_t *bytes = pattern(N_BYTES, 1), *got = mem_zalloc(2 * N_BYTES);
	/* Adjacent, with a gap, twice the same, empty, over the end, behind it. */
	struct store_range ranges[] = {
		{0, 10, got}, {10, 20, got + 10}, {30, 0, got}, {30, 50000, got + 30}, {60000, 40000, got + 60000},
		{5, 5, got + N_BYTES}, {5, 5, got + N_BYTES + 10}, {N_BYTES - 3, 10, got + N_BYTES + 20},
		{N_BYTES + 1, 1, got}, {N_BYTES, 0, got}, {1, 1, got + N_BYTES + 40}};
	struct store_stat st;
	struct store_req req = {.op = STORE_READ, .file = &st.file, .ranges = ranges, .n_ranges = N_ELEMS(ranges)};

	assert_int_equal(place_put(p, STORE_WRITE, "a/b/c.bin", bytes, N_BYTES), 0);
	assert_int_equal(place_stat(p, "a/b/c.bin", &st), 0);
	assert_int_equal(st.kind, STORE_FILE);
	assert_int_equal(st.file.length, N_BYTES);
	assert_int_equal(place_run(p, &req, "a//b/./c.bin", NULL), -ENODATA);
	for (unsigned i = 0; i < N_ELEMS(ranges); i++) {
		bool is_past = i == 7 || i == 8;

		assert_int_equal(ranges[i].r, is_past ? -ENODATA : 0);
		assert_int_equal(ranges[i].done, i == 7 ? 3 : i == 8 ? 0 : ranges[i].length);
		if (ranges[i].done)
			assert_memory_equal(ranges[i].buf, bytes + ranges[i].offset, ranges[i].done);
	}
	assert_int_equal(place_put(p, STORE_WRITE, "empty", NULL, 0), 0);
	assert_int_equal(place_stat(p, "empty", &st), 0);
	assert_int_equal(st.file.length, 0);
	assert_int_equal(place_stat(p, "a", &st), 0);
	assert_int_equal(st.kind, STORE_DIR);
}

static void many_adjacent_ranges_are_one_text(void **state)
{
	struct place *p = *state;
	AUTO_FREE uint8_t *bytes = pattern(N_BYTES, 2), *got = mem_zalloc(N_BYTES);
	struct store_range ranges[500];
	struct store_req req = {.op = STORE_READ, .ranges = ranges, .n_ranges = N_ELEMS(ranges)};

	for (unsigned i = 0; i < N_ELEMS(ranges); i++)
		ranges[i] = (struct store_range){i * 200, 200, got + i * 200};
	assert_int_equal(place_put(p, STORE_WRITE, "x", bytes, N_BYTES), 0);
	assert_int_equal(place_run(p, &req, "x", NULL), 0);
	assert_memory_equal(got, bytes, N_BYTES);
}

/* Small gaps and large ones, read in one request; past the end as well. */
static void ranges_with_gaps_keep_their_bytes(void **state)
{
	struct place *p = *state;
	AUTO_FREE uint8_t *bytes = pattern(N_BYTES, 3), *got = mem_zalloc(N_BYTES + 4096);
	static struct store_range ranges[2000];
	struct store_req req = {.op = STORE_READ, .ranges = ranges};
	uint64_t at = 0;
	unsigned n = 0;

	assert_int_equal(place_put(p, STORE_WRITE, "x", bytes, N_BYTES), 0);
	for (; at < N_BYTES && n < N_ELEMS(ranges); n++) {
		ranges[n] = (struct store_range){at, n * 37 % 100, got + at};
		at += n * 37 % 100 + (n % 50 == 7 ? 4097 : n % 5 == 0 ? 0 : n % 60);
	}
	req.n_ranges = n;
	assert_int_equal(place_run(p, &req, "x", NULL), ranges[n - 1].offset + ranges[n - 1].length > N_BYTES ? -ENODATA : 0);
	for (unsigned i = 0; i < n; i++) {
		if (ranges[i].offset + ranges[i].length <= N_BYTES)
			assert_int_equal(ranges[i].done, ranges[i].length);
		assert_memory_equal(ranges[i].buf, bytes + ranges[i].offset, ranges[i].done);
		memset(ranges[i].buf, 0, ranges[i].done);
	}
	/* And nothing beside them. */
	for (unsigned i = 0; i < N_BYTES + 4096; i++)
		assert_int_equal(got[i], 0);
}

static void a_changed_file_is_stale(void **state)
{
	struct place *p = *state;
	struct store_stat st, again;
	char got[5] = "....";
	struct store_range range = {.buf = got, .length = 3};
	struct store_req req = {.op = STORE_READ, .file = &st.file, .ranges = &range, .n_ranges = 1};

	assert_int_equal(place_put(p, STORE_WRITE, "x", "old", 3), 0);
	assert_int_equal(place_stat(p, "x", &st), 0);
	assert_int_equal(place_run(p, &req, "x", NULL), 0);
	assert_string_equal(got, "old.");
	assert_int_equal(place_put(p, STORE_WRITE, "x", "new", 3), 0);
	if (!p->kind->is_hdfs) {
		assert_int_equal(place_run(p, &req, "x", NULL), -ESTALE);
		assert_int_equal(range.r, -ESTALE);
		assert_int_equal(range.done, 0);
	} else if (place_run(p, &req, "x", NULL) == 0) {
		assert_string_equal(got, "old.");
	}
	assert_int_equal(place_stat(p, "x", &again), 0);
	assert_string_not_equal(st.file.version, again.file.version);
	st = again;
	assert_int_equal(place_run(p, &req, "x", NULL), 0);
	assert_string_equal(got, "new.");
}

static void create_exclusive_does_not_replace(void **state)
{
	struct place *p = *state;
	char got[8];

	assert_int_equal(place_put(p, STORE_CREATE_EXCLUSIVE, "dir/record", "first", 5), 0);
	assert_int_equal(place_put(p, STORE_CREATE_EXCLUSIVE, "dir/record", "other", 5), -EEXIST);
	assert_int_equal(place_get(p, "dir/record", got, 8), 5);
	assert_memory_equal(got, "first", 5);
	assert_int_equal(place_put(p, STORE_CREATE_EXCLUSIVE, "dir", "x", 1), -EEXIST);
}

static void what_cannot_be_is_told(void **state)
{
	struct place *p = *state;
	struct store_range range = {.length = 1}, wide = {.offset = INT64_MAX, .length = 1},
		beyond = {.offset = UINT64_MAX, .length = 1};
	struct store_req list = {.op = STORE_LIST}, rm = {.op = STORE_REMOVE}, mkdir = {.op = STORE_MKDIR},
		none = {.op = STORE_READ}, far = {.op = STORE_READ, .ranges = &wide, .n_ranges = 1},
		farther = {.op = STORE_READ, .ranges = &beyond, .n_ranges = 1},
		odd = {.op = (enum store_op)99, .ranges = &range, .n_ranges = 1};
	struct store_stat st;
	char got[4];

	assert_int_equal(place_put(p, STORE_WRITE, "dir/file", "x", 1), 0);
	assert_int_equal(place_get(p, "missing", got, 4), -ENOENT);
	assert_int_equal(place_stat(p, "missing", &st), -ENOENT);
	assert_int_equal(place_run(p, &list, "missing", NULL), -ENOENT);
	assert_int_equal(place_run(p, &rm, "missing", NULL), -ENOENT);
	assert_int_equal(place_get(p, "dir", got, 4), -EISDIR);
	assert_int_equal(place_run(p, &list, "dir/file", NULL), -ENOTDIR);
	assert_int_equal(place_put(p, STORE_WRITE, "dir", "x", 1), -EISDIR);
	assert_int_equal(place_put(p, STORE_WRITE, "dir/file/x", "x", 1), -ENOTDIR);
	assert_int_equal(place_run(p, &mkdir, "dir/file/x", NULL), -ENOTDIR);
	assert_int_equal(place_run(p, &mkdir, "dir/file", NULL), -ENOTDIR);
	assert_int_equal(place_run(p, &rm, "dir", NULL), -ENOTEMPTY);
	assert_int_equal(place_run(p, &none, "dir/file", NULL), -EINVAL);
	assert_int_equal(place_run(p, &far, "dir/file", NULL), -EINVAL);
	assert_int_equal(place_run(p, &farther, "dir/file", NULL), -EINVAL);
	assert_int_equal(beyond.r, -EINVAL);
	assert_int_equal(place_run(p, &odd, "dir/file", NULL), -EINVAL);
}

static void no_path_escapes(void **state)
{
	static const char *const paths[] = {"..", "../x", "a/../b", "a/..", "/..//x"};
	struct place *p = *state;
	AUTO_FREE char *longest = mem_alloc(STORE_NAME_MAX + 1);
	struct store_stat st;
	char got[4];

	for (unsigned i = 0; i < N_ELEMS(paths); i++) {
		struct store_req rename = {.op = STORE_RENAME};

		assert_int_equal(place_get(p, paths[i], got, 4), -EINVAL);
		assert_int_equal(place_put(p, STORE_WRITE, paths[i], "x", 1), -EINVAL);
		assert_int_equal(place_run(p, &rename, "a", paths[i]), -EINVAL);
	}
	memset(longest, 'x', STORE_NAME_MAX);
	longest[STORE_NAME_MAX] = 0;
	assert_int_equal(place_stat(p, longest, &st), -EINVAL);
	assert_int_equal(place_put(p, STORE_WRITE, "..x", "x", 1), 0);
	assert_int_equal(place_get(p, "..x", got, 4), 1);
}

static void directories_come_and_go(void **state)
{
	struct place *p = *state;
	struct store_req mkdir = {.op = STORE_MKDIR}, rm = {.op = STORE_REMOVE};
	struct store_stat st;

	assert_int_equal(place_run(p, &mkdir, "a/b/c/", NULL), 0);
	assert_int_equal(place_run(p, &mkdir, "a/b/c", NULL), 0);
	assert_int_equal(place_stat(p, "a/b/c", &st), 0);
	assert_int_equal(st.kind, STORE_DIR);
	assert_int_equal(place_run(p, &rm, "a/b/c", NULL), 0);
	assert_int_equal(place_run(p, &rm, "a/b", NULL), 0);
	assert_int_equal(place_stat(p, "a/b", &st), -ENOENT);
	assert_int_equal(place_stat(p, "a", &st), 0);
}

static void rename_replaces_or_is_told_apart(void **state)
{
	struct place *p = *state;
	struct store_req mv = {.op = STORE_RENAME};
	struct store_stat st;
	char got[8];

	assert_int_equal(place_put(p, STORE_WRITE, "d/one", "one", 3), 0);
	assert_int_equal(place_put(p, STORE_WRITE, "d/two", "other", 5), 0);
	if (p->kind->no_rename) {
		assert_int_equal(place_run(p, &mv, "d/one", "d/two"), -EOPNOTSUPP);
		return;
	}
	assert_int_equal(place_run(p, &mv, "d/one", "d/two"), 0);
	assert_int_equal(place_get(p, "d/two", got, 8), 3);
	assert_int_equal(place_stat(p, "d/one", &st), -ENOENT);
	assert_int_equal(place_run(p, &mv, "d/one", "d/two"), -ENOENT);
	assert_int_equal(place_run(p, &mv, "d", "d/below"), -EINVAL);
	assert_int_equal(place_run(p, &mv, "d", "e"), 0);
	assert_int_equal(place_get(p, "e/two", got, 8), 3);
	assert_int_equal(place_run(p, &mv, "e/two", "missing/two"), -ENOENT);
	assert_int_equal(place_put(p, STORE_WRITE, "f/x", "x", 1), 0);
	assert_int_equal(place_run(p, &mv, "e", "f"), -ENOTEMPTY);
	assert_int_equal(place_run(p, &mv, "e/two", "f"), -EISDIR);
	assert_int_equal(place_run(p, &mv, "e", "f/x"), -ENOTDIR);
}

#define N_FILES (2 * STORE_PAGE_ENTRIES + 345)

/* All names by pages; checks that each page is in order and goes on after the last. */
static unsigned list_all(struct place *p, const char *dir, unsigned *ret_pages)
{
	AUTO_FREE char *last = NULL;
	unsigned n = 0;
	bool more = true;

	for (*ret_pages = 0; more; (*ret_pages)++) {
		struct store_req req = {.op = STORE_LIST};

		assert_int_equal(place_run(p, &req, dir, last), 0);
		assert_true(req.listing.n <= STORE_PAGE_ENTRIES);
		for (size_t i = 0; i < req.listing.n; i++) {
			assert_true(!last || strcmp(last, req.listing.entries[i].name) < 0);
			mem_free(last);
			last = mem_strdup(req.listing.entries[i].name);
			n++;
		}
		more = req.listing.more;
		store_listing_release(&req.listing);
	}
	return n;
}

static void listings_come_in_pages_in_bytewise_order(void **state)
{
	struct place *p = *state;
	struct store_req mkdir = {.op = STORE_MKDIR}, first = {.op = STORE_LIST}, rm = {.op = STORE_REMOVE};
	AUTO_FREE char *next = NULL;
	unsigned n_pages;
	char name[64];

	assert_int_equal(place_run(p, &mkdir, "d", NULL), 0);
	assert_int_equal(list_all(p, "d", &n_pages), 0);
	assert_int_equal(n_pages, 1);
	for (unsigned i = 0; i < N_FILES; i++) {
		char letter = (char)((p->kind->is_hdfs ? 'a' : 0x80) + i % 26);

		snprintf(name, sizeof(name), "d/%c%u", i % 7 ? letter : '-', i * 7919 % N_FILES);
		place_touch(p, name);
	}
	/* Deeper files are not the directory's own, and sort among its names. */
	assert_int_equal(place_put(p, STORE_WRITE, "d/-1/x", "x", 1), 0);
	assert_int_equal(list_all(p, "d", &n_pages), N_FILES + 1);
	assert_int_equal(n_pages, 3);
	/* What goes between two pages is not in the second. */
	assert_int_equal(place_run(p, &first, "d", NULL), 0);
	assert_true(first.listing.more);
	next = mem_strdup(first.listing.entries[first.listing.n - 1].name);
	store_listing_release(&first.listing);
	first = (struct store_req){.op = STORE_LIST};
	assert_int_equal(place_run(p, &first, "d", next), 0);
	snprintf(name, sizeof(name), "d/%s", first.listing.entries[0].name);
	store_listing_release(&first.listing);
	assert_int_equal(place_run(p, &rm, name, NULL), 0);
	first = (struct store_req){.op = STORE_LIST};
	assert_int_equal(place_run(p, &first, "d", next), 0);
	assert_string_not_equal(first.listing.entries[0].name, name + 2);
	store_listing_release(&first.listing);
	assert_int_equal(list_all(p, "d", &n_pages), N_FILES);
}

static void listings_tell_kind_length_and_version(void **state)
{
	struct place *p = *state;
	struct store_req req = {.op = STORE_LIST};
	struct store_stat st;

	assert_int_equal(place_put(p, STORE_WRITE, "d/b", "four", 4), 0);
	assert_int_equal(place_put(p, STORE_WRITE, "d/a/x", "x", 1), 0);
	assert_int_equal(place_stat(p, "d/b", &st), 0);
	assert_int_equal(place_run(p, &req, "d", NULL), 0);
	assert_int_equal(req.listing.n, 2);
	assert_string_equal(req.listing.entries[0].name, "a");
	assert_int_equal(req.listing.entries[0].stat.kind, STORE_DIR);
	assert_string_equal(req.listing.entries[1].name, "b");
	assert_int_equal(req.listing.entries[1].stat.file.length, 4);
	assert_string_equal(req.listing.entries[1].stat.file.version, st.file.version);
	store_listing_release(&req.listing);
}

/* Many requests at once. */

#define N_MANY 60

struct many {
	struct place *p;
	unsigned n_done;
	bool inside, all;
	struct one {
		struct store_req req;
		struct store_range range;
		struct many *many;
		unsigned n_done;
		char got[8];
	} ones[N_MANY];
};

static void one_done(struct store_req *req)
{
	struct one *one = container_of(req, struct one, req);

	assert_false(one->many->inside);
	one->n_done++;
	one->many->all = ++one->many->n_done == N_MANY;
}

static void many_submit(struct many *m, struct place *p, const char *path)
{
	*m = (struct many){.p = p, .inside = true};
	for (unsigned i = 0; i < N_MANY; i++) {
		struct one *one = &m->ones[i];

		one->many = m;
		one->range = (struct store_range){.offset = i, .length = 1, .buf = one->got};
		one->req = (struct store_req){.loop = p->loop, .op = STORE_READ, .path = path, .ranges = &one->range,
			.n_ranges = 1, .done = one_done};
		store_submit(p->store, &one->req);
	}
	m->inside = false;
}

static void done_comes_once_and_never_inside(void **state)
{
	struct place *p = *state;
	AUTO_FREE char *path = place_path(p, "x"), *missing = place_path(p, "missing");
	AUTO_FREE uint8_t *bytes = pattern(N_MANY, 3);
	static struct many m;

	assert_int_equal(place_put(p, STORE_WRITE, "x", bytes, N_MANY), 0);
	many_submit(&m, p, path);
	assert_int_equal(loop_run(p->loop), 0);
	assert_int_equal(m.n_done, N_MANY);
	for (unsigned i = 0; i < N_MANY; i++) {
		assert_int_equal(m.ones[i].n_done, 1);
		assert_int_equal(m.ones[i].req.r, 0);
		assert_int_equal((uint8_t)m.ones[i].got[0], bytes[i]);
	}
	many_submit(&m, p, missing);
	assert_int_equal(loop_run(p->loop), 0);
	assert_int_equal(m.n_done, N_MANY);
	for (unsigned i = 0; i < N_MANY; i++)
		assert_int_equal(m.ones[i].req.r, -ENOENT);
	many_submit(&m, p, "../refused");
	assert_int_equal(loop_run(p->loop), 0);
	assert_int_equal(m.n_done, N_MANY);
}

static void cancelled_reads_say_so_once(void **state)
{
	struct place *p = *state;
	AUTO_FREE char *path = place_path(p, "x");
	AUTO_FREE uint8_t *bytes = pattern(N_MANY, 3);
	static struct many m;

	assert_int_equal(place_put(p, STORE_WRITE, "x", bytes, N_MANY), 0);
	many_submit(&m, p, path);
	m.inside = true;
	for (unsigned i = 0; i < N_MANY; i += 2) {
		store_cancel(&m.ones[i].req);
		store_cancel(&m.ones[i].req);
	}
	m.inside = false;
	assert_int_equal(loop_run(p->loop), 0);
	assert_int_equal(m.n_done, N_MANY);
	for (unsigned i = 0; i < N_MANY; i++) {
		assert_int_equal(m.ones[i].n_done, 1);
		assert_int_equal(m.ones[i].req.r, i % 2 ? 0 : -ECANCELED);
	}
}

static void ignore_done(struct store_req *req)
{
}

/* Only looks are told that they were cancelled whatever they saw: a write says whether it happened. */
static void a_cancelled_write_tells_how_it_went(void **state)
{
	struct place *p = *state;
	AUTO_FREE char *path = place_path(p, "w");
	struct store_range range = {.buf = (void *)"abc", .length = 3};
	struct store_req req = {.loop = p->loop, .op = STORE_WRITE, .path = path, .ranges = &range, .n_ranges = 1,
		.done = ignore_done};
	struct store_stat st;
	int there;

	store_submit(p->store, &req);
	store_cancel(&req);
	assert_int_equal(loop_run(p->loop), 0);
	there = place_stat(p, "w", &st);
	assert_true(req.r == 0 || req.r == -ECANCELED);
	assert_int_equal(there, req.r == 0 ? 0 : -ENOENT);
	/* Without a filter ram: has written before store_submit() returns. */
	if (!p->folder && !p->kind->filters[0] && !p->kind->is_hdfs)
		assert_int_equal(req.r, 0);
}

static void a_deadline_ends_the_wait(void **state)
{
	struct place *p = *state;
	char got[4];
	struct store_range range = {.buf = got, .length = 3};
	struct store_req req = {.op = STORE_READ, .ranges = &range, .n_ranges = 1};
	uint64_t deadline_ns;

	assert_int_equal(place_put(p, STORE_WRITE, "x", "abc", 3), 0);
	req.deadline_ns = 1;
	assert_int_equal(place_run(p, &req, "x", NULL), -ETIMEDOUT);
	req.deadline_ns = loop_now(p->loop) + 3600 * NS_PER_S;
	assert_int_equal(place_run(p, &req, "x", NULL), 0);
	assert_false(timer_armed(&req.timer));
	if (!p->kind->is_virtual || !p->kind->filters[0])
		return;
	/* The plan's delays take a second or more. */
	req.deadline_ns = deadline_ns = loop_now(p->loop) + NS_PER_S / 2;
	assert_int_equal(place_run(p, &req, "x", NULL), -ETIMEDOUT);
	assert_int_equal(loop_now(p->loop), deadline_ns);
	assert_int_equal(range.r, -ETIMEDOUT);
}

/* Every allocation on the way fails once: each step is done or -ENOMEM, and nothing is lost. */
static void short_of_memory_is_told(void **state)
{
	struct place *p = *state;
	unsigned n = 0, n_refused = 0;

	do {
		AUTO_FREE char *url = p->folder ? mem_printf("file://%s/m%u%s", p->folder, n, p->kind->filters)
						: mem_printf("%s:m%u/%s", p->kind->scheme, n, p->kind->filters);
		struct place q = {.loop = p->loop};
		struct store_req list = {.op = STORE_LIST}, mv = {.op = STORE_RENAME};
		struct store_stat st;
		char got[4];
		int r;

		assert_non_null(url);
		mem_fail_nth(++n);
		r = store_open(url, &q.store, &q.path, NULL);
		if (r == 0) {
			r = place_put(&q, STORE_WRITE, "d/x", "abc", 3);
			r = r < 0 ? r : place_stat(&q, "d/x", &st);
			r = r < 0 ? r : (int)place_get(&q, "d/x", got, 4);
			r = r < 0 ? r : place_run(&q, &list, "d", NULL);
			store_listing_release(&list.listing);
			r = r < 0 || p->kind->no_rename ? r : place_run(&q, &mv, "d", "e");
			store_unref(q.store);
			mem_free(q.path);
		}
		assert_true(r == -ENOMEM || (r == 0 && !mem_failed()));
		n_refused += r == -ENOMEM;
	} while (mem_failed());
	mem_fail_nth(0);
	assert_true(n_refused > 5);
}

#define CASE(f)                                                                                              \
	{                                                                                                    \
		#f, f                                                                                        \
	}

static const struct {
	const char *name;
	void (*run)(void **state);
} cases[] = {
	CASE(what_was_written_is_read),
	CASE(many_adjacent_ranges_are_one_text),
	CASE(ranges_with_gaps_keep_their_bytes),
	CASE(a_changed_file_is_stale),
	CASE(create_exclusive_does_not_replace),
	CASE(what_cannot_be_is_told),
	CASE(no_path_escapes),
	CASE(directories_come_and_go),
	CASE(rename_replaces_or_is_told_apart),
	CASE(listings_come_in_pages_in_bytewise_order),
	CASE(listings_tell_kind_length_and_version),
	CASE(done_comes_once_and_never_inside),
	CASE(cancelled_reads_say_so_once),
	CASE(a_cancelled_write_tells_how_it_went),
	CASE(a_deadline_ends_the_wait),
	/* Last, for one thread only: the counter of allocations is everybody's. */
	CASE(short_of_memory_is_told),
};

static int open_place(void **state)
{
	*state = place_open(*state);
	return 0;
}

static int close_place(void **state)
{
	place_close(*state);
	return 0;
}

int main(void)
{
	static struct CMUnitTest tests[N_ELEMS(cases)];
	int n_failed = 0;

	for (size_t k = 0; k < n_place_kinds; k++) {
		for (size_t i = 0; i < N_ELEMS(cases); i++)
			tests[i] = (struct CMUnitTest){cases[i].name, cases[i].run, open_place, close_place,
				(void *)&place_kinds[k]};
		print_message("%s\n", place_kinds[k].name);
		n_failed += _cmocka_run_group_tests(place_kinds[k].name, tests,
			N_ELEMS(tests) - !place_kinds[k].is_virtual, NULL, NULL);
	}
	return n_failed != 0;
}
