/* SPDX-License-Identifier: Apache-2.0 */
/* Specs that are refused, and the words for it: line, what was found, what to write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/spec.h"
#include "plan/spec_yaml.h"

#define DATA "sources: [{data: a.tar}]\n"
#define FIELD(keys) DATA "fields:\n  x: {" keys "}\n"

struct row {
	const char *text, *words; /* the words' beginning */
};

static void assert_refused_n(const char *text, size_t n, const char *words)
{
	struct spec *s = NULL;
	struct err e = {0};
	int r = spec_parse("t.yaml", text, n, &s, &e);

	if (r != E_SPEC || e.code != E_SPEC || strncmp(e.words, words, strlen(words)) != 0)
		fail_msg("%d: got\n%s\nfor\n%.300s", r, e.words, text);
	assert_null(s);
}

static void assert_refused(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_refused_n(rows[i].text, strlen(rows[i].text), rows[i].words);
}

static void unknown_keys_name_the_line_and_the_nearest(void **state)
{
	static const struct row rows[] = {
		{DATA "\n\nsed: 4\n", "t.yaml:4: `sed` is not a key here; the nearest is `seed`"},
		{"source: [{data: a}]\n", "t.yaml:1: `source` is not a key here; the nearest is `sources`"},
		{"sources:\n- data: a\n  wieght: 2\n",
			"t.yaml:3: `wieght` is not a key here; the nearest is `weight`"},
		{FIELD("from: jpg,\n normalise: imagenet"),
			"t.yaml:4: `normalise` is not a key here; the nearest is `normalize`"},
		{FIELD("decode: {oriantation: apply}"),
			"t.yaml:3: `oriantation` is not a key here; the nearest is `orientation`"},
		{FIELD("resize: {size: 3, filter: box}"),
			"t.yaml:3: `filter` is not a key here; those that are: size, interpolation"},
		{FIELD("random_resized_crop: {sclae: [0.1, 1]}"),
			"t.yaml:3: `sclae` is not a key here; the nearest is `scale`"},
		{DATA "order: {shufle: {window: 1}}\n",
			"t.yaml:2: `shufle` is not a key here; the nearest is `shuffle`"},
		{DATA "order: {shuffle: {windows: 1}}\n",
			"t.yaml:2: `windows` is not a key here; the nearest is `window`"},
		{DATA "epochs: 3\n",
			"t.yaml:2: `epochs` is not a key here; those that are: sources, fields, seed, order, global_batch, "},
		{DATA "on_error: {stop: 1}\n", "t.yaml:2: `stop` is not a key here; those that are: decode, stop_above"},
		{DATA "\"a\\e[2Jb\": 1\n", "t.yaml:2: `a?[2Jb` is not a key here; those that are: sources, "},
		{DATA "? aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaéaaaaaaaaaaaaaaaaaaaaaaaaaaa\n: 1\n",
			"t.yaml:2: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...` is not a key here"},
	};

	assert_refused(rows, N_ELEMS(rows));
}

static void what_is_not_built_is_refused_by_name(void **state)
{
	static const struct row rows[] = {
		{DATA "balance: cost\n", "t.yaml:2: `balance` is not built yet; leave it out"},
		{"sources: [{data: a, format: tokens}]\n",
			"t.yaml:1: `format: tokens` is not built yet; leave it out"},
		{"sources: [{data: a, format: video}]\n", "t.yaml:1: `format: video` is not built yet; leave it out"},
		{FIELD("from: jpg,\n color_jitter: {hue: 0.1}"),
			"t.yaml:4: `color_jitter` is not built yet; leave it out"},
		{FIELD("from: json, as: json, pick: [a]"), "t.yaml:3: `pick` is not built yet; leave it out"},
	};

	assert_refused(rows, N_ELEMS(rows));
}

