/* SPDX-License-Identifier: Apache-2.0 */
/* The tar parser over archives made here, right and wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "unit/tar_make.h"
#include "wire/tar.h"

/* Everything that a parse gives, as text: one line a member, then how it ended. */
struct parsed {
	int r;
	struct err e;
	char text[4096];
	enum tar_end end;
	bool more_after;
};

static void parsed_add(struct parsed *p, enum tar_result what, const struct tar_member *m)
{
	size_t n = strlen(p->text);

	snprintf(p->text + n, sizeof(p->text) - n, "%s%s %llu+%llu@%llu\n", what == TAR_OTHER ? m->kind : "",
		m->name_n > 300 ? "LONG" : m->name, (unsigned long long)m->offset, (unsigned long long)m->length,
		(unsigned long long)m->header);
}

static struct parsed parse_bytes(const uint8_t *bytes, size_t n)
{
	struct parsed p = {0};
	AUTO_TAR struct tar t;
	struct tar_member m;
	uint64_t at;
	size_t want;

	tar_init(&t, n);
	while ((p.r = tar_next(&t, &at, &want, &p.e)) > 0) {
		assert_true(want > 0 && at + want <= n);
		p.r = tar_feed(&t, bytes + at, &m, &p.e);
		if (p.r < 0)
			break;
		if (p.r == TAR_MEMBER || p.r == TAR_OTHER)
			parsed_add(&p, p.r, &m);
	}
	p.end = t.end;
	p.more_after = t.more_after;
	return p;
}

static struct parsed parse(const struct buf *b)
{
	return parse_bytes(b->ptr, b->n);
}

#define AUTO_TAR_BUF(name)                                                                                   \
	AUTO_BUF struct buf name;                                                                            \
	buf_init(&name, 1 << 24)

static void members_have_their_offsets(void **state)
{
	AUTO_TAR_BUF(b);
	struct parsed p;

	tar_header(&b, "dir/", '5', 0);
	tar_file(&b, "dir/a.jpg", "12345");
	tar_file(&b, "../b", "");
	tar_header(&b, "link", '2', 0);
	tar_header(&b, "dev", '3', 0);
	tar_header(&b, "/abs", '\0', 0);
	tar_end(&b);
	p = parse(&b);
	assert_int_equal(p.r, 0);
	assert_string_equal(p.text,
		"directorydir/ 512+0@0\ndir/a.jpg 1024+5@512\n../b 2048+0@1536\nsymbolic linklink 2560+0@2048\n"
		"character devicedev 3072+0@2560\n/abs 3584+0@3072\n");
	assert_int_equal(p.end, TAR_END_WELL);
	assert_false(p.more_after);
}

static void ustar_prefix_goes_before_the_name(void **state)
{
	AUTO_TAR_BUF(b);
	uint8_t *h = tar_header(&b, "name", '0', 0);

	memcpy(h + 345, "pre/fix", 7);
	tar_sum(h);
	/* GNU's magic: what stands there is no prefix. */
	h = tar_header(&b, "name", '0', 0);
	memcpy(h + 257, "ustar  ", 8);
	memcpy(h + 345, "123456", 6);
	tar_sum(h);
	tar_end(&b);
	assert_string_equal(parse(&b).text, "pre/fix/name 512+0@0\nname 1024+0@512\n");
}

static void gnu_long_names_and_links_are_read(void **state)
{
	AUTO_TAR_BUF(b);
	char name[201];

	memset(name, 'x', 200);
	name[200] = '\0';
	tar_header(&b, "././@LongLink", 'K', 201);
	tar_data(&b, name, 201);
	tar_header(&b, "././@LongLink", 'L', 201);
	memcpy(name, "long", 4);
	tar_data(&b, name, 201);
	tar_header(&b, "xxx", '0', 0);
	tar_file(&b, "next", "");
	tar_end(&b);
	assert_memory_equal(parse(&b).text, "longxxx", 7);
	assert_non_null(strstr(parse(&b).text, "x 2560+0@0\nnext 3072+0@2560\n"));
}

static void pax_path_and_size_go_before_the_header(void **state)
{
	static const char records[] = "18 path=pax/n.jpg\n10 size=3\n15 comment=a=b\n";
	AUTO_TAR_BUF(b);

	tar_header(&b, "PaxHeaders/x", 'x', sizeof(records) - 1);
	tar_data(&b, records, sizeof(records) - 1);
	tar_header(&b, "short", '0', 0);
	tar_data(&b, "abc", 3);
	tar_file(&b, "plain", "z");
	tar_end(&b);
	assert_string_equal(parse(&b).text, "pax/n.jpg 1536+3@0\nplain 2560+1@2048\n");
}

