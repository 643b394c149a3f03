/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, in memory and in a directory, over data in a ram: store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "plan/plan.h"
#include "store/store.h"
#include "unit/tar_make.h"

/* A ram: store lives as long as somebody has it open. */
static struct store *hold(const char *url)
{
	struct store *store = NULL;
	AUTO_FREE char *path = NULL;

	assert_int_equal(store_open(url, &store, &path, NULL), 0);
	return store;
}

static void put(const char *url, const void *p, size_t n)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *path = NULL, *dir = NULL;
	struct err e = {0};

	assert_int_equal(store_open(url, &store, &path, &e), 0);
	dir = mem_strdup(path);
	if (strrchr(dir, '/')) {
		*strrchr(dir, '/') = '\0';
		assert_int_equal(store_mkdir(store, dir, &e), 0);
	}
	if (store_write_all(store, path, p, n, &e) < 0)
		fail_msg("%s: %s", url, e.words);
}

static void put_text(const char *url, const char *text)
{
	put(url, text, strlen(text));
}

struct told {
	char words[4096];
};

static void warned(void *ctx, const char *words)
{
	struct told *t = ctx;
	size_t n = strlen(t->words);

	snprintf(t->words + n, sizeof(t->words) - n, "%s\n", words);
}

static struct plan *make(const char *const *paths, unsigned n, struct told *told)
{
	struct plan_conf conf = {.n_threads = 2, .warn = warned, .ctx = told};
	struct plan *p = NULL;
	struct err e = {0};

	if (plan_open_any(paths, n, &conf, &p, &e) < 0)
		fail_msg("%s", e.words);
	return p;
}

static struct plan *make_spec(const char *text, struct told *told)
{
	struct plan_conf conf = {.n_threads = 2, .warn = warned, .ctx = told};
	struct spec *spec;
	struct plan *p = NULL;
	struct err e = {0};

	if (spec_parse("test", text, strlen(text), &spec, &e) < 0 || plan_make(spec, NULL, &conf, &p, &e) < 0)
		fail_msg("%s", e.words);
	return p;
}

static void assert_bytes(const struct plan_member *m, const char *text)
{
	char bytes[256];
	struct err e = {0};

	assert_int_equal(m->kind, MEMBER_RANGE);
	assert_int_equal(m->length, strlen(text));
	if (store_pread(m->store, m->path, &m->file, bytes, m->length, m->offset, &e) < 0)
		fail_msg("%s", e.words);
	assert_memory_equal(bytes, text, m->length);
}

static void a_folder_is_samples_in_bytewise_order_with_classes(void **state)
{
	struct told told = {0};
	AUTO(plan) struct plan *p = NULL;
	struct plan_sample s = {0};
	const char *path = "ram:folder/";
	AUTO_STORE __attribute__((unused)) struct store *held = hold(path);

	put_text("ram:folder/dog/2.JPEG", "d2");
	put_text("ram:folder/cat/1.jpg", "c1");
	put_text("ram:folder/cat/1-1.jpg", "c11");
	put_text("ram:folder/cat/.hidden.jpg", "no");
	p = make(&path, 1, &told);
	assert_string_equal(told.words, "");
	assert_int_equal(plan_n_samples(p), 3);
	assert_int_equal(plan_sample(p, 0, 0, &s, NULL), 0);
	assert_string_equal(s.key, "cat/1-1");
	assert_int_equal(plan_sample(p, 1, 0, &s, NULL), 0);
	assert_string_equal(s.key, "cat/1");
	assert_int_equal(plan_sample(p, 2, 0, &s, NULL), 0);
	assert_string_equal(s.key, "dog/2");
	assert_int_equal(s.n_fields, 2);
	for (unsigned i = 0; i < s.n_fields; i++) {
		if (s.fields[i].kind == MEMBER_INLINE)
			assert_int_equal(s.fields[i].value, 1);
		else
			assert_bytes(&s.fields[i], "d2");
	}
	plan_sample_release(&s);
}

