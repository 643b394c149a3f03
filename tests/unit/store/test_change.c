/* SPDX-License-Identifier: Apache-2.0 */
/* What every store changes, sums up and writes piece by piece alike, on each kind of store, filter and loop. */
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

static int run(struct place *p, enum store_op op, const char *name, const char *to)
{
	struct store_req req = {.op = op};

	return place_run(p, &req, name, to);
}

static void put(struct place *p, const char *name, const char *text)
{
	assert_int_equal(place_put(p, STORE_WRITE, name, text, strlen(text)), 0);
}

static void check_text(struct place *p, const char *name, const char *text)
{
	char got[64] = "";

	assert_int_equal(place_get(p, name, got, sizeof(got) - 1), strlen(text));
	assert_string_equal(got, text);
}

static bool is_there(struct place *p, const char *name)
{
	struct store_stat st;
	int r = place_stat(p, name, &st);

	assert_true(r == 0 || r == -ENOENT);
	return r == 0;
}

static void rename_new_replaces_nothing(void **state)
{
	struct place *p = *state;

	put(p, "d/one", "one");
	put(p, "d/two", "two");
	put(p, "e/x", "x");
	if (p->kind->no_rename) {
		assert_int_equal(run(p, STORE_RENAME_NEW, "d/one", "d/new"), -EOPNOTSUPP);
		return;
	}
	assert_int_equal(run(p, STORE_RENAME_NEW, "d/one", "d/two"), -EEXIST);
	assert_int_equal(run(p, STORE_RENAME_NEW, "d/one", "e"), -EEXIST);
	assert_int_equal(run(p, STORE_RENAME_NEW, "d", "e"), -EEXIST);
	assert_int_equal(run(p, STORE_RENAME_NEW, "d/missing", "d/new"), -ENOENT);
	check_text(p, "d/one", "one");
	check_text(p, "d/two", "two");
	assert_int_equal(run(p, STORE_RENAME_NEW, "d/one", "d/new"), 0);
	check_text(p, "d/new", "one");
	assert_false(is_there(p, "d/one"));
	assert_int_equal(run(p, STORE_RENAME_NEW, "d", "f"), 0);
	check_text(p, "f/two", "two");
}

static void trees_go_as_a_whole(void **state)
{
	struct place *p = *state;
	char deep[600] = "t";

	put(p, "t/a/b/c", "x");
	put(p, "t/a/d", "x");
	put(p, "t0", "beside");
	put(p, "t.x", "beside");
	for (unsigned i = 0; i < 100; i++)
		snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/%u", i);
	put(p, deep, "deep");
	assert_int_equal(run(p, STORE_REMOVE_TREE, "t", NULL), 0);
	assert_false(is_there(p, "t"));
	assert_true(is_there(p, "t0") && is_there(p, "t.x"));
	assert_int_equal(run(p, STORE_REMOVE_TREE, "t0", NULL), 0);
	assert_false(is_there(p, "t0"));
	assert_int_equal(run(p, STORE_REMOVE_TREE, "t0", NULL), -ENOENT);
	assert_int_equal(run(p, STORE_MKDIR, "empty", NULL), 0);
	assert_int_equal(run(p, STORE_REMOVE_TREE, "empty", NULL), 0);
}

/* Either there is a trash, and then what goes there is not here; or the words say that there is none. */
static void trash_takes_or_is_told(void **state)
{
	struct place *p = *state;
	struct err words = {0};
	struct store_req req = {.op = STORE_TRASH, .err = &words};
	int r;

	put(p, "t/a", "x");
	r = place_run(p, &req, "t", NULL);
	assert_true(r == 0 || r == -EOPNOTSUPP);
	assert_int_equal(is_there(p, "t"), r != 0);
	if (r < 0)
		assert_non_null(strstr(words.words, "no trash"));
}

static int concat(struct place *p, const char *name, const char *const *names, unsigned n)
{
	char *paths[4];
	struct store_req req = {.op = STORE_CONCAT, .paths = (const char *const *)paths, .n_paths = n};
	int r;

	for (unsigned i = 0; i < n; i++)
		paths[i] = place_path(p, names[i]);
	r = place_run(p, &req, name, NULL);
	for (unsigned i = 0; i < n; i++)
		mem_free(paths[i]);
	return r;
}

