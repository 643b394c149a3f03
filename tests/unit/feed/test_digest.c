/* SPDX-License-Identifier: Apache-2.0 */
/* Samples out of batches: the same bytes whatever stands around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "feed/digest.h"
#include "feed/npy.h"

#define ROOM (BATCHHEAD_ROOM + 4096)
#define AT(k) (BATCHHEAD_ROOM + 512u * (k))

static uint8_t slot[ROOM] __attribute__((aligned(64)));

static struct batch_field array_field(uint64_t n, uint64_t h, uint64_t w)
{
	return (struct batch_field){.name = "image", .kind = FIELD_IMAGE, .dtype = DTYPE_UINT8, .form = FORM_ARRAY,
		.n_dims = 4, .dims = {n, h, w, 1}, .data_offset = AT(0), .data_bytes = n * h * w};
}

/* Two images, 1x2 and 2x1, in 2x2 frames. */
static struct batch_head padded(void)
{
	static const uint8_t pixels[] = {1, 2, 0, 0, 3, 0, 4, 0};
	static const uint32_t sizes[] = {1, 2, 1, 2, 1, 1};
	struct batch_head h = {.n_bytes = ROOM, .n = 2, .n_real = 2, .n_fields = 1};

	h.fields[0] = array_field(2, 2, 2);
	h.fields[0].sizes_offset = AT(1);
	h.fields[0].n_size_dims = 3;
	memcpy(slot + AT(0), pixels, sizeof(pixels));
	memcpy(slot + AT(1), sizes, sizeof(sizes));
	return h;
}

/* The same two one after another. */
static struct batch_head ragged(void)
{
	static const uint8_t pixels[] = {1, 2, 3, 4};
	static const uint64_t offsets[] = {0, 2, 4};
	struct batch_head h = padded();

	h.fields[0].form = FORM_RAGGED;
	h.fields[0].n_dims = 1;
	h.fields[0].dims[0] = h.fields[0].data_bytes = 4;
	h.fields[0].offsets_offset = AT(2);
	memcpy(slot + AT(0), pixels, sizeof(pixels));
	memcpy(slot + AT(2), offsets, sizeof(offsets));
	return h;
}

static void a_digest_does_not_see_the_frame(void **state)
{
	struct batch_head h = padded();
	uint8_t a[2][SHA256_BYTES], b[2][SHA256_BYTES], all_a[SHA256_BYTES], all_b[SHA256_BYTES];

	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(digest_sample(&h, slot, i, a[i]), 0);
	assert_int_equal(digest_batch(&h, slot, all_a), 0);
	h = ragged();
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(digest_sample(&h, slot, i, b[i]), 0);
	assert_int_equal(digest_batch(&h, slot, all_b), 0);
	assert_memory_equal(a, b, sizeof(a));
	assert_memory_equal(all_a, all_b, sizeof(all_a));
	assert_memory_not_equal(a[0], a[1], SHA256_BYTES);
}

static void a_digest_is_what_the_document_says(void **state)
{
	static const uint8_t message[] = "\x05\0\0\0\0\0\0\0image\x05\0\0\0\0\0\0\0uint8\x03\0\0\0"
		"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\x02";
	struct batch_head h = padded();
	uint8_t want[SHA256_BYTES], got[SHA256_BYTES];

	sha256_of(message, sizeof(message) - 1, want);
	assert_int_equal(digest_sample(&h, slot, 0, got), 0);
	assert_memory_equal(got, want, sizeof(want));
}

static void tables_that_make_no_sense_are_refused(void **state)
{
	struct batch_head h = padded();
	const uint32_t tall = 3;
	const uint64_t far = 5;
	uint8_t sha[SHA256_BYTES];

	memcpy(slot + AT(1), &tall, sizeof(tall));
	assert_int_equal(digest_sample(&h, slot, 0, sha), E_PROTOCOL);
	h = ragged();
	memcpy(slot + AT(2) + 8, &far, sizeof(far));
	assert_int_equal(digest_sample(&h, slot, 0, sha), E_PROTOCOL);
	assert_int_equal(digest_sample(&h, slot, 1, sha), E_PROTOCOL);
}

static void npy_is_numpys_format(void **state)
{
	static const uint8_t pixels[] = {9, 8};
	const struct sample_view v = {.name = "image", .type = "uint8", .dtype = DTYPE_UINT8, .n_dims = 3, .dims = {1, 2, 1},
		.p = pixels, .n_bytes = 2};
	const struct sample_view number = {.dtype = DTYPE_INT64, .p = "\7\0\0\0\0\0\0\0", .n_bytes = 8};
	AUTO_BUF struct buf b;

	buf_init(&b, 4096);
	assert_int_equal(npy_write(&v, &b), 0);
	assert_int_equal(b.n, 128 + 2);
	assert_memory_equal(b.ptr, "\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (1,2,1), }", 67);
	assert_memory_equal(b.ptr + 127, "\n\x09\x08", 3);
	buf_clear(&b);
	assert_int_equal(npy_write(&number, &b), 0);
	assert_non_null(strstr((char *)b.ptr + 10, "'<i8', 'fortran_order': False, 'shape': (), }"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_digest_does_not_see_the_frame),
		cmocka_unit_test(a_digest_is_what_the_document_says),
		cmocka_unit_test(tables_that_make_no_sense_are_refused),
		cmocka_unit_test(npy_is_numpys_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