static void an_archive_is_samples_by_key(void **state)
{
	struct told told = {0};
	AUTO(plan) struct plan *p = NULL;
	AUTO_BUF struct buf tar;
	struct plan_sample s = {0};
	AUTO_STORE __attribute__((unused)) struct store *held = hold("ram:archive/");

	buf_init(&tar, 1 << 20);
	tar_file(&tar, "a/0001.jpg", "first picture");
	tar_file(&tar, "a/0001.Txt", "first text");
	tar_file(&tar, "a/0002.jpg", "second picture");
	tar_file(&tar, "a/0002.txt", "second text");
	tar_end(&tar);
	put("ram:archive/0.tar", tar.ptr, tar.n);
	put("ram:archive/1.tar", tar.ptr, tar.n);
	p = make_spec("sources: [{data: 'ram:archive/{0..1}.tar'}]\n"
		      "fields: {image: {from: jpg, decode: rgb}, text: {from: txt}}\n", &told);
	assert_string_equal(told.words, "");
	assert_int_equal(plan_n_samples(p), 4);
	assert_int_equal(plan_sample(p, 3, 0, &s, NULL), 0);
	assert_string_equal(s.key, "a/0002");
	assert_bytes(&s.fields[0], "second picture");
	assert_bytes(&s.fields[1], "second text");
	assert_int_equal(s.fields[0].file.length, tar.n);
	plan_sample_release(&s);
}

static void odd_members_are_told_and_missing_samples_removed(void **state)
{
	struct told told = {0};
	AUTO(plan) struct plan *p = NULL;
	AUTO_BUF struct buf tar;
	struct plan_sample s = {0};
	AUTO_STORE __attribute__((unused)) struct store *held = hold("ram:odd/");

	buf_init(&tar, 1 << 20);
	tar_file(&tar, "22.05.png", "no text of its own");
	tar_file(&tar, "a.jpg", "a");
	tar_file(&tar, "b.jpg", "b");
	tar_file(&tar, "b.txt", "text");
	tar_file(&tar, "a.txt", "late");
	tar_end(&tar);
	put("ram:odd/x.tar", tar.ptr, tar.n);
	p = make_spec("sources: [{data: 'ram:odd/x.tar'}]\n"
		      "fields: {text: {from: txt, on_missing: skip}, image: {from: jpg, as: bytes, on_missing: empty}}\n",
		&told);
	assert_non_null(strstr(told.words, "x.tar: at 0: 22.05.png has its key"));
	assert_non_null(strstr(told.words, "x.tar: at 4608: a begins another sample"));
	assert_int_equal(plan_stats(p)->n_found, 4);
	assert_int_equal(plan_n_samples(p), 2);
	assert_int_equal(plan_sample(p, 0, 0, &s, NULL), 0);
	assert_string_equal(s.key, "b");
	assert_bytes(&s.fields[0], "text");
	assert_bytes(&s.fields[1], "b");
	assert_int_equal(plan_sample(p, 1, 0, &s, NULL), 0);
	assert_string_equal(s.key, "a");
	assert_int_equal(s.fields[1].kind, MEMBER_NONE);
	plan_sample_release(&s);
}

static void names_may_have_any_character(void **state)
{
	static const char *const paths[] = {
		"ram:chars/a%23b%25/*.jpg", "ram:chars/a%23b%25", "ram:chars/a%23b%25/x%23.jpg", "ram:chars/*/x*.jpg",
	};
	AUTO_STORE __attribute__((unused)) struct store *held = hold("ram:chars/");

	put_text("ram:chars/a%23b%25/x%23.jpg", "odd");
	for (unsigned i = 0; i < N_ELEMS(paths); i++) {
		struct told told = {0};
		AUTO(plan) struct plan *p = make(&paths[i], 1, &told);
		struct plan_sample s = {0};

		assert_int_equal(plan_n_samples(p), 1);
		assert_int_equal(plan_sample(p, 0, 0, &s, NULL), 0);
		for (unsigned k = 0; k < s.n_fields; k++)
			if (s.fields[k].kind == MEMBER_RANGE)
				assert_bytes(&s.fields[k], "odd");
		plan_sample_release(&s);
	}
}