static void values_out_of_range_say_what_is_allowed(void **state)
{
	static const struct row rows[] = {
		{DATA "tail: shrot\n", "t.yaml:2: `tail` is `shrot`; write short | drop | pad | carry"},
		{DATA "tail: [short]\n", "t.yaml:2: `tail` is a list; write short | drop | pad | carry"},
		{DATA "tail: {}\n", "t.yaml:2: `tail` is a mapping; write short"},
		{DATA "tail:\n", "t.yaml:2: `tail` is empty; write short"},
		{DATA "seed: -1\n", "t.yaml:2: `seed` is `-1`; write a whole number from 0 to 18446744073709551615"},
		{DATA "seed: 18446744073709551616\n", "t.yaml:2: `seed` is `18446744073709551616`; write a whole"},
		{DATA "global_batch: 0\n",
			"t.yaml:2: `global_batch` is `0`; write a whole number from 1 to 16777216"},
		{DATA "batch: 16777217\n",
			"t.yaml:2: `batch` is `16777217`; write a whole number from 1 to 16777216"},
		{DATA "batch: 1e3\n", "t.yaml:2: `batch` is `1e3`; write a whole number"},
		{DATA "order: random\n",
			"t.yaml:2: `order` is `random`; write sequential | shuffle | {shuffle: {window: N, shards: G}}"},
		{DATA "order: {}\n", "t.yaml:2: `order` is an empty mapping; write sequential"},
		{DATA "order: {shuffle: 7}\n", "t.yaml:2: `shuffle` is `7`; write a mapping"},
		{DATA "order: {shuffle: {window: 0}}\n",
			"t.yaml:2: `window` is `0`; write a whole number from 1 to 1099511627776"},
		{DATA "order: {shuffle: {shards: 65537}}\n",
			"t.yaml:2: `shards` is `65537`; write a whole number from 1 to 65536"},
		{DATA "on_error: {stop_above: 101%}\n",
			"t.yaml:2: `stop_above` is `101%`; write a percentage such as 0.1%"},
		{DATA "on_error: {stop_above: '%'}\n", "t.yaml:2: `stop_above` is `%`; write a percentage"},
		{DATA "on_error: {stop_above: -0.1}\n", "t.yaml:2: `stop_above` is `-0.1`; write a percentage"},
		{DATA "on_error: {stop_above: 1e-7}\n",
			"t.yaml:2: `stop_above` is `1e-7`, finer than one in a million"},
		{DATA "on_error: skip\n", "t.yaml:2: `on_error` is `skip`; write a mapping"},
		{DATA "limits: {bytes: 5G}\n", "t.yaml:2: `bytes` is `5G`; write a size up to 4G, such as 200M"},
		{DATA "limits: {pixels: 0}\n",
			"t.yaml:2: `pixels` is `0`; write a whole number from 1 to 4294967296"},
		{DATA "resample: pillow\n", "t.yaml:2: `resample` is `pillow`; write pillow-13 | pillow-12"},
		{"sources: [{data: a, weight: 0}]\n", "t.yaml:1: `weight` is `0`; write a number above 0"},
		{DATA "skip_samples: 5\n", "t.yaml:2: `skip_samples` is `5`; write a list of [FIRST, LAST]"},
		{DATA "skip_samples: [[1, 2], [3]]\n",
			"t.yaml:2: `skip_samples` has an item that is not two positions"},
		{DATA "skip_samples: [[2, 1]]\n",
			"t.yaml:2: `skip_samples` has a range that ends before it begins: `2` to `1`"},
		{DATA "skip_samples: [[-1, 1]]\n", "t.yaml:2: `skip_samples` has an item that is not two positions"},
	};

	assert_refused(rows, N_ELEMS(rows));
}

