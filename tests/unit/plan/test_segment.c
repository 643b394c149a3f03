/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: what goes in comes out, and what is broken is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "plan/counts.h"
#include "plan/segment.h"

static const uint8_t origin[SHA256_BYTES] = {1, 2, 3};

/* Sample i has 1 + i % 3 members; keys share beginnings. */
static void table_fill(struct table *t, uint32_t n)
{
	static const char *const exts[] = {"jpg", "txt", "json"};
	char key[64];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "dir%u/%06u", i / 100, i);
		assert_int_equal(table_sample_add(t, str_of(key), t->files ? i % 7 : CLASS_NONE), 0);
		for (uint32_t k = 0; k <= i % 3; k++)
			assert_int_equal(table_member_add(t, str_of(exts[k]), t->files ? 0 : (uint64_t)i << 30 | k, i + k),
				0);
	}
}

static void assert_sample(const struct segment *s, uint32_t i, bool files)
{
	static const char *const exts[] = {"jpg", "txt", "json"};
	char key[SEGMENT_KEY_MAX + 1], want[64];
	struct segment_sample sample;
	struct segment_member m;
	size_t n;

	assert_int_equal(segment_sample(s, i, &sample), 0);
	assert_int_equal(sample.n, 1 + i % 3);
	assert_int_equal(sample.class_no, files ? i % 7 : CLASS_NONE);
	assert_int_equal(segment_key(s, i, key, &n), 0);
	snprintf(want, sizeof(want), "dir%u/%06u", i / 100, i);
	assert_string_equal(key, want);
	assert_int_equal(n, strlen(want));
	for (uint32_t k = 0; k < sample.n; k++) {
		assert_int_equal(segment_member(s, sample.first + k, &m), 0);
		assert_true(str_eq(m.ext, exts[k]));
		assert_int_equal(m.offset, files ? 0 : (uint64_t)i << 30 | k);
		assert_int_equal(m.length, i + k);
	}
}

static void round_trip(uint32_t n, bool files)
{
	AUTO_TABLE struct table t;
	AUTO_BUF struct buf b;
	uint8_t identity[SHA256_BYTES];
	struct segment s;

	buf_init(&b, SEGMENT_MAX_BYTES);
	table_init(&t, files);
	table_fill(&t, n);
	assert_int_equal(segment_of_table(&t, origin, &b), 0);
	assert_int_equal(segment_open(b.ptr, b.n, &s), 0);
	assert_int_equal(s.kind, files ? SEGMENT_FILES : SEGMENT_TAR);
	assert_int_equal(s.n_samples, n);
	assert_memory_equal(s.origin, origin, SHA256_BYTES);
	assert_int_equal(table_identity(&t, identity), 0);
	assert_memory_equal(s.identity, identity, SHA256_BYTES);
	for (uint32_t i = 0; i < n; i++)
		assert_sample(&s, i, files);
	assert_int_equal(segment_sample(&s, n, &(struct segment_sample){0}), -EINVAL);
	assert_int_equal(segment_member(&s, s.n_members, &(struct segment_member){0}), -EINVAL);
}

static void tables_come_back(void **state)
{
	static const uint32_t sizes[] = {0, 1, 15, 16, 17, 1000};

	for (unsigned i = 0; i < N_ELEMS(sizes); i++) {
		round_trip(sizes[i], false);
		round_trip(sizes[i], true);
	}
}

static void a_flipped_bit_anywhere_is_found(void **state)
{
	AUTO_TABLE struct table t;
	AUTO_BUF struct buf b;
	struct segment s;

	buf_init(&b, SEGMENT_MAX_BYTES);
	table_init(&t, false);
	table_fill(&t, 20);
	assert_int_equal(segment_of_table(&t, origin, &b), 0);
	for (size_t i = 0; i < b.n; i++) {
		b.ptr[i] ^= 1u << i % 8;
		assert_int_equal(segment_open(b.ptr, b.n, &s), E_FORMAT);
		b.ptr[i] ^= 1u << i % 8;
	}
	for (size_t n = 0; n < b.n; n++)
		assert_int_equal(segment_open(b.ptr, n, &s), E_FORMAT);
}

