/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with specs: inference, selection, transforms, identity, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "spec_parsed.h"

static void a_bare_path_is_sequential(void **state)
{
	static const char *const paths[] = {"/data/a.tar", "/data/{0..9}.tar"};
	AUTO(spec) struct spec *s = NULL;
	struct err e;

	assert_int_equal(spec_of_paths(paths, 2, &s, &e), 0);
	assert_true(s->n_sources == 1 && s->sources[0].n_data == 2 && s->recipe.n_fields == 0);
	assert_string_equal(s->sources[0].data[1], "/data/{0..9}.tar");
	assert_true(s->seed == 0 && s->order == ORDER_SEQUENTIAL && s->batch == 32 && s->sources[0].weight == 1);
	assert_round_trip(s);
}

static void paths_that_no_spec_can_hold_are_refused(void **state)
{
	static const char *const bad[] = {"", "\xff"};
	static char long_path[5000];
	const char *p = long_path;
	AUTO_FREE const char **many = mem_calloc(100000, sizeof(*many));
	struct spec *s = NULL;
	struct err e;

	memset(long_path, 'x', sizeof(long_path) - 1);
	for (size_t i = 0; i < 100000; i++)
		many[i] = "/data/some.tar";
	assert_int_equal(spec_of_paths(bad, 0, &s, &e), E_SPEC);
	assert_int_equal(spec_of_paths(&bad[0], 1, &s, &e), E_SPEC);
	assert_int_equal(spec_of_paths(&bad[1], 1, &s, &e), E_SPEC);
	assert_non_null(strstr(e.words, "not UTF-8"));
	assert_int_equal(spec_of_paths(&p, 1, &s, &e), E_SPEC);
	assert_int_equal(spec_of_paths(many, 100000, &s, &e), E_SPEC);
	assert_non_null(strstr(e.words, "quote a pattern"));
	assert_null(s);
}

/* The spec that is inferred, as "name(from,from)missing kind"; "" when it is refused. */
static void infer(const char *const *names, const uint64_t *n_with, unsigned n, uint64_t n_samples, bool has_class,
	struct buf *to)
{
	const char *path = "x";
	AUTO(spec) struct spec *s = NULL;
	struct err e;

	assert_int_equal(spec_of_paths(&path, 1, &s, &e), 0);
	buf_clear(to);
	if (spec_infer_fields(s, names, n_with, n, n_samples, has_class, &e) < 0)
		return;
	assert_round_trip(s);
	for (unsigned i = 0; i < s->recipe.n_fields; i++) {
		buf_printf(to, "%s%s(", i ? " " : "", s->recipe.fields[i].name);
		for (unsigned j = 0; j < s->fields[i].n_from; j++)
			buf_printf(to, "%s%s", j ? "," : "", s->fields[i].from[j]);
		buf_printf(to, ")%s%d", s->fields[i].on_missing == ON_MISSING_SKIP ? "skip" : "", s->recipe.fields[i].kind);
	}
}