static void files_are_joined_and_the_sources_gone(void **state)
{
	struct place *p = *state;

	put(p, "d/target", "one ");
	put(p, "d/a", "two ");
	put(p, "d/b", "three");
	assert_int_equal(concat(p, "d/target", (const char *const[]){"d/a", "d/missing"}, 2), -ENOENT);
	assert_int_equal(concat(p, "d/missing", (const char *const[]){"d/a"}, 1), -ENOENT);
	assert_int_equal(concat(p, "d/target", (const char *const[]){"d/a", "d/a"}, 2), -EINVAL);
	assert_int_equal(concat(p, "d/target", (const char *const[]){"d/target"}, 1), -EINVAL);
	assert_int_equal(concat(p, "d/target", NULL, 0), -EINVAL);
	check_text(p, "d/target", "one ");
	check_text(p, "d/a", "two ");
	assert_int_equal(concat(p, "d/target", (const char *const[]){"d/a", "d//b"}, 2), 0);
	check_text(p, "d/target", "one two three");
	assert_false(is_there(p, "d/a"));
	assert_false(is_there(p, "d/b"));
}

static void attributes_are_set_and_seen(void **state)
{
	struct place *p = *state;
	struct store_set set = {.mtime_ns = 1000000000ull * NS_PER_S, .atime_ns = 1100000000ull * NS_PER_S, .mode = 0640},
		none = {.mode = -1}, bad = {.mode = 010000};
	struct store_req req = {.op = STORE_SET, .set = &set};
	struct store_stat st;

	put(p, "f", "x");
	assert_int_equal(place_run(p, &req, "f", NULL), 0);
	assert_int_equal(place_stat(p, "f", &st), 0);
	assert_int_equal(st.mtime_ns, set.mtime_ns);
	assert_int_equal(st.atime_ns, set.atime_ns);
	assert_int_equal(st.mode, 0640);
	req.set = &none;
	assert_int_equal(place_run(p, &req, "f", NULL), 0);
	assert_int_equal(place_stat(p, "f", &st), 0);
	assert_int_equal(st.mode, 0640);
	assert_int_equal(place_run(p, &req, "missing", NULL), p->folder ? 0 : -ENOENT);
	req.set = &bad;
	assert_int_equal(place_run(p, &req, "f", NULL), -EINVAL);
	/* Back to what it is already: of that anybody may be sure. */
	if (st.owner && st.group) {
		struct store_set owner = {.owner = st.owner, .group = st.group, .mode = -1};

		req.set = &owner;
		assert_int_equal(place_run(p, &req, "f", NULL), 0);
	}
}

static void checksums_are_of_the_bytes(void **state)
{
	struct place *p = *state;
	struct store_req req = {.op = STORE_CHECKSUM};

	/* The check value of CRC-32C. */
	put(p, "f", "123456789");
	assert_int_equal(place_run(p, &req, "f", NULL), 0);
	assert_int_equal(req.checksum.length, 9);
	assert_int_equal(req.checksum.crc32c, 0xe3069283);
	put(p, "empty", "");
	assert_int_equal(place_run(p, &req, "empty", NULL), 0);
	assert_int_equal(req.checksum.length, 0);
	assert_int_equal(req.checksum.crc32c, 0);
	assert_int_equal(place_run(p, &req, "missing", NULL), -ENOENT);
	assert_int_equal(run(p, STORE_MKDIR, "d", NULL), 0);
	assert_int_equal(place_run(p, &req, "d", NULL), -EISDIR);
}

