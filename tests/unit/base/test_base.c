/* SPDX-License-Identifier: Apache-2.0 */
/* What base/ promises in its headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/poly.h"
#include "base/rand.h"
#include "base/rd.h"
#include "base/scope.h"
#include "base/str.h"
#include "base/vec.h"

static void philox_gives_the_published_vectors(void **state)
{
	/* Random123's kat_vectors: philox4x32 10. */
	static const uint32_t zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
	static const uint32_t ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
	static const uint32_t pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
	uint32_t got[4];

	philox((struct philox_key){{0, 0}}, 0, 0, 0, got);
	assert_memory_equal(got, zeros, sizeof(zeros));
	philox((struct philox_key){{~0u, ~0u}}, ~0ull, ~0u, ~0u, got);
	assert_memory_equal(got, ones, sizeof(ones));
	philox((struct philox_key){{0xa4093822, 0x299f31d0}}, 0x85a308d3243f6a88, 0x13198a2e, 0x03707344, got);
	assert_memory_equal(got, pi, sizeof(pi));
}

static void uniform_is_inside_the_unit_interval(void **state)
{
	assert_true(uniform_of(0) > 0.0 && uniform_of(UINT32_MAX) < 1.0);
	assert_true(uniform_of(0x80000000u) == 0.5 + 0.5 / 4294967296.0);
}

static void key_is_the_head_of_sha256(void **state)
{
	/* python: hashlib.sha256(struct.pack('<Q', 7) + b'crop').digest()[:8] */
	uint8_t text[12] = {7, 0, 0, 0, 0, 0, 0, 0, 'c', 'r', 'o', 'p'}, digest[32], bytes[8];
	struct philox_key k = philox_key_of(7, "crop");

	sha256_of(text, sizeof(text), digest);
	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(k.k[i / 4] >> (8 * (i % 4)));
	assert_memory_equal(bytes, digest, 8);
}