/* Two archives and a folder of three files at ram:mixed/, and a spec of both. */
static struct spec *mixed(void)
{
	static const char text[] = "sources:\n"
				   "- {data: 'ram:mixed/*.tar'}\n"
				   "- {data: 'ram:mixed/folder', on_end: repeat}\n"
				   "fields: {image: {from: [jpg, png], as: bytes}, text: {from: txt, as: text, on_missing: skip}}\n"
				   "order: {shuffle: {window: 4, shards: 2}}\n";
	struct spec *spec;
	struct err e = {0};

	if (spec_parse("test", text, strlen(text), &spec, &e) < 0)
		fail_msg("%s", e.words);
	return spec;
}

static struct store *mixed_data(void)
{
	struct store *held = hold("ram:mixed/");

	for (unsigned k = 0; k < 2; k++) {
		AUTO_BUF struct buf tar;
		char name[64];

		buf_init(&tar, 1 << 20);
		for (unsigned i = 0; i < 20; i++) {
			snprintf(name, sizeof(name), "%u%02u.jpg", k, i);
			tar_file(&tar, name, name);
			snprintf(name, sizeof(name), "%u%02u.txt", k, i);
			if (i != 7)
				tar_file(&tar, name, name);
		}
		tar_end(&tar);
		snprintf(name, sizeof(name), "ram:mixed/%u.tar", k);
		put(name, tar.ptr, tar.n);
	}
	put_text("ram:mixed/folder/one.jpg", "one");
	put_text("ram:mixed/folder/one.txt", "one text");
	put_text("ram:mixed/folder/two.png", "two");
	put_text("ram:mixed/folder/two.txt", "two text");
	return held;
}

static void assert_same_plan(struct plan *a, struct plan *b)
{
	struct plan_sample x = {0}, y = {0};

	assert_memory_equal(plan_order_id(a), plan_order_id(b), 32);
	assert_memory_equal(plan_fields_id(a), plan_fields_id(b), 32);
	assert_int_equal(plan_n_samples(a), plan_n_samples(b));
	for (uint64_t i = 0; i < 2 * plan_epoch_len(a); i++) {
		assert_int_equal(plan_sample(a, i, 0, &x, NULL), 0);
		assert_int_equal(plan_sample(b, i, 0, &y, NULL), 0);
		assert_string_equal(x.key, y.key);
		for (unsigned k = 0; k < x.n_fields; k++) {
			assert_string_equal(x.fields[k].path, y.fields[k].path);
			assert_string_equal(x.fields[k].file.version, y.fields[k].file.version);
			assert_int_equal(x.fields[k].offset, y.fields[k].offset);
			assert_int_equal(x.fields[k].length, y.fields[k].length);
		}
	}
	plan_sample_release(&x);
	plan_sample_release(&y);
}

/* A fresh directory; its plan would be DIR/x.plan. */
static char *temporary(char dir[64])
{
	snprintf(dir, 64, "/tmp/olddog-plan-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return dir;
}

static void directory_remove(const char *dir)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *path = NULL;
	struct store_listing l;

	assert_int_equal(store_open(dir, &store, &path, NULL), 0);
	assert_int_equal(store_list(store, path, &l, NULL), 0);
	for (size_t i = 0; i < l.n; i++) {
		AUTO_FREE char *below = mem_printf("%s/%s", dir, l.entries[i].name);

		if (l.entries[i].stat.kind == STORE_DIR)
			directory_remove(below);
		else
			assert_int_equal(store_remove(store, below, NULL), 0);
	}
	store_listing_release(&l);
	assert_int_equal(store_remove(store, path, NULL), 0);
}