static void removed_samples_are_not_counted(void **state)
{
	static const uint32_t removed[] = {0, 1, 5, 9};
	static const uint32_t kept[] = {2, 3, 4, 6, 7, 8, 10, 11};
	AUTO_BUF struct buf b;
	struct segment s;

	buf_init(&b, SEGMENT_MAX_BYTES);
	assert_int_equal(segment_of_removed(removed, N_ELEMS(removed), origin, &b), 0);
	assert_int_equal(segment_open(b.ptr, b.n, &s), 0);
	for (uint32_t i = 0; i < N_ELEMS(kept); i++)
		assert_int_equal(segment_kept(&s, i), kept[i]);
	assert_int_equal(segment_kept(NULL, 7), 7);
}

static void versions_come_back(void **state)
{
	static const char *const versions[] = {"one", "", "three and a half"};
	AUTO_BUF struct buf b;
	char out[32];
	struct segment s;

	buf_init(&b, SEGMENT_MAX_BYTES);
	assert_int_equal(segment_of_versions(versions, 3, origin, &b), 0);
	assert_int_equal(segment_open(b.ptr, b.n, &s), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(segment_version(&s, i, out, sizeof(out)), 0);
		assert_string_equal(out, versions[i]);
	}
	assert_int_equal(segment_version(&s, 2, out, 5), E_FORMAT);
	assert_int_equal(segment_version(&s, 3, out, sizeof(out)), E_FORMAT);
}

static void extensions_are_counted_by_sample(void **state)
{
	AUTO_COUNTS struct counts c;
	AUTO_TABLE struct table t;
	AUTO_BUF struct buf b;
	uint32_t number;
	struct segment s;

	buf_init(&b, SEGMENT_MAX_BYTES);
	counts_init(&c);
	table_init(&t, true);
	assert_int_equal(table_sample_add(&t, str_of("a"), CLASS_NONE), 0);
	assert_int_equal(table_member_add(&t, str_of(".JPG"), 0, 1), 0);
	assert_int_equal(table_member_add(&t, str_of(".jpg"), 0, 1), 0);
	assert_int_equal(table_sample_add(&t, str_of("b"), CLASS_NONE), 0);
	assert_int_equal(table_member_add(&t, str_of(".jpg"), 0, 1), 0);
	assert_int_equal(segment_of_table(&t, NULL, &b), 0);
	assert_int_equal(segment_open(b.ptr, b.n, &s), 0);
	assert_int_equal(counts_of_segment(&s, &c), 0);
	assert_int_equal(c.of.n, 1);
	assert_true(names_find(&c.names, str_of("jpg"), &number));
	assert_int_equal(c.of.ptr[number].n, 2);
}

static void identity_knows_every_number_and_name(void **state)
{
	uint8_t seen[6][SHA256_BYTES];

	for (unsigned i = 0; i < 6; i++) {
		AUTO_TABLE struct table t;

		table_init(&t, false);
		assert_int_equal(table_sample_add(&t, str_of(i == 1 ? "b" : "a"), CLASS_NONE), 0);
		assert_int_equal(table_member_add(&t, str_of(i == 2 ? "png" : "jpg"), i == 3, 7 + (i == 4)), 0);
		if (i == 5)
			assert_int_equal(table_sample_add(&t, str_of("c"), CLASS_NONE), 0);
		assert_int_equal(table_identity(&t, seen[i]), 0);
		for (unsigned k = 0; k < i; k++)
			assert_memory_not_equal(seen[k], seen[i], SHA256_BYTES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_come_back),
		cmocka_unit_test(a_flipped_bit_anywhere_is_found),
		cmocka_unit_test(removed_samples_are_not_counted),
		cmocka_unit_test(versions_come_back),
		cmocka_unit_test(extensions_are_counted_by_sample),
		cmocka_unit_test(identity_knows_every_number_and_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