static void sha256_gives_the_published_vector(void **state)
{
	char hex[SHA256_HEX];
	uint8_t digest[SHA256_BYTES], back[SHA256_BYTES];

	sha256_of("abc", 3, digest);
	hex_of(digest, sizeof(digest), hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(hex_parse(hex, sizeof(back), back), 0);
	assert_memory_equal(back, digest, sizeof(back));
	assert_int_equal(hex_parse("0g", 1, back), -EINVAL);
	assert_int_equal(hex_parse("aFFa", 2, back), 0);
	assert_true(back[0] == 0xaf && back[1] == 0xfa);
}

static void polynomials_are_close_to_libm(void **state)
{
	for (int i = -4000; i <= 4000; i++) {
		double x = i / 100.0;

		assert_true(fabs(exp2_poly(x) / exp2(x) - 1.0) < 1e-12);
		assert_true(fabs(log2_poly(exp2(x)) - x) < 1e-12);
	}
	assert_true(exp2_poly(0.0) == 1.0 && exp2_poly(3.0) == 8.0 && log2_poly(8.0) == 3.0);
}

static void numbers_are_whole_or_refused(void **state)
{
	uint64_t u;
	int64_t i;
	double d;
	char shown[STR_SIZE_MAX];

	assert_int_equal(str_to_u64(str_of("18446744073709551615"), &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(str_to_u64(str_of("18446744073709551616"), &u), -ERANGE);
	assert_int_equal(str_to_u64(str_of("12x"), &u), -EINVAL);
	assert_int_equal(str_to_u64(str_of(""), &u), -EINVAL);
	assert_int_equal(str_to_i64(str_of("-9223372036854775808"), &i), 0);
	assert_true(i == INT64_MIN);
	assert_int_equal(str_to_i64(str_of("9223372036854775808"), &i), -ERANGE);
	assert_int_equal(str_to_double(str_of("0x1p-2"), &d), 0);
	assert_true(d == 0.25);
	assert_int_equal(str_to_double(str_of("inf"), &d), -ERANGE);
	assert_int_equal(str_to_double(str_of("1.5s"), &d), -EINVAL);
	assert_int_equal(str_to_double((struct str){"1\0x", 3}, &d), -EINVAL);
	assert_int_equal(str_to_double(str_of("\v1"), &d), -EINVAL);
	assert_int_equal(str_to_size(str_of("200M"), &u), 0);
	assert_int_equal(u, 200u << 20);
	assert_int_equal(str_to_size(str_of("3k"), &u), 0);
	assert_int_equal(u, 3072);
	assert_int_equal(str_to_size(str_of("99999999T"), &u), -ERANGE);
	assert_string_equal(str_size(0, shown), "0 bytes");
	assert_string_equal(str_size(999, shown), "999 bytes");
	assert_string_equal(str_size(1000, shown), "1.0 kB");
	assert_string_equal(str_size(999960, shown), "1.0 MB");
	assert_string_equal(str_size(104.7e9, shown), "104.7 GB");
	assert_string_equal(str_size(5e21, shown), "5000.0 EB");
	assert_int_equal(str_to_size(str_of("M"), &u), -EINVAL);
}

static void text_splits_and_compares(void **state)
{
	struct str rest = str_of("a/bc//"), empty = {NULL, 0};

	assert_true(str_eq(str_split(&rest, '/'), "a"));
	assert_true(str_eq(str_split(&rest, '/'), "bc"));
	assert_true(str_eq(str_split(&rest, '/'), ""));
	assert_true(rest.n == 0);
	assert_true(str_cmp(str_of("a"), str_of("ab")) < 0 && str_cmp(str_of("b"), str_of("ab")) > 0);
	assert_true(str_equal(empty, str_of("")));
	assert_true(str_starts(empty, "") && str_ends(empty, "") && !str_ends(empty, "a"));
	rest = empty;
	assert_true(str_split(&rest, '/').n == 0 && rest.n == 0 && str_trim(empty).n == 0);
	assert_true(str_eq(str_trim(str_of(" \ta b\r\n")), "a b"));
	assert_true(str_cmp_nocase(str_of("JpG"), str_of("jPg")) == 0);
	assert_true(str_cmp_nocase(str_of("Z"), str_of("[")) > 0 && str_cmp_nocase(str_of("a"), str_of("AB")) < 0);
	/* Other letters than A to Z are themselves: no locale, and no folding that only some machines know. */
	assert_true(str_cmp_nocase(str_of("\xc9"), str_of("\xe9")) < 0);
	assert_int_equal(str_distance(str_of("shufle"), str_of("shuffle")), 1);
	assert_int_equal(str_distance(str_of(""), str_of("abc")), 3);
}

static void a_buf_keeps_its_first_error(void **state)
{
	struct buf b;

	buf_init(&b, 8);
	assert_int_equal(buf_u32(&b, 0x04030201), 0);
	assert_int_equal(buf_puts(&b, "abcd"), 0);
	assert_int_equal(buf_u8(&b, 1), -E2BIG);
	assert_int_equal(b.n, 8);
	assert_memory_equal(b.ptr, "\1\2\3\4abcd", 9);
	assert_int_equal(buf_puts(&b, ""), -E2BIG);
	buf_clear(&b);
	assert_int_equal(buf_printf(&b, "%d", 12), 0);
	assert_string_equal((char *)b.ptr, "12");
	buf_release(&b);
}

static void a_reader_past_its_end_gives_zeros(void **state)
{
	struct rd r = rd_of("\1\2\3", 3);

	assert_int_equal(rd_u16(&r), 0x201);
	assert_int_equal(rd_u32(&r), 0);
	assert_true(r.bad);
	assert_int_equal(rd_u8(&r), 0);
	r = rd_of(NULL, 0);
	assert_null(rd_bytes(&r, 0));
	assert_false(r.bad);
}

static void failed_allocations_leave_things_as_they_were(void **state)
{
	VEC(int) v = VEC_MAX(100);
	struct arena a;
	struct buf b;

	for (int i = 0; i < 8; i++)
		assert_int_equal(VEC_PUSH(&v, i), 0);
	mem_fail_nth(1);
	assert_int_equal(VEC_PUSH(&v, 8), -ENOMEM);
	assert_true(mem_failed());
	assert_int_equal(v.n, 8);
	assert_int_equal(v.ptr[7], 7);
	vec_release(&v);
	buf_init(&b, 1000);
	mem_fail_nth(1);
	assert_int_equal(buf_puts(&b, "x"), -ENOMEM);
	buf_release(&b);
	arena_init(&a, 64);
	mem_fail_nth(1);
	assert_null(arena_alloc(&a, 8));
	assert_non_null(arena_alloc(&a, 64));
	assert_null(arena_alloc(&a, 1));
	arena_release(&a);
	arena_init(&a, SIZE_MAX);
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_alloc(&a, SIZE_MAX - 20));
	assert_null(mem_strndup("x", SIZE_MAX));
	mem_fail_nth(0);
}

static void characters_are_those_of_rfc_3629(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} of[] = {
		{"a", 1}, {"\x7f", 1}, {"\xc3\xa9", 2}, {"\xdf\xbf", 2}, {"\xe0\xa0\x80", 3}, {"\xed\x9f\xbf", 3},
		{"\xee\x80\x80", 3}, {"\xf0\x90\x80\x80", 4}, {"\xf4\x8f\xbf\xbf", 4},
		/* Nothing; alone; overlong; surrogates; past U+10FFFF; cut short; not continued. */
		{"", 0}, {"\x80", 0}, {"\xff", 0}, {"\xc0\x80", 0}, {"\xc1\xbf", 0}, {"\xe0\x9f\xbf", 0},
		{"\xed\xa0\x80", 0}, {"\xf0\x8f\xbf\xbf", 0}, {"\xf4\x90\x80\x80", 0}, {"\xf8\x88\x80\x80\x80", 0},
		{"\xe2\x82", 0}, {"\xc3(", 0},
	};

	for (size_t i = 0; i < N_ELEMS(of); i++)
		assert_int_equal(str_utf8_length(str_of(of[i].text)), of[i].n);
}

static void a_log_line_is_one_printable_line(void **state)
{
	int saved = dup(STDERR_FILENO), pipe_fds[2];
	char got[64] = "";

	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(dup2(pipe_fds[1], STDERR_FILENO), STDERR_FILENO);
	log_name("dog");
	log_warn("%s", "a\nb\x1b[2J\xc2\x9b\xc3\xa9");
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	assert_true(read(pipe_fds[0], got, sizeof(got) - 1) > 0);
	assert_string_equal(got, "dog: warning: a?b?[2J??\xc3\xa9\n");
	close(saved);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void errors_carry_words(void **state)
{
	struct err e = {0};

	assert_int_equal(err_set(&e, -ENOENT, "no %s", "bone"), -ENOENT);
	assert_int_equal(err_prefix(&e, -ENOENT, "%s: ", "garden"), -ENOENT);
	assert_string_equal(err_words(&e, -ENOENT), "garden: no bone");
	assert_string_equal(err_words(NULL, E_SPEC), "the spec cannot be used");
	assert_int_equal(err_set(NULL, -EIO, "nobody listens"), -EIO);
	/* Codes come from other processes too. */
	assert_string_equal(err_text(INT_MIN), "unknown error");
	assert_string_equal(err_text(INT_MAX), "unknown error");
	assert_string_equal(err_text(-ENOENT), "No such file or directory");
}

static void a_file_is_there_whole_or_not_at_all(void **state)
{
	const struct rlimit small = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
	uint8_t bytes[8192] = {[0] = 1, [8191] = 2}, got[8192];
	char path[] = "/tmp/olddog-test-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(file_make(path, bytes, sizeof(bytes)), 0);
	assert_int_equal(fd_pread_all(fd, got, sizeof(got), 0), 0);
	assert_memory_equal(got, bytes, sizeof(got));
	assert_int_equal(fd_pread_all(fd, got, sizeof(got), 1), -ENODATA);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	/* The first half fits. */
	assert_int_equal(file_make(path, bytes, sizeof(bytes)), -EFBIG);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(fd_pwrite_all(fd, bytes, sizeof(bytes), 0), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philox_gives_the_published_vectors),
		cmocka_unit_test(uniform_is_inside_the_unit_interval),
		cmocka_unit_test(key_is_the_head_of_sha256),
		cmocka_unit_test(sha256_gives_the_published_vector),
		cmocka_unit_test(polynomials_are_close_to_libm),
		cmocka_unit_test(numbers_are_whole_or_refused),
		cmocka_unit_test(text_splits_and_compares),
		cmocka_unit_test(a_buf_keeps_its_first_error),
		cmocka_unit_test(a_reader_past_its_end_gives_zeros),
		cmocka_unit_test(failed_allocations_leave_things_as_they_were),
		cmocka_unit_test(characters_are_those_of_rfc_3629),
		cmocka_unit_test(a_log_line_is_one_printable_line),
		cmocka_unit_test(errors_carry_words),
		cmocka_unit_test(a_file_is_there_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
