/* SPDX-License-Identifier: Apache-2.0 */
/* A data set small enough to be read a thousand times. */
#include "tiny.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "cli/png_write.h"
#include "unit/tar_make.h"

#define N_SHARDS 4
#define N_PER_SHARD (TINY_EPOCH_LEN / N_SHARDS)

static const char tiny_spec[] =
	"sources: [{data: 'ram:tiny/*.tar'}]\n"
	"fields:\n"
	"  image: {from: [png], random_crop: 8, hflip: 0.5, dtype: float32, normalize: imagenet, layout: chw}\n"
	"  whole: {from: [png], collate: pad}\n"
	"  txt: {from: txt, as: text}\n"
	"  cls: {from: cls, as: int}\n"
	"seed: 3\n"
	"order: shuffle\n"
	"global_batch: 7\n"
	"on_error: {decode: skip, stop_above: 100%}\n";

/* xorshift64*. */
uint64_t tiny_dice(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ull;
}

static void add_sample(struct buf *tar, unsigned i)
{
	uint8_t pixels[16 * 12 * 3];
	uint64_t state = i + 1;
	char name[32], text[32];
	AUTO_BUF struct buf png;
	unsigned h = 9 + i % 4, w = 10 + i % 7;

	buf_init(&png, 4096);
	for (size_t k = 0; k < sizeof(pixels); k++)
		pixels[k] = (uint8_t)tiny_dice(&state);
	assert_int_equal(png_write(pixels, h, w, 3, &png), 0);
	snprintf(name, sizeof(name), "%03u.png", i);
	/* One in sixteen is cut off: its place is taken by another. */
	tar_header(tar, name, '0', i % 16 == 5 ? png.n / 2 : png.n);
	tar_data(tar, png.ptr, i % 16 == 5 ? png.n / 2 : png.n);
	snprintf(name, sizeof(name), "%03u.txt", i);
	snprintf(text, sizeof(text), "sample %u", i);
	tar_file(tar, name, text);
	snprintf(name, sizeof(name), "%03u.cls", i);
	snprintf(text, sizeof(text), "%u", i);
	tar_file(tar, name, text);
}

struct store *tiny_data(void)
{
	struct store *data = NULL;
	AUTO_FREE char *path = NULL;

	assert_int_equal(store_open("ram:tiny/", &data, &path, NULL), 0);
	for (unsigned s = 0; s < N_SHARDS; s++) {
		AUTO_BUF struct buf tar;
		char name[16];

		buf_init(&tar, 1u << 20);
		for (unsigned i = 0; i < N_PER_SHARD; i++)
			add_sample(&tar, s * N_PER_SHARD + i);
		tar_end(&tar);
		snprintf(name, sizeof(name), "%u.tar", s);
		assert_int_equal(store_write_all(data, name, tar.ptr, tar.n, NULL), 0);
	}
	return data;
}

struct plan *tiny_plan_of(const char *spec_text)
{
	struct plan *plan = NULL;
	struct plan_conf conf = {.n_threads = 1};
	struct spec *spec = NULL;
	struct err e = {0};

	if (spec_parse("tiny", spec_text, strlen(spec_text), &spec, &e) < 0 ||
		plan_make(spec, NULL, &conf, &plan, &e) < 0)
		fail_msg("%s", e.words);
	assert_int_equal(plan_epoch_len(plan), TINY_EPOCH_LEN);
	return plan;
}

struct plan *tiny_plan(void)
{
	return tiny_plan_of(tiny_spec);
}