static void a_global_header_is_no_part_of_a_member(void **state)
{
	AUTO_TAR_BUF(b);

	tar_header(&b, "pax_global_header", 'g', 14);
	tar_data(&b, "14 comment=ab\n", 14);
	tar_file(&b, "a", "1");
	tar_end(&b);
	assert_string_equal(parse(&b).text, "a 1536+1@1024\n");
}

static void pax_records_are_taken_back_by_empty_ones(void **state)
{
	static const char records[] = "18 path=pax/n.jpg\n10 size=9\n8 path=\n8 size=\n";
	AUTO_TAR_BUF(b);

	tar_header(&b, "PaxHeaders/x", 'x', sizeof(records) - 1);
	tar_data(&b, records, sizeof(records) - 1);
	tar_file(&b, "short", "abc");
	tar_end(&b);
	assert_string_equal(parse(&b).text, "short 1536+3@0\n");
}

static void a_global_path_and_size_hold_until_a_members_own(void **state)
{
	static const char global[] = "10 size=3\n9 path=g\n", own[] = "10 size=4\n9 path=o\n";
	AUTO_TAR_BUF(b);

	tar_header(&b, "global", 'g', sizeof(global) - 1);
	tar_data(&b, global, sizeof(global) - 1);
	tar_header(&b, "a", '0', 0);
	tar_data(&b, "abc", 3);
	tar_header(&b, "x", 'x', sizeof(own) - 1);
	tar_data(&b, own, sizeof(own) - 1);
	tar_header(&b, "b", '0', 0);
	tar_data(&b, "abcd", 4);
	tar_header(&b, "c", '0', 0);
	tar_data(&b, "abc", 3);
	tar_end(&b);
	assert_string_equal(parse(&b).text, "g 1536+3@1024\no 3584+4@2048\ng 4608+3@4096\n");
}

/* Old writers summed signed bytes: the same but for names outside ASCII. */
static void a_checksum_of_signed_bytes_is_right_too(void **state)
{
	AUTO_TAR_BUF(b);
	uint8_t *h = tar_header(&b, "\xe9", '0', 0);
	int sum = 8 * ' ';

	for (unsigned i = 0; i < 512; i++)
		sum += i < 148 || i >= 156 ? (int8_t)h[i] : 0;
	snprintf((char *)h + 148, 8, "%06o", (unsigned)sum);
	tar_end(&b);
	assert_string_equal(parse(&b).text, "\xe9 512+0@0\n");
}

static void base_256_sizes_are_read(void **state)
{
	AUTO_TAR_BUF(b);
	uint8_t *h = tar_header(&b, "a", '0', 0);

	memset(h + 124, 0, 12);
	h[124] = 0x80;
	h[135] = 7;
	tar_sum(h);
	tar_data(&b, "1234567", 7);
	tar_end(&b);
	assert_string_equal(parse(&b).text, "a 512+7@0\n");
	/* Negative, and far too large. */
	b.ptr[124] = 0xff;
	tar_sum(b.ptr);
	assert_int_equal(parse(&b).r, E_FORMAT);
	b.ptr[124] = 0x80;
	b.ptr[126] = 0xff;
	tar_sum(b.ptr);
	assert_int_equal(parse(&b).r, E_FORMAT);
}

static void old_tar_has_directories_by_their_slash(void **state)
{
	AUTO_TAR_BUF(b);
	uint8_t *h = tar_header(&b, "d/", '\0', 0);

	memset(h + 257, 0, 8);
	tar_sum(h);
	tar_end(&b);
	assert_string_equal(parse(&b).text, "directoryd/ 512+0@0\n");
}

static void sparse_members_are_refused_with_words(void **state)
{
	static const char records[] = "22 GNU.sparse.major=1\n";
	AUTO_TAR_BUF(gnu);
	AUTO_TAR_BUF(pax);
	struct parsed p;

	tar_header(&gnu, "holes", 'S', 0);
	p = parse(&gnu);
	assert_int_equal(p.r, E_FORMAT);
	assert_non_null(strstr(p.e.words, "sparse member holes at 0"));
	tar_header(&pax, "x", 'x', sizeof(records) - 1);
	tar_data(&pax, records, sizeof(records) - 1);
	tar_header(&pax, "holes2", '0', 0);
	p = parse(&pax);
	assert_int_equal(p.r, E_FORMAT);
	assert_non_null(strstr(p.e.words, "sparse member holes2 at 0"));
}