static void fields_are_inferred_from_extensions(void **state)
{
	static const struct {
		const char *names[6];
		uint64_t n_with[6], n_samples;
		bool has_class;
		const char *want;
	} rows[] = {
		{{"txt", "jpg", "json"}, {99, 100, 100}, 100, false, "jpg(jpg)1 json(json)3 txt(txt)skip3"},
		{{"jpg", "png", "JPG"}, {50, 30, 20}, 100, true, "cls(cls)skip4 image(jpg,png)1"},
		{{"JPG", "jpg", "TXT"}, {60, 40, 100}, 100, false, "JPG(JPG)1 TXT(TXT)3"},
		{{"jpg", "png"}, {50, 30}, 100, false, "image(jpg,png)skip1"},
		{{"jpg", "png"}, {100, 100}, 100, false, "jpg(jpg)1 png(png)1"},
		{{"jpg", "png"}, {90, 60}, 100, false, "jpg(jpg)skip1 png(png)skip1"},
		{{"jpg", "png"}, {100, 10}, 100, false, "jpg(jpg)1"},
		{{"jpg", "webp"}, {5, 2}, 6, false, "image(jpg,webp)skip1"},
		{{"webp", "jpg", "png", "gif"}, {20, 11, 11, 1}, 34, false, "image(webp,jpg,png)skip1"},
		{{"jpg", "webp"}, {5, 3}, 6, false, "jpg(jpg)skip1 webp(webp)skip1"},
		{{"jpg", "seg.png", "cls"}, {100, 100, 100}, 100, false, "cls(cls)4 jpg(jpg)1 seg.png(seg.png)1"},
		{{"jpg", "README"}, {100, 1}, 100, false, "jpg(jpg)1"},
		{{"jpg", "txt", "json"}, {3, 1, 2}, 3, false, "jpg(jpg)1 json(json)skip3"},
		{{"jpg", "bad name", ".x", "", "a/b"}, {9, 9, 9, 9, 9}, 9, false, "jpg(jpg)1"},
		{{"jpg", "image", "png"}, {5, 5, 5}, 10, false, "image(image)skip2 jpg(jpg)skip1 png(png)skip1"},
		{{"cls", "jpg"}, {3, 5}, 5, true, "cls(cls)skip4 jpg(jpg)1"},
		{{"jpg"}, {UINT64_MAX}, 5, false, "jpg(jpg)1"},
		{{"a", "b", "c"}, {3, 3, 3}, 9, false, ""},
		{{"a"}, {0}, 0, true, ""},
	};
	struct buf AUTO_BUF got;

	buf_init(&got, 1u << 16);
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		unsigned n = 0;

		while (n < 6 && rows[i].names[n])
			n++;
		infer(rows[i].names, rows[i].n_with, n, rows[i].n_samples, rows[i].has_class, &got);
		assert_string_equal(got.ptr ? (char *)got.ptr : "", rows[i].want);
	}
}

static void fields_of_a_spec_are_not_inferred_again(void **state)
{
	AUTO(spec) struct spec *s = parse_field("from: jpg");
	const char *name = "png";
	uint64_t n_with = 1;

	assert_int_equal(spec_infer_fields(s, &name, &n_with, 1, 1, true, NULL), 0);
	assert_int_equal(s->recipe.n_fields, 1);
	assert_string_equal(s->recipe.fields[0].name, "x");
}

static void too_many_extensions_are_no_fields(void **state)
{
	char texts[33][8];
	const char *names[33];
	uint64_t n_with[33];
	struct buf AUTO_BUF got;

	for (unsigned i = 0; i < 33; i++) {
		snprintf(texts[i], sizeof(texts[i]), "e%u", i);
		names[i] = texts[i];
		n_with[i] = 1;
	}
	buf_init(&got, 1u << 16);
	infer(names, n_with, 33, 1, false, &got);
	assert_int_equal(got.n, 0);
	infer(names, n_with, 32, 1, false, &got);
	assert_true(got.n > 0);
}

static void selected_fields_keep_their_numbers(void **state)
{
	static const char *const names[] = {"label", "image"}, *const twice[] = {"image", "image"};
	AUTO(spec) struct spec *s = parse(design_example);
	const char *other = "imag";
	struct err e;

	assert_int_equal(spec_select_fields(s, &other, 1, &e), E_SPEC);
	assert_string_equal(e.words, "there is no field `imag`; the fields are image, text, label");
	assert_int_equal(spec_select_fields(s, twice, 2, &e), E_SPEC);
	assert_int_equal(s->recipe.n_fields, 3);
	assert_int_equal(spec_select_fields(s, names, 2, &e), 0);
	assert_int_equal(s->recipe.n_fields, 2);
	assert_string_equal(s->recipe.fields[0].name, "label");
	assert_string_equal(s->fields[0].from[0], "cls");
	assert_int_equal(s->recipe.fields[0].index, 2);
	assert_string_equal(s->recipe.fields[1].name, "image");
	assert_int_equal(s->fields[1].n_from, 3);
	assert_int_equal(s->recipe.fields[1].index, 0);
}

static void a_copy_is_equal_and_its_own(void **state)
{
	AUTO(spec) struct spec *s = parse(design_example), *c = NULL;
	const char *text = "text";

	assert_int_equal(spec_copy(s, &c), 0);
	assert_true(spec_equal(s, c));
	assert_int_equal(spec_select_fields(c, &text, 1, NULL), 0);
	assert_int_equal(s->recipe.n_fields, 3);
	assert_string_equal(s->fields[0].from[0], "jpg");
}