static void places_cover_the_bytes(void **state)
{
	struct place *p = *state;
	struct store_range range = {.offset = 3, .length = 100};
	struct store_req req = {.op = STORE_LOCATE, .ranges = &range, .n_ranges = 1};
	uint64_t at = 3;

	put(p, "f", "0123456789");
	assert_int_equal(place_run(p, &req, "f", NULL), 0);
	assert_true(req.places.n > 0);
	for (size_t i = 0; i < req.places.n; i++) {
		assert_true(req.places.ptr[i].offset <= at);
		assert_true(req.places.ptr[i].n_hosts > 0 && req.places.ptr[i].hosts[0][0]);
		at = req.places.ptr[i].offset + req.places.ptr[i].length;
	}
	assert_int_equal(at, 10);
	store_places_release(&req.places);
	range.offset = 10;
	assert_int_equal(place_run(p, &req, "f", NULL), 0);
	assert_int_equal(req.places.n, 0);
	store_places_release(&req.places);
	assert_int_equal(place_run(p, &req, "missing", NULL), -ENOENT);
}

static void space_and_summaries_add_up(void **state)
{
	struct place *p = *state;
	struct store_req space = {.op = STORE_SPACE}, sum = {.op = STORE_SUMMARY};

	put(p, "t/a", "four");
	put(p, "t/b/c", "seven..");
	put(p, "t/b/d", "");
	assert_int_equal(place_run(p, &space, "t", NULL), 0);
	assert_true(space.space.total_bytes >= space.space.free_bytes);
	assert_int_equal(place_run(p, &sum, "t", NULL), 0);
	assert_int_equal(sum.summary.n_bytes, 11);
	assert_int_equal(sum.summary.n_files, 3);
	assert_int_equal(sum.summary.n_dirs, 2);
	assert_true(sum.summary.quota_names == STORE_NO_QUOTA && sum.summary.quota_bytes == STORE_NO_QUOTA);
	assert_int_equal(place_run(p, &sum, "t/a", NULL), 0);
	assert_int_equal(sum.summary.n_bytes, 4);
	assert_int_equal(sum.summary.n_files, 1);
	assert_int_equal(sum.summary.n_dirs, 0);
	assert_int_equal(place_run(p, &sum, "missing", NULL), -ENOENT);
}

static void extended_attributes_come_and_go(void **state)
{
	struct place *p = *state;
	struct store_req set = {.op = STORE_XATTR_SET, .xattr = {.name = "user.dog", .value = (void *)"old", .n = 3}},
		get = {.op = STORE_XATTR_GET, .xattr.name = "user.dog"}, list = {.op = STORE_XATTR_LIST},
		rm = {.op = STORE_XATTR_REMOVE, .xattr.name = "user.dog"};
	int r;

	put(p, "f", "x");
	r = place_run(p, &set, "f", NULL);
	if (r == -EOPNOTSUPP && p->folder)
		skip(); /* of the file system below */
	assert_int_equal(r, 0);
	set.xattr.create = true;
	assert_int_equal(place_run(p, &set, "f", NULL), -EEXIST);
	set.xattr = (struct store_xattr){.name = "user.none", .value = (void *)"", .replace = true};
	assert_int_equal(place_run(p, &set, "f", NULL), -ENODATA);
	assert_int_equal(place_run(p, &get, "f", NULL), 0);
	assert_int_equal(get.xattr.n, 3);
	assert_memory_equal(get.xattr.value, "old", 3);
	mem_free(get.xattr.value);
	assert_int_equal(place_run(p, &list, "f", NULL), 0);
	assert_true(list.xattr.n >= 9);
	assert_non_null(memmem(list.xattr.value, list.xattr.n, "user.dog", 9));
	mem_free(list.xattr.value);
	assert_int_equal(place_run(p, &rm, "f", NULL), 0);
	assert_int_equal(place_run(p, &rm, "f", NULL), -ENODATA);
	assert_int_equal(place_run(p, &get, "f", NULL), -ENODATA);
	assert_null(get.xattr.value);
	get.xattr.name = "";
	assert_int_equal(place_run(p, &get, "f", NULL), -EINVAL);
}

/* Writers. */

static int open_writer(struct place *p, const char *name, const struct store_how *how, struct store_writer **ret)
{
	struct store_req req = {.op = STORE_OPEN_WRITER, .how = how};
	int r = place_run(p, &req, name, NULL);

	*ret = req.writer;
	return r;
}

