/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of one file gives what store_pread() gives, and notices what a reader must. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/scope.h"
#include "store/reader.h"

#define N_BYTES 300000u

static uint8_t content[N_BYTES];

struct place {
	struct store *store;
	char *path;
	char dir[64];
	struct store_stat st;
};

static void place_open(struct place *p, const char *filter)
{
	char url[256], file[128];

	*p = (struct place){.dir = "/tmp/olddog-reader-XXXXXX"};
	assert_non_null(mkdtemp(p->dir));
	snprintf(file, sizeof(file), "%s/f", p->dir);
	assert_int_equal(file_make(file, content, sizeof(content)), 0);
	snprintf(url, sizeof(url), "file://%s%s", file, filter);
	assert_int_equal(store_open(url, &p->store, &p->path, NULL), 0);
	assert_int_equal(store_stat(p->store, p->path, &p->st, NULL), 0);
}

static void place_release(struct place *p)
{
	char file[128];

	snprintf(file, sizeof(file), "%s/f", p->dir);
	unlink(file);
	rmdir(p->dir);
	store_unref(p->store);
	mem_free(p->path);
}

/* Here and there, long and short, and up to the last byte. */
static void check_reads(struct store_reader *r)
{
	static const size_t lengths[] = {1, 512, 1536, 70000};
	static uint8_t buf[70000];
	bool near;

	for (uint64_t at = 0; at < N_BYTES - 70000; at += 9973) {
		size_t n = lengths[at % N_ELEMS(lengths)];

		assert_int_equal(store_reader_read(r, buf, n, at, &near, NULL), 0);
		assert_memory_equal(buf, content + at, n);
	}
	assert_int_equal(store_reader_read(r, buf, 10, N_BYTES - 10, &near, NULL), 0);
	assert_memory_equal(buf, content + N_BYTES - 10, 10);
}

static void compare(const char *filter)
{
	AUTO(store_reader) struct store_reader *r = NULL;
	struct place p;
	struct err e = {0};
	uint8_t buf[11];
	bool near;

	place_open(&p, filter);
	assert_int_equal(store_reader_open(p.store, p.path, &p.st.file, &r, &e), 0);
	check_reads(r);
	assert_int_equal(store_reader_check(r, &e), 0);
	assert_int_equal(store_reader_read(r, buf, 11, N_BYTES - 10, &near, &e), -ENODATA);
	assert_non_null(strstr(e.words, "/f: it ends before that"));
	place_release(&p);
}

static void a_file_is_read_by_its_descriptor(void **state)
{
	compare("");
}

static void behind_a_filter_it_is_read_through_the_filter(void **state)
{
	compare("#fault=seed:1");
}

/* Once it was said of one read, those that nobody asked about count as it did. */
static void what_lay_in_memory_counts_so_until_it_is_asked_again(void **state)
{
	AUTO(store_reader) struct store_reader *r = NULL;
	struct place p;
	uint8_t buf[4];
	bool near, still;

	place_open(&p, "");
	assert_int_equal(store_reader_open(p.store, p.path, &p.st.file, &r, NULL), 0);
	assert_int_equal(store_reader_read(r, buf, 4, 0, &near, NULL), 0);
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(store_reader_read(r, buf, 4, 4 * i, &still, NULL), 0);
		assert_true(still || !near);
	}
	place_release(&p);
}

static void what_changed_is_noticed_at_the_end_and_at_the_next_opening(void **state)
{
	AUTO(store_reader) struct store_reader *r = NULL, *again = NULL;
	struct place p;
	char file[128];
	uint8_t buf[4];
	bool near;

	place_open(&p, "");
	assert_int_equal(store_reader_open(p.store, p.path, &p.st.file, &r, NULL), 0);
	assert_int_equal(store_reader_read(r, buf, 4, 0, &near, NULL), 0);
	snprintf(file, sizeof(file), "%s/f", p.dir);
	assert_int_equal(truncate(file, 5), 0);
	assert_int_equal(store_reader_check(r, NULL), -ESTALE);
	assert_int_equal(store_reader_open(p.store, p.path, &p.st.file, &again, NULL), -ESTALE);
	place_release(&p);
}

static void what_is_no_file_is_not_opened(void **state)
{
	AUTO(store_reader) struct store_reader *r = NULL;
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *path = NULL;

	assert_int_equal(store_open("file:///", &store, &path, NULL), 0);
	assert_int_equal(store_reader_open(store, "tmp", NULL, &r, NULL), -EISDIR);
	assert_int_equal(store_reader_open(store, "tmp/olddog-is-not-there", NULL, &r, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_by_its_descriptor),
		cmocka_unit_test(behind_a_filter_it_is_read_through_the_filter),
		cmocka_unit_test(what_lay_in_memory_counts_so_until_it_is_asked_again),
		cmocka_unit_test(what_changed_is_noticed_at_the_end_and_at_the_next_opening),
		cmocka_unit_test(what_is_no_file_is_not_opened),
	};

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 31 + i / 257);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