static void what_is_cut_off_is_told_with_its_offset(void **state)
{
	AUTO_TAR_BUF(b);
	struct parsed p;

	tar_file(&b, "a", "12345");
	tar_file(&b, "b", "12345");
	tar_end(&b);
	for (size_t n = 0; n < 2048; n++) {
		p = parse_bytes(b.ptr, n);
		/* A member is whole when its bytes are there; its padding is not looked for. */
		if (n == 0 || (n >= 517 && n <= 1024) || n >= 1541) {
			assert_int_equal(p.r, 0);
			assert_int_equal(p.end, TAR_END_BARE);
		} else {
			assert_int_equal(p.r, E_FORMAT);
			assert_non_null(strstr(p.e.words, n % 1024 < 512 ? "ends inside a header at" : "is cut off: member"));
		}
	}
	assert_int_equal(parse_bytes(b.ptr, 2048 + 512).end, TAR_END_LONE);
	assert_int_equal(parse_bytes(b.ptr, 2048 + 1024).end, TAR_END_WELL);
}

static void what_follows_the_end_is_noticed(void **state)
{
	AUTO_TAR_BUF(b);

	tar_file(&b, "a", "1");
	tar_end(&b);
	tar_file(&b, "b", "2");
	assert_true(parse(&b).more_after);
	assert_string_equal(parse(&b).text, "a 512+1@0\n");
}

static void a_wrong_checksum_is_told_with_its_offset(void **state)
{
	AUTO_TAR_BUF(b);
	struct parsed p;

	tar_file(&b, "a", "1");
	tar_header(&b, "b", '0', 0)[0] ^= 1;
	p = parse(&b);
	assert_int_equal(p.r, E_FORMAT);
	assert_non_null(strstr(p.e.words, "no header at 1024"));
	b.ptr[0] ^= 1;
	assert_non_null(strstr(parse(&b).e.words, "no tar archive"));
	memcpy(b.ptr, "\x1f\x8b", 2);
	assert_non_null(strstr(parse(&b).e.words, "gzip"));
}

static void names_and_extensions_are_bounded(void **state)
{
	AUTO_TAR_BUF(b);
	AUTO_TAR_BUF(big);
	AUTO_FREE char *name = mem_zalloc(TAR_NAME_MAX + 2);

	memset(name, 'n', TAR_NAME_MAX);
	tar_header(&b, "l", 'L', TAR_NAME_MAX + 1);
	tar_data(&b, name, TAR_NAME_MAX + 1);
	tar_header(&b, "x", '0', 0);
	tar_end(&b);
	assert_int_equal(parse(&b).r, 0);
	memset(b.ptr + 512, 'n', TAR_NAME_MAX + 1);
	assert_int_equal(parse(&b).r, E_FORMAT);
	tar_header(&big, "x", 'x', TAR_EXTENSION_MAX + 1);
	buf_grow(&big, TAR_EXTENSION_MAX + 512);
	assert_int_equal(parse(&big).r, E_FORMAT);
}

static void broken_pax_records_are_refused(void **state)
{
	static const char *const broken[] = {
		"x path=a\n", "99 path=a\n", "9 path=a", "0 path=a\n", "3 a\n", "8 patha\n", "11 size=12x\n", "\n",
		"11 path=\0a\n",
	};

	for (unsigned i = 0; i < N_ELEMS(broken); i++) {
		AUTO_TAR_BUF(b);
		size_t n = i == 8 ? 11 : strlen(broken[i]);

		tar_header(&b, "x", 'x', n);
		tar_data(&b, broken[i], n);
		tar_header(&b, "a", '0', 0);
		tar_end(&b);
		assert_int_equal(parse(&b).r, E_FORMAT);
	}
}

static void words_carry_no_control_sequences(void **state)
{
	AUTO_TAR_BUF(b);
	struct parsed p;

	tar_header(&b, "\x1b[31m\xff" "name", 'S', 0);
	p = parse(&b);
	assert_non_null(strstr(p.e.words, "?[31m?name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_have_their_offsets),
		cmocka_unit_test(ustar_prefix_goes_before_the_name),
		cmocka_unit_test(gnu_long_names_and_links_are_read),
		cmocka_unit_test(pax_path_and_size_go_before_the_header),
		cmocka_unit_test(a_global_header_is_no_part_of_a_member),
		cmocka_unit_test(pax_records_are_taken_back_by_empty_ones),
		cmocka_unit_test(a_global_path_and_size_hold_until_a_members_own),
		cmocka_unit_test(a_checksum_of_signed_bytes_is_right_too),
		cmocka_unit_test(base_256_sizes_are_read),
		cmocka_unit_test(old_tar_has_directories_by_their_slash),
		cmocka_unit_test(sparse_members_are_refused_with_words),
		cmocka_unit_test(what_is_cut_off_is_told_with_its_offset),
		cmocka_unit_test(what_follows_the_end_is_noticed),
		cmocka_unit_test(a_wrong_checksum_is_told_with_its_offset),
		cmocka_unit_test(names_and_extensions_are_bounded),
		cmocka_unit_test(broken_pax_records_are_refused),
		cmocka_unit_test(words_carry_no_control_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