static void a_plan_in_a_directory_is_the_one_in_memory(void **state)
{
	AUTO_STORE __attribute__((unused)) struct store *held = mixed_data();
	AUTO(plan) struct plan *memory = NULL, *written = NULL, *opened = NULL;
	char dir[64], to[80];
	struct err e = {0};

	snprintf(to, sizeof(to), "%s/x.plan", temporary(dir));
	assert_int_equal(plan_make(mixed(), NULL, NULL, &memory, &e), 0);
	if (plan_make(mixed(), to, NULL, &written, &e) < 0 || plan_open(to, &opened, &e) < 0)
		fail_msg("%s", e.words);
	assert_int_equal(plan_n_samples(memory), 2 * 19 + 2);
	assert_same_plan(memory, written);
	assert_same_plan(memory, opened);
	assert_int_equal(plan_stats(opened)->n_archives, 2);
	assert_int_equal(plan_stats(opened)->n_files, 4);
	directory_remove(dir);
}

/* Opens and reads all; whatever is broken is an error with words, or makes no difference. */
static void read_all(const char *dir)
{
	AUTO(plan) struct plan *p = NULL;
	struct plan_sample s = {0};
	struct err e = {0};
	int r = plan_open(dir, &p, &e);

	for (uint64_t i = 0; r == 0 && i < plan_epoch_len(p); i++)
		r = plan_sample(p, i, 0, &s, &e);
	if (r < 0)
		assert_true(e.words[0] != '\0');
	plan_sample_release(&s);
}

static void broken_files_of_a_plan_are_errors(void **state)
{
	static const char *const names[] = {"plan.json", "shards.bin", "part-0000", "bind-0000"};
	AUTO_STORE __attribute__((unused)) struct store *held = mixed_data();
	AUTO_STORE struct store *files = NULL;
	AUTO_FREE char *path = NULL;
	AUTO(plan) struct plan *written = NULL;
	char dir[64], to[80];

	snprintf(to, sizeof(to), "%s/x.plan", temporary(dir));
	assert_int_equal(plan_make(mixed(), to, NULL, &written, NULL), 0);
	assert_int_equal(store_open(to, &files, &path, NULL), 0);
	for (unsigned k = 0; k < N_ELEMS(names); k++) {
		AUTO_FREE char *name = mem_printf("%s/%s", path, names[k]);
		AUTO_FREE void *whole = NULL;
		size_t n;

		assert_int_equal(store_read_all(files, name, 1 << 20, &whole, &n, NULL), 0);
		for (size_t at = 0; at < n; at += 1 + n / 40) {
			uint8_t *p = whole;

			p[at] ^= 0x41;
			assert_int_equal(store_write_all(files, name, whole, n, NULL), 0);
			read_all(to);
			p[at] ^= 0x41;
			assert_int_equal(store_write_all(files, name, whole, at, NULL), 0);
			read_all(to);
		}
		assert_int_equal(store_write_all(files, name, whole, n, NULL), 0);
	}
	/* What is open reads what it opened, though all its files have been replaced. */
	read_all(to);
	assert_same_plan(written, written);
	directory_remove(dir);
}

static void short_memory_is_an_error_at_any_allocation(void **state)
{
	AUTO_STORE __attribute__((unused)) struct store *held = mixed_data();
	bool failed = true;

	for (uint64_t n = 1; failed; n += 1 + n / 16) {
		struct spec *spec = mixed();
		AUTO(plan) struct plan *p = NULL;
		struct plan_conf conf = {.n_threads = 1};
		struct err e = {0};
		struct plan_sample s = {0};
		int r;

		mem_fail_nth(n);
		r = plan_make(spec, NULL, &conf, &p, &e);
		if (r == 0)
			r = plan_sample(p, 3, 0, &s, &e);
		failed = mem_failed();
		mem_fail_nth(0);
		if (r < 0)
			assert_true(failed);
		plan_sample_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_is_samples_in_bytewise_order_with_classes),
		cmocka_unit_test(an_archive_is_samples_by_key),
		cmocka_unit_test(odd_members_are_told_and_missing_samples_removed),
		cmocka_unit_test(names_may_have_any_character),
		cmocka_unit_test(a_plan_in_a_directory_is_the_one_in_memory),
		cmocka_unit_test(broken_files_of_a_plan_are_errors),
		cmocka_unit_test(short_memory_is_an_error_at_any_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