static void values_of_fields_say_what_is_allowed(void **state)
{
	static const struct row rows[] = {
		{FIELD("from: jpg, hflip: 1.5"), "t.yaml:3: `hflip` is `1.5`; write a number from 0 to 1"},
		{FIELD("from: jpg, hflip: nan"), "t.yaml:3: `hflip` is `nan`; write a number from 0 to 1"},
		{FIELD("from: jpg, hflip: 1/0"), "t.yaml:3: `hflip` is `1/0`; write a number from 0 to 1"},
		{FIELD("from: jpg, hflip: [1]"), "t.yaml:3: `hflip` is a list; write a number from 0 to 1"},
		{FIELD("from: jpg, resize: 0"), "t.yaml:3: `resize` has a side of `0`; allowed are 1 to 65535"},
		{FIELD("from: jpg, resize: {size: [1, 65536]}"),
			"t.yaml:3: `size` has a side of `65536`; allowed are 1 to 65535"},
		{FIELD("from: jpg, center_crop: [1, 2, 3]"), "t.yaml:3: `center_crop` is a list; write N | [H, W]"},
		{FIELD("from: jpg, center_crop: {size: 3}"),
			"t.yaml:3: `center_crop` is a mapping; write N | [H, W]"},
		{FIELD("from: jpg, resize: {interpolation: nearest}"),
			"t.yaml:3: `interpolation` is `nearest`; write box | bilinear | bicubic"},
		{FIELD("from: jpg, random_resized_crop: {size: 3, scale: [0, 1]}"),
			"t.yaml:3: `scale` is `0`; write [A, B], 0 < A <= B <= 1"},
		{FIELD("from: jpg, random_resized_crop: {size: 3, scale: [0.5, 0.4]}"),
			"t.yaml:3: `scale` begins at `0.5`, above its end `0.4`; write [A, B], 0 < A <= B <= 1"},
		{FIELD("from: jpg, random_resized_crop: {size: 3, ratio: 1}"),
			"t.yaml:3: `ratio` is `1`; write [A, B], 0 < A <= B"},
		{FIELD("from: jpg, random_resized_crop: {size: 3, ratio: [1, 1e9]}"),
			"t.yaml:3: `ratio` is `1e9`; write [A, B]"},
		{FIELD("from: jpg, normalize: imagnet"),
			"t.yaml:3: `normalize` is `imagnet`; write imagenet, or a mapping"},
		{FIELD("from: jpg, normalize: {mean: [1, 2], std: [1]}"),
			"t.yaml:3: `mean` is a list; write [R, G, B], or [G] when gray"},
		{FIELD("from: jpg, normalize: {mean: [0], std: [0]}"), "t.yaml:3: `std` is `0`; write a number from"},
		{FIELD("from: jpg, transform: imagenet"),
			"t.yaml:3: `transform` is `imagenet`; write imagenet_train | imagenet_val"},
		{FIELD("as: image"), "t.yaml:3: `as` is `image`; write int | float | bytes | text | json"},
	};

	assert_refused(rows, N_ELEMS(rows));
}

static void what_is_missing_is_named(void **state)
{
	static const struct row rows[] = {
		{"", "t.yaml:1: nothing is here; name the data: sources: [{data: PATH}]"},
		{"# only words\n", "t.yaml:1: nothing is here"},
		{"a.tar\n", "t.yaml:1: a spec is a mapping; write sources: [{data: PATH}]"},
		{"- a.tar\n", "t.yaml:1: a spec is a mapping"},
		{"seed: 3\n", "t.yaml:1: `sources` is missing; write sources: [{data: PATH}]"},
		{"sources: a.tar\n", "t.yaml:1: `sources` is `a.tar`; write sources: [{data: PATH}]"},
		{"sources: []\n", "t.yaml:1: `sources` is an empty list; write sources: [{data: PATH}]"},
		{"sources: [a.tar]\n", "t.yaml:1: a source is a mapping; write - {data: PATH}"},
		{"sources:\n- weight: 1\n", "t.yaml:2: this source lacks `data`; write - {data: PATH}"},
		{"sources: [{data: []}]\n",
			"t.yaml:1: `data` is an empty list; write a path or URL, or a list of them"},
		{"sources: [{data: ''}]\n", "t.yaml:1: `data` is ``; write a path or URL"},
		{"sources: [{data: ~}]\n", "t.yaml:1: `data` is empty; write a path or URL"},
		{DATA "fields: {}\n", "t.yaml:2: `fields` names none; leave it out to have them inferred"},
		{DATA "fields: [jpg]\n", "t.yaml:2: `fields` is a list; write a mapping of names to fields"},
		{DATA "fields: {x: .jpg}\n", "t.yaml:2: `.jpg` is not an extension; write 1 to"},
		{DATA "fields: {x: [jpg, {a: b}]}\n", "t.yaml:2: `from` is"},
		{DATA "fields: {x: [jpg, txt]}\n", "t.yaml:2: field `x` comes from `jpg`, which is image, and `txt`"},
		{FIELD("from: jpg, resize: {interpolation: box}"),
			"t.yaml:3: `resize` lacks `size`; write resize: {size: 224}"},
		{FIELD("from: jpg, random_resized_crop: {}"), "t.yaml:3: `random_resized_crop` lacks `size`"},
		{FIELD("from: jpg, normalize: {mean: [0, 0, 0]}"), "t.yaml:3: `normalize` lacks `std`"},
		{FIELD("from: jpg, normalize: {}"), "t.yaml:3: `normalize` lacks `mean`"},
	};

	assert_refused(rows, N_ELEMS(rows));
}