static void a_transform_replaces_the_chain(void **state)
{
	AUTO(spec) struct spec *s = parse(DATA "seed: 3\nfields: {txt: , jpg: {decode: {orientation: apply}, "
		"random_resized_crop: 8, collate: pad}}\n");
	AUTO(spec) struct spec *want = parse(DATA "seed: 3\nfields: {txt: , jpg: {decode: {orientation: apply}, "
		"transform: imagenet_val, collate: pad}}\n");
	AUTO(spec) struct spec *chain = parse(DATA "seed: 3\nfields: {txt: , jpg: {decode: gray, hflip: 0.5, "
		"collate: pad}}\n");

	assert_int_equal(spec_apply_transform(s, NULL, "imagenet_val", NULL), 0);
	assert_true(spec_equal(s, want));
	assert_int_equal(spec_apply_transform(s, "jpg", "{decode: gray, hflip: 0.5}", NULL), 0);
	chain->recipe.fields[1].orientation = ORIENTATION_APPLY;
	assert_true(spec_equal(s, chain));
}

static void a_transform_that_fails_changes_nothing(void **state)
{
	static const struct {
		const char *field, *chain, *words;
	} rows[] = {
		{NULL, "imagenet", "transform:1: `imagenet` is no transform; use imagenet_train"},
		{NULL, "{resise: 3}", "transform:1: `resise` is not a key here; the nearest is `resize`"},
		{NULL, "{from: jpg}", "transform:1: `from` belongs into a spec"},
		{NULL, "{resize: 3, hflip: 2}", "transform:1: `hflip` is `2`; write a number from 0 to 1"},
		{NULL, "{decode: keep, normalize: imagenet}", "transform:1: field `jpg` keeps its channels"},
		{"jpeg", "imagenet_val", "transform:1: there is no field `jpeg`"},
		{"txt", "imagenet_val", "transform:1: field `txt` is text; only images can be transformed"},
		{NULL, "", "transform:1: nothing is here"},
	};
	AUTO(spec) struct spec *s = parse(DATA "fields: {png: {resize: 4}, jpg: {random_resized_crop: 8}, txt: }\n"), *c = NULL;

	assert_int_equal(spec_copy(s, &c), 0);
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		struct err e = {0};

		assert_int_equal(spec_apply_transform(s, rows[i].field, rows[i].chain, &e), E_SPEC);
		if (strncmp(e.words, rows[i].words, strlen(rows[i].words)) != 0 && !strstr(e.words, "png"))
			fail_msg("%s", e.words);
		assert_true(spec_equal(s, c));
	}
}

static void the_id_of_fields_is_of_chains_and_extensions(void **state)
{
	static const char *const other[] = {
		DATA "fields: {x: {from: png, hflip: 0.5, resize: 8}}\n",
		DATA "fields: {x: {from: jpg, hflip: 0.5, resize: 9}}\n",
		DATA "fields: {x: {from: jpg, hflip: 0.5, resize: {size: 8, interpolation: box}}}\n",
		DATA "fields: {x: {from: jpg, hflip: 0.5, resize: 8}}\nresample: pillow-12\n",
	};
	AUTO(spec) struct spec *s = parse_field("from: jpg, hflip: 0.5, resize: 8");
	AUTO(spec) struct spec *same = parse("sources: [{data: b.tar}]\n"
		"fields: {x: {from: jpg, on_missing: skip, hflip: 0.5, resize: 8}}\n"
		"batch: 9\nseed: 5\ntail: pad\nlimits: {bytes: 1K, pixels: 10}\n");
	uint8_t a[32], b[32];

	assert_int_equal(spec_fields_id(s, a), 0);
	assert_int_equal(spec_fields_id(same, b), 0);
	assert_memory_equal(a, b, 32);
	for (size_t i = 0; i < N_ELEMS(other); i++) {
		AUTO(spec) struct spec *t = parse(other[i]);

		assert_int_equal(spec_fields_id(t, b), 0);
		assert_memory_not_equal(a, b, 32);
	}
}