static int step(struct place *p, enum store_op op, const char *name, struct store_writer *w, const char *text)
{
	struct store_range range = {.buf = (void *)text, .length = text ? strlen(text) : 0};
	struct store_req req = {.op = op, .writer = w, .ranges = &range, .n_ranges = 1, .disk = true};

	return place_run(p, &req, name, NULL);
}

static void a_writer_shows_all_at_its_commit(void **state)
{
	struct place *p = *state;
	struct store_writer *w;

	put(p, "d/f", "old");
	assert_int_equal(open_writer(p, "d/f", NULL, &w), 0);
	assert_int_equal(step(p, STORE_APPEND, "d/f", w, "ne"), 0);
	assert_int_equal(step(p, STORE_APPEND, "d/f", w, ""), 0);
	assert_int_equal(step(p, STORE_FLUSH, "d/f", w, NULL), 0);
	assert_int_equal(step(p, STORE_APPEND, "d/f", w, "w one"), 0);
	check_text(p, "d/f", "old");
	assert_int_equal(step(p, STORE_COMMIT, "d/f", w, NULL), 0);
	check_text(p, "d/f", "new one");
	/* Makes parents; an empty one is a file. */
	assert_int_equal(open_writer(p, "new/dir/f", &(struct store_how){.mode = 0600}, &w), 0);
	assert_false(is_there(p, "new/dir/f"));
	assert_int_equal(step(p, STORE_COMMIT, "new/dir/f", w, NULL), 0);
	check_text(p, "new/dir/f", "");
}

static void an_aborted_writer_leaves_nothing(void **state)
{
	struct place *p = *state;
	struct store_writer *w;
	struct store_listing l;
	AUTO_FREE char *dir = place_path(p, "d");

	put(p, "d/f", "old");
	assert_int_equal(open_writer(p, "d/f", NULL, &w), 0);
	assert_int_equal(step(p, STORE_APPEND, "d/f", w, "new"), 0);
	assert_int_equal(step(p, STORE_ABORT, "d/f", w, NULL), 0);
	check_text(p, "d/f", "old");
	assert_int_equal(open_writer(p, "d/g", NULL, &w), 0);
	assert_int_equal(step(p, STORE_ABORT, "d/g", w, NULL), 0);
	if (!p->kind->is_virtual) {
		assert_int_equal(store_list(p->store, dir, &l, NULL), 0);
		assert_int_equal(l.n, 1);
		store_listing_release(&l);
	}
	assert_int_equal(run(p, STORE_REMOVE, "d/f", NULL), 0);
	assert_int_equal(run(p, STORE_REMOVE, "d", NULL), 0);
}

static void an_exclusive_writer_does_not_replace(void **state)
{
	struct place *p = *state;
	const struct store_how how = {.exclusive = true};
	struct store_writer *one, *other;

	assert_int_equal(open_writer(p, "d/f", &how, &one), 0);
	assert_int_equal(open_writer(p, "d/f", &how, &other), 0);
	assert_int_equal(step(p, STORE_APPEND, "d/f", one, "one"), 0);
	assert_int_equal(step(p, STORE_APPEND, "d/f", other, "other"), 0);
	assert_int_equal(step(p, STORE_COMMIT, "d/f", other, NULL), 0);
	assert_int_equal(step(p, STORE_COMMIT, "d/f", one, NULL), -EEXIST);
	check_text(p, "d/f", "other");
	assert_int_equal(run(p, STORE_REMOVE, "d/f", NULL), 0);
	assert_int_equal(run(p, STORE_REMOVE, "d", NULL), 0);
}

