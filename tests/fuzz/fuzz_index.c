/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what a plan's files are read with. The first byte of the input says which: 'g' a segment, 's' a shards.bin;
 * the rest is the file. Checksums are put right first, so that the checks behind them are reached.
 */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/scope.h"
#include "plan/counts.h"
#include "plan/fields.h"
#include "plan/plan_dir.h"
#include "plan/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void put_u64(uint8_t *p, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static void walk_samples(const struct segment *s)
{
	char *from[] = {(char[]){"jpg"}, (char[]){"cls"}};
	const struct spec_field field = {.from = from, .n_from = 2};
	char key[SEGMENT_KEY_MAX + 1];
	struct segment_sample sample;
	struct field_place place;
	size_t n_key;

	for (uint32_t i = 0; i < s->n_samples; i++) {
		if (segment_key(s, i, key, &n_key) == 0)
			assert(n_key <= SEGMENT_KEY_MAX && key[n_key] == '\0');
		if (segment_sample(s, i, &sample) < 0)
			continue;
		assert(sample.first <= s->n_members && sample.n <= s->n_members - sample.first);
		field_find(s, &sample, &field, &place);
	}
}

static void segment_fuzz(uint8_t *p, size_t n)
{
	AUTO_COUNTS struct counts counts;
	char version[STORE_VERSION_MAX];
	struct segment s;

	counts_init(&counts);
	if (n >= SEGMENT_HEADER_BYTES) {
		put_u64(p + 16, n);
		put_u64(p + 24, xxh3_of(p + 32, n - 32));
	}
	if (segment_open(p, n, &s) < 0)
		return;
	if (s.kind == SEGMENT_TAR || s.kind == SEGMENT_FILES) {
		walk_samples(&s);
		counts_of_segment(&s, &counts);
	}
	for (uint32_t i = 0; s.kind == SEGMENT_VERSIONS && i < s.n_members; i++)
		segment_version(&s, i, version, sizeof(version));
	if (s.kind == SEGMENT_REMOVED)
		segment_kept(&s, 5);
}

static void shards_fuzz(uint8_t *p, size_t n)
{
	AUTO(index) struct index *x = index_new();
	uint32_t base;

	if (!x || bases_add(&x->bases, "/", &base, NULL) < 0)
		return;
	if (n >= 8)
		put_u64(p + n - 8, xxh3_of(p, n - 8));
	if (shards_decode(p, n, x) < 0)
		return;
	for (size_t i = 0; i < x->shards.n; i++)
		assert(strlen(shard_title(x, &x->shards.ptr[i])) < n);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO_FREE uint8_t *copy = n > 1 ? mem_dup(p + 1, n - 1) : NULL;

	if (!copy)
		return 0;
	if (p[0] == 'g')
		segment_fuzz(copy, n - 1);
	else if (p[0] == 's')
		shards_fuzz(copy, n - 1);
	return 0;
}
