/* SPDX-License-Identifier: Apache-2.0 */
/* Every set of kernels that this processor has gives the bytes of the plain one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rand.h"
#include "base/scope.h"
#include "media/media.h"
#include "media/resize.h"

#define MAX_IN_BYTES (1u << 20)

struct numbers {
	uint64_t n;
};

static uint32_t next_below(struct numbers *s, uint32_t bound)
{
	uint32_t words[4];

	philox((struct philox_key){{1, 2}}, s->n++, 0, 0, words);
	return (uint32_t)((uint64_t)words[0] * bound >> 32);
}

/* Noise, or black and white only: the largest sums, and the most negative ones of bicubic's weights. */
static uint8_t *random_bytes(struct numbers *s, size_t n)
{
	uint8_t *p = mem_alloc(n + KERNEL_OVERREAD);
	bool extreme = next_below(s, 2);

	assert_non_null(p);
	for (size_t i = 0; i < n + KERNEL_OVERREAD; i++)
		p[i] = (uint8_t)(extreme ? 255 * next_below(s, 2) : next_below(s, 256));
	return p;
}

/* Mostly ordinary sizes, some of 1 and some that shrink or grow a hundredfold. */
static uint32_t random_length(struct numbers *s)
{
	static const uint32_t bounds[] = {2, 5, 40, 400, 4000};

	return 1 + next_below(s, bounds[next_below(s, N_ELEMS(bounds))]);
}

static void run(const struct resize *rs, enum cpu_set set, const struct plane *from, struct plane *to)
{
	struct plane_rows rows = plane_rows_of(from);

	assert_int_equal(resize_run(rs, kernel_of(set), &rows.rows, to), 0);
}

static void compare_sets(const struct resize *rs, const struct plane *from)
{
	struct plane plain = {.w = rs->out.w, .h = rs->out.h, .c = from->c, .stride = (size_t)rs->out.w * from->c};
	struct plane other = plain;

	/* Exactly as large as the result, so that a byte too many is seen. */
	plain.p = mem_alloc(plain.stride * plain.h);
	other.p = mem_alloc(plain.stride * plain.h);
	assert_true(plain.p && other.p);
	run(rs, CPU_SCALAR, from, &plain);
	for (enum cpu_set set = CPU_SCALAR + 1; set <= cpu_has(); set++) {
		memset(other.p, 0x55, plain.stride * plain.h);
		run(rs, set, from, &other);
		assert_memory_equal(plain.p, other.p, plain.stride * plain.h);
	}
	mem_free(plain.p);
	mem_free(other.p);
}

static void compare_one(struct numbers *s)
{
	static const enum interpolation filters[] = {INTERPOLATION_BOX, INTERPOLATION_BILINEAR, INTERPOLATION_BICUBIC};
	uint32_t c = next_below(s, 4) ? 3 : 1, w = random_length(s), h = 1 + next_below(s, MAX_IN_BYTES / (w * c) + 1);
	struct plane from = {.w = w, .h = MIN(h, 500), .c = c, .stride = (size_t)w * c};
	struct resize rs;

	resize_init(&rs, RESAMPLE_PILLOW_13, filters[next_below(s, 3)], w, from.h, random_length(s), 1 + next_below(s, 60));
	if (rs.x.in == rs.x.out && rs.y.in == rs.y.out)
		return;
	rs.mirror_x = rs.x.in != rs.x.out && next_below(s, 2);
	from.p = random_bytes(s, from.stride * from.h);
	compare_sets(&rs, &from);
	mem_free(from.p);
}

static void all_sets_give_the_same_bytes(void **state)
{
	struct numbers s = {0};

	if (cpu_has() == CPU_SCALAR)
		print_message("this processor has only the plain set\n");
	for (unsigned i = 0; i < 500; i++)
		compare_one(&s);
	scratch_release();
}

/* What the digits of kernel_avx512.c rely on. */
static void weights_are_below_two(void **state)
{
	for (uint32_t i = 0; i < 3 * 50 * 50; i++) {
		static const enum interpolation filters[] = {INTERPOLATION_BOX, INTERPOLATION_BILINEAR, INTERPOLATION_BICUBIC};
		struct axis a = {.in = 1 + i % 50, .out = 1 + i / 50 % 50, .interpolation = filters[i / (50 * 50)]};
		struct coeff c;

		assert_int_equal(coeff_make(&c, SCRATCH_COEFF_X, &a, 0, a.out, 0, false), 0);
		for (uint32_t k = 0; k < c.n_out * c.n_taps; k++)
			assert_true(c.weights[k] >= -0x808080 && c.weights[k] <= 0x7f7f7f);
	}
	scratch_release();
}

static void one_too_many(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to, size_t n)
{
	kernel_scalar.vertical(weights, n_rows, from, stride, to, n);
	to[n - 1] += 1;
}

static void a_set_with_one_wrong_byte_is_found_out(void **state)
{
	struct kernel wrong = kernel_scalar;

	for (enum cpu_set set = CPU_SCALAR; set <= cpu_has(); set++)
		assert_int_equal(kernel_agrees(kernel_of(set)), 1);
	assert_int_equal(media_check_loops(), 1);
	wrong.vertical = one_too_many;
	assert_int_equal(kernel_agrees(&wrong), 0);
	scratch_release();
	mem_fail_nth(1);
	assert_int_equal(kernel_agrees(&wrong), -ENOMEM);
	mem_fail_nth(0);
	scratch_release();
}

static void a_set_is_chosen_by_name(void **state)
{
	enum cpu_set set = N_CPU_SETS;
	struct err e = {0};

	assert_int_equal(cpu_choose(NULL, &set, &e), 0);
	assert_int_equal(set, cpu_has());
	assert_int_equal(cpu_choose("scalar", &set, &e), 0);
	assert_int_equal(set, CPU_SCALAR);
	assert_int_equal(cpu_choose("mmx", &set, &e), -EINVAL);
	assert_non_null(strstr(e.words, "OLDDOG_KERNEL=mmx"));
	assert_non_null(strstr(e.words, "scalar, avx2, avx512"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_sets_give_the_same_bytes),
		cmocka_unit_test(weights_are_below_two),
		cmocka_unit_test(a_set_with_one_wrong_byte_is_found_out),
		cmocka_unit_test(a_set_is_chosen_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