static void what_does_not_fit_together_is_refused(void **state)
{
	static const struct row rows[] = {
		{DATA "batch: 3\nglobal_batch: 6\n",
			"t.yaml:3: `batch` (of each rank) and `global_batch` (of all) exclude each other"},
		{"sources:\n- {data: a, weight: 1}\n- {data: b}\n",
			"t.yaml:3: this source lacks a weight, the first has one; give all sources one, or none"},
		{"sources:\n- {data: a}\n- {data: b, weight: 1}\n",
			"t.yaml:3: this source has a weight, the first lacks it"},
		{FIELD("from: [jpg, txt]"),
			"t.yaml:3: field `x` comes from `jpg`, which is image, and `txt`, which is text; say what"},
		{FIELD("from: txt, resize: 3"),
			"t.yaml:3: field `x` is text, but `resize` is for images; leave it out"},
		{FIELD("from: jpg, as: bytes, hflip: 1"), "t.yaml:3: field `x` is bytes, but `hflip` is for images"},
		{FIELD("from: cls, collate: pad"), "t.yaml:3: field `x` is int, but `collate` is for images"},
		{FIELD("from: txt, dtype: uint8"),
			"t.yaml:3: field `x` is text, which cannot be uint8; leave `dtype` out"},
		{FIELD("from: cls, dtype: float32"), "t.yaml:3: field `x` is int, which cannot be float32"},
		{FIELD("from: jpg, dtype: int64"), "t.yaml:3: field `x` is image, which cannot be int64"},
		{FIELD("from: jpg, normalize: imagenet, dtype: uint8"),
			"t.yaml:3: field `x` has `normalize`, whose numbers are no uint8"},
		{FIELD("from: jpg, decode: keep, normalize: imagenet"), "t.yaml:3: field `x` keeps its channels"},
		{FIELD("from: jpg, decode: gray, normalize: imagenet"),
			"t.yaml:3: field `x` is decoded to 1 channel; `normalize` needs 1 of mean and of std"},
		{FIELD("from: jpg, normalize: {mean: [0], std: [1, 1, 1]}"),
			"t.yaml:3: field `x` is decoded to 3 channels; `normalize` needs 3"},
		{FIELD("from: jpg, dtype: float16, transform: imagenet_val"),
			"t.yaml:3: `transform` stands after `dtype`, which it brings itself; leave `dtype` out"},
		{FIELD("from: jpg, transform: imagenet_val, decode: rgb"), "t.yaml:3: `decode` stands after `transform`"},
		{FIELD("from: jpg, normalize: imagenet, resize: 3"), "t.yaml:3: `resize` stands after `normalize`"},
		{FIELD("from: jpg, layout: chw, hflip: 1"), "t.yaml:3: `hflip` stands after `layout`"},
		{FIELD("from: jpg, hflip: 1, decode: gray"), "t.yaml:3: `decode` stands after `hflip`"},
		{FIELD("from: jpg, hflip: 1, transform: imagenet_train"),
			"t.yaml:3: `transform` stands beside `hflip`; keep one"},
		{FIELD("from: jpg, transform: imagenet_val, resize: 2"),
			"t.yaml:3: `resize` stands after `transform`"},
		{FIELD("from: jpg, on_missing: empty"),
			"t.yaml:3: field `x` is image, which cannot be empty; write on_missing: skip or fail"},
		{FIELD("from: cls, on_missing: empty"), "t.yaml:3: field `x` is int, which cannot be empty"},
	};

	assert_refused(rows, N_ELEMS(rows));
}