static void help_has_every_key_once(void **state)
{
	static const char *const keys[] = {"\nsources[].data\n", "\nfields.*.random_resized_crop.ratio\n",
		"\nlimits.pixels\n", "\norder.shuffle.window\n", "default: [3/4, 4/3].", "\nbalance\n      cost; not built yet."};
	struct buf AUTO_BUF help;

	buf_init(&help, 1u << 20);
	spec_help(&help);
	assert_int_equal(help.r, 0);
	for (size_t i = 0; i < N_ELEMS(keys); i++) {
		const char *at = strstr((char *)help.ptr, keys[i]);

		assert_non_null(at);
		assert_null(strstr(at + 1, keys[i]));
	}
}

static void the_man_page_is_that_of_the_table(void **state)
{
	struct buf AUTO_BUF page;
	static char text[1u << 17];
	FILE *f = fopen(SPEC_PAGE, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	buf_init(&page, sizeof(text));
	spec_page(&page);
	assert_int_equal(page.r, 0);
	if (page.n != n || memcmp(page.ptr, text, n) != 0)
		fail_msg("%s is old: make it again by print_spec_page (tests/unit/plan)", SPEC_PAGE);
}

/* What the example in the man page shows must be true. */
static void the_example_in_the_man_page_parses(void **state)
{
	struct buf AUTO_BUF page;
	char *from, *to;
	AUTO(spec) struct spec *s = NULL;
	struct err e;

	buf_init(&page, 1u << 20);
	spec_page(&page);
	from = strstr((char *)page.ptr, "```\n") + 4;
	to = strstr(from, "```\n");
	assert_int_equal(spec_parse("page", from, (size_t)(to - from), &s, &e), 0);
	assert_int_equal(s->n_sources, 2);
}

static int everything(void)
{
	static const char *const names[] = {"label", "image"}, *const ext[] = {"jpg", "png", "txt"};
	static const uint64_t n_with[] = {5, 5, 10};
	AUTO(spec) struct spec *s = NULL, *c = NULL, *bare = NULL;
	struct buf AUTO_BUF text;
	uint8_t id[32];
	struct err e;
	int r = spec_parse("t", design_example, strlen(design_example), &s, &e);

	buf_init(&text, SPEC_MAX_BYTES);
	if (r == 0)
		r = spec_copy(s, &c);
	if (r == 0)
		r = spec_write(c, &text);
	if (r == 0)
		r = spec_fields_id(c, id);
	if (r == 0)
		r = spec_apply_transform(c, NULL, "{resize: 8}", &e);
	if (r == 0)
		r = spec_select_fields(c, names, 2, &e);
	if (r == 0)
		r = spec_of_paths(names, 2, &bare, &e);
	if (r == 0)
		r = spec_infer_fields(bare, ext, n_with, 3, 10, true, &e);
	return r;
}

static void memory_that_runs_out_is_no_harm(void **state)
{
	uint64_t n = 0;
	int r;

	do {
		mem_fail_nth(++n);
		r = everything();
		assert_int_equal(r, mem_failed() ? -ENOMEM : 0);
	} while (mem_failed());
	mem_fail_nth(0);
	assert_true(n > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bare_path_is_sequential),
		cmocka_unit_test(paths_that_no_spec_can_hold_are_refused),
		cmocka_unit_test(fields_are_inferred_from_extensions),
		cmocka_unit_test(fields_of_a_spec_are_not_inferred_again),
		cmocka_unit_test(too_many_extensions_are_no_fields),
		cmocka_unit_test(selected_fields_keep_their_numbers),
		cmocka_unit_test(a_copy_is_equal_and_its_own),
		cmocka_unit_test(a_transform_replaces_the_chain),
		cmocka_unit_test(a_transform_that_fails_changes_nothing),
		cmocka_unit_test(the_id_of_fields_is_of_chains_and_extensions),
		cmocka_unit_test(help_has_every_key_once),
		cmocka_unit_test(the_man_page_is_that_of_the_table),
		cmocka_unit_test(the_example_in_the_man_page_parses),
		cmocka_unit_test(memory_that_runs_out_is_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
