/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of specs share. After cmocka.h. */
#ifndef OLDDOG_TEST_SPEC_PARSED_H
#define OLDDOG_TEST_SPEC_PARSED_H

#include "spec_equal.h"

#define DATA "sources: [{data: a.tar}]\n"

static const char design_example[] =
	"sources:\n"
	"  - {data: 'hdfs://train/cc/{00000..00499}.tar', weight: 0.7}\n"
	"  - {data: 'hdfs://train/doc/*.tar', weight: 0.3, on_end: repeat}\n"
	"fields:\n"
	"  image: {from: [jpg, png, webp], decode: {mode: rgb, orientation: apply}, random_resized_crop: 224,\n"
	"          hflip: 0.5, normalize: imagenet, dtype: float32, layout: chw}\n"
	"  text:  {from: txt, on_missing: skip}\n"
	"  label: {from: cls, as: int}\n"
	"seed: 7\n"
	"order: {shuffle: {window: 200000, shards: 64}}\n"
	"global_batch: 1024\n"
	"tail: drop\n"
	"on_error: {decode: skip, stop_above: 0.1%}\n"
	"skip_samples: [[1310720, 1351679]]\n";

static inline struct spec *parse(const char *text)
{
	struct spec *s = NULL;
	struct err e = {0};

	if (spec_parse("t.yaml", text, strlen(text), &s, &e) < 0)
		fail_msg("%s", e.words);
	return s;
}

/* A spec of one field `x` with these keys. */
static inline struct spec *parse_field(const char *keys)
{
	char text[1024];

	snprintf(text, sizeof(text), DATA "fields: {x: {%s}}\n", keys);
	return parse(text);
}

static inline void assert_round_trip(const struct spec *s)
{
	struct buf AUTO_BUF text;
	AUTO(spec) struct spec *back = NULL;
	struct err e = {0};

	buf_init(&text, SPEC_MAX_BYTES);
	assert_int_equal(spec_write(s, &text), 0);
	if (spec_parse("again.yaml", (char *)text.ptr, text.n, &back, &e) < 0)
		fail_msg("%s in\n%s", e.words, text.ptr);
	if (!spec_equal(s, back))
		fail_msg("differs:\n%s", text.ptr);
}

#endif