static void names_are_visible_and_short(void **state)
{
	static const struct row rows[] = {
		{DATA "fields: {'a b': {from: jpg}}\n",
			"t.yaml:2: a field cannot be named `a b`; use 1 to 63 visible ASCII characters"},
		{DATA "fields: {.a: {from: jpg}}\n", "t.yaml:2: a field cannot be named `.a`"},
		{DATA "fields: {../a: {from: jpg}}\n", "t.yaml:2: a field cannot be named `../a`"},
		{DATA "fields: {é: {from: jpg}}\n", "t.yaml:2: a field cannot be named `é`"},
		{DATA "fields: {'': {from: jpg}}\n", "t.yaml:2: a field cannot be named ``"},
		{FIELD("from: .jpg"), "t.yaml:3: `.jpg` is not an extension; write 1 to 63 visible ASCII characters"},
		{FIELD("from: [jpg, a/b]"), "t.yaml:3: `a/b` is not an extension"},
		{FIELD("from: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]"),
			"t.yaml:3: 17 extensions in `from`; at most 16"},
	};

	assert_refused(rows, N_ELEMS(rows));
}

static void only_plain_yaml_is_taken(void **state)
{
	static const struct row rows[] = {
		{"sources: &a [{data: x}]\n", "t.yaml:1: anchors and aliases (& and *) are refused"},
		{"sources: [{data: &a x}]\n", "t.yaml:1: anchors and aliases"},
		{"sources: [{data: x}]\nseed: *a\n", "t.yaml:2: anchors and aliases"},
		{"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "t.yaml:1: anchors and aliases"},
		{"seed: !!int 3\n", "t.yaml:1: tags (words that begin with !) are refused"},
		{"seed: !x {}\n", "t.yaml:1: tags"},
		{"!x\nseed: 1\n", "t.yaml:1: tags"},
		{DATA "seed: 1\nseed: 2\n", "t.yaml:3: `seed` stands here a second time, after line 2; keep one"},
		{FIELD("from: jpg, from: png"), "t.yaml:3: `from` stands here a second time"},
		{DATA "---\n" DATA, "t.yaml:2: a second document; a spec is one"},
		{DATA "? [a]\n: 3\n", "t.yaml:2: a key must be plain text, not a list or a mapping"},
		{DATA "? {a: b}\n: 3\n", "t.yaml:2: a key must be plain text"},
		{DATA "seed: \"a\\0b\"\n", "t.yaml:2: a text with a NUL in it"},
		{DATA "seed: [1\n", "t.yaml:3: this is not YAML: "},
		{DATA "\tseed: 1\n", "t.yaml:2: this is not YAML: "},
		{DATA "se\xff: 1\n", "t.yaml:2: byte 0xff is not UTF-8; save the file as UTF-8"},
		{DATA "se\xc3: 1\n", "t.yaml:2: byte 0xc3 is not UTF-8"},
		{DATA "s: \xed\xa0\x80\n", "t.yaml:2: byte 0xed is not UTF-8"},
		{DATA "s: \xf4\x90\x80\x80\n", "t.yaml:2: byte 0xf4 is not UTF-8"},
		{DATA "s: \xe0\x80\x80\n", "t.yaml:2: byte 0xe0 is not UTF-8"},
		{DATA "s: \x01\n", "t.yaml:2: this is not YAML: control characters are not allowed"},
		{"\xff\xfes\0e\0", "t.yaml:1: byte 0xff is not UTF-8"},
	};

	assert_refused(rows, N_ELEMS(rows));
	assert_refused_n("seed\0: 1\n", 9, "t.yaml:1: this is not YAML: control characters are not allowed");
}

/* text, n times what is in the middle, and an end. */
static void assert_refused_many(const char *begin, const char *middle, size_t n, const char *end, const char *words)
{
	struct buf AUTO_BUF text;

	buf_init(&text, 4u << 20);
	buf_puts(&text, begin);
	for (size_t i = 0; i < n; i++)
		buf_puts(&text, middle);
	buf_puts(&text, end);
	assert_int_equal(text.r, 0);
	assert_refused_n((char *)text.ptr, text.n, words);
}

static void everything_has_a_maximum(void **state)
{
	struct buf AUTO_BUF keys;

	assert_refused_many("", "#", SPEC_MAX_BYTES + 1, "", "t.yaml:1: 1048577 bytes; a spec has at most 1048576");
	assert_refused_many("a: ", "[", 16, "", "t.yaml:1: nested deeper than 16");
	assert_refused_many("a: ", "{a: ", 100000, "", "t.yaml:1: nested deeper than 16");
	assert_refused_many("", "- ", 100000, "", "t.yaml:1: nested deeper than 16");
	assert_refused_many("a: [", "0,", 100000, "]", "t.yaml:1: more than 100000 values; a spec is small");
	assert_refused_many("sources: [", "{data: a},", SPEC_MAX_SOURCES + 1, "]",
		"t.yaml:1: 257 sources; at most 256 are allowed");
	assert_refused_many(DATA "skip_samples: [", "[1,2],", SPEC_MAX_RANGES + 1, "]",
		"t.yaml:2: 10001 ranges in `skip_samples`; at most 10000");
	assert_refused_many("sources: [{data: ", "x", 4096, "}]", "t.yaml:1: a path of 4096 bytes; at most 4095");
	assert_refused_many("sources: [{data: [a, ", "x", 4096, "]}]", "t.yaml:1: a path of 4096 bytes; at most 4095");
	assert_refused_many(DATA "fields: {", "x", 64, ": }", "t.yaml:2: a field cannot be named `xxx");
	buf_init(&keys, 1u << 16);
	for (unsigned i = 0; i <= SPEC_MAX_KEYS; i++)
		buf_printf(&keys, "k%u: 0\n", i);
	assert_refused_n((char *)keys.ptr, keys.n, "t.yaml:257: more than 256 keys in one mapping");
	buf_clear(&keys);
	buf_puts(&keys, DATA "fields:\n");
	for (unsigned i = 0; i <= RECIPE_MAX_FIELDS; i++)
		buf_printf(&keys, "  f%u: {from: jpg}\n", i);
	assert_refused_n((char *)keys.ptr, keys.n, "t.yaml:35: more than 32 fields");
}

/* C1 controls are two bytes of good UTF-8, and a terminal obeys them all the same. */
static void words_carry_no_control_character_of_any_kind(void **state)
{
	struct spec_shown s = spec_show(str_of("a\x1b\x7f\xc2\x9b\xff" "b"));

	assert_string_equal(s.text, "`a?????b`");
	s = spec_show(str_of("0123456789012345678901234567890123456789012345678901234567890123456789"));
	assert_int_equal(strlen(s.text), sizeof(s.text) - 1);
	assert_string_equal(s.text + sizeof(s.text) - 5, "...`");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_keys_name_the_line_and_the_nearest),
		cmocka_unit_test(what_is_not_built_is_refused_by_name),
		cmocka_unit_test(values_out_of_range_say_what_is_allowed),
		cmocka_unit_test(values_of_fields_say_what_is_allowed),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(what_does_not_fit_together_is_refused),
		cmocka_unit_test(names_are_visible_and_short),
		cmocka_unit_test(only_plain_yaml_is_taken),
		cmocka_unit_test(everything_has_a_maximum),
		cmocka_unit_test(words_carry_no_control_character_of_any_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
