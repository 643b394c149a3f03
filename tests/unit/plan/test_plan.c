/* SPDX-License-Identifier: Apache-2.0 */
/* Plans in memory, over a ram: store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_is_samples_in_bytewise_order_with_classes),
		cmocka_unit_test(an_archive_is_samples_by_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