static void appending_is_at_once_in_the_file(void **state)
{
	struct place *p = *state;
	const struct store_how how = {.append = true}, both = {.append = true, .exclusive = true};
	struct store_writer *w;

	assert_int_equal(open_writer(p, "f", &how, &w), -ENOENT);
	assert_null(w);
	assert_int_equal(open_writer(p, "f", &both, &w), -EINVAL);
	put(p, "f", "one");
	assert_int_equal(open_writer(p, "f", &how, &w), 0);
	assert_int_equal(step(p, STORE_APPEND, "f", w, " two"), 0);
	assert_int_equal(step(p, STORE_FLUSH, "f", w, NULL), 0);
	check_text(p, "f", "one two");
	assert_int_equal(step(p, STORE_ABORT, "f", w, NULL), 0);
	check_text(p, "f", "one two");
	assert_int_equal(open_writer(p, "f", &how, &w), 0);
	assert_int_equal(step(p, STORE_APPEND, "f", w, " three"), 0);
	assert_int_equal(step(p, STORE_COMMIT, "f", w, NULL), 0);
	check_text(p, "f", "one two three");
}

static void a_writer_past_its_deadline_ends_without_a_file(void **state)
{
	struct place *p = *state;
	struct store_writer *w;
	struct store_req req = {.op = STORE_COMMIT, .deadline_ns = 1};

	assert_int_equal(open_writer(p, "f", NULL, &w), 0);
	req.writer = w;
	assert_int_equal(place_run(p, &req, "f", NULL), -ETIMEDOUT);
	assert_false(is_there(p, "f"));
}

static void what_cannot_be_written_is_told(void **state)
{
	struct place *p = *state;
	struct store_writer *w;

	put(p, "d/f", "x");
	/* At once, or at the end. */
	if (open_writer(p, "d", NULL, &w) == 0)
		assert_int_equal(step(p, STORE_COMMIT, "d", w, NULL), -EISDIR);
	assert_int_equal(open_writer(p, "d/f/x", NULL, &w), -ENOTDIR);
	assert_int_equal(step(p, STORE_APPEND, "d/f", NULL, "x"), -EINVAL);
	assert_int_equal(step(p, STORE_COMMIT, "d/f", NULL, NULL), -EINVAL);
}

/* A step that fails leaves the writer to be ended, and nothing behind. */
static int write_by_steps(struct place *p, const char *name)
{
	struct store_writer *w;
	int r = open_writer(p, name, NULL, &w);

	if (r < 0)
		return r;
	r = step(p, STORE_APPEND, name, w, "abc");
	if (r < 0) {
		step(p, STORE_ABORT, name, w, NULL);
		return r;
	}
	return step(p, STORE_COMMIT, name, w, NULL);
}

static void short_of_memory_is_told(void **state)
{
	struct place *p = *state;
	unsigned n = 0, n_refused = 0;

	do {
		struct store_req sum = {.op = STORE_SUMMARY}, set = {.op = STORE_XATTR_SET,
			.xattr = {.name = "user.a", .value = (void *)"v", .n = 1}};
		char dir[32], name[40];
		int r;

		snprintf(dir, sizeof(dir), "m%u", ++n);
		snprintf(name, sizeof(name), "%s/f", dir);
		put(p, "other", "x");
		mem_fail_nth(n);
		r = write_by_steps(p, name);
		r = r < 0 ? r : concat(p, name, (const char *const[]){"other"}, 1);
		r = r < 0 ? r : place_run(p, &sum, dir, NULL);
		r = r < 0 || p->folder ? r : place_run(p, &set, name, NULL);
		r = r < 0 ? r : run(p, STORE_REMOVE_TREE, dir, NULL);
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
	CASE(rename_new_replaces_nothing),
	CASE(trees_go_as_a_whole),
	CASE(trash_takes_or_is_told),
	CASE(files_are_joined_and_the_sources_gone),
	CASE(attributes_are_set_and_seen),
	CASE(checksums_are_of_the_bytes),
	CASE(places_cover_the_bytes),
	CASE(space_and_summaries_add_up),
	CASE(extended_attributes_come_and_go),
	CASE(a_writer_shows_all_at_its_commit),
	CASE(an_aborted_writer_leaves_nothing),
	CASE(an_exclusive_writer_does_not_replace),
	CASE(appending_is_at_once_in_the_file),
	CASE(a_writer_past_its_deadline_ends_without_a_file),
	CASE(what_cannot_be_written_is_told),
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
