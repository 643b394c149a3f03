/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a batch slot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/batchhead.h"

#define ROOM (BATCHHEAD_ROOM + 1024u)

static const struct batch_head sample = {.n_bytes = ROOM, .begin = 64, .end = 96, .epoch = 1, .number = 2, .dp_rank = 1,
	.dp_size = 3, .n = 2, .n_real = 1, .last = true, .n_fields = 2, .fields = {
	{.name = "image", .kind = FIELD_IMAGE, .dtype = DTYPE_FLOAT32, .form = FORM_ARRAY, .n_dims = 4,
		.dims = {2, 3, 4, 5}, .data_offset = BATCHHEAD_ROOM, .data_bytes = 480},
	{.name = "txt", .kind = FIELD_TEXT, .dtype = DTYPE_UINT8, .form = FORM_RAGGED, .n_dims = 1, .dims = {7},
		.data_offset = BATCHHEAD_ROOM + 512, .data_bytes = 7, .offsets_offset = BATCHHEAD_ROOM + 576}}};

static int decoded(const struct batch_head *h, struct batch_head *ret)
{
	AUTO_BUF struct buf b;

	buf_init(&b, BATCHHEAD_ROOM);
	assert_int_equal(batch_head_encode(h, &b), 0);
	return batch_head_decode(b.ptr, b.n, ROOM, ret);
}

static void a_head_comes_back(void **state)
{
	struct batch_head got;

	assert_int_equal(decoded(&sample, &got), 0);
	assert_memory_equal(&got, &sample, sizeof(got));
	assert_ptr_equal(batch_head_field(&got, "txt"), &got.fields[1]);
	assert_null(batch_head_field(&got, "jpg"));
}

static void the_largest_head_fits_its_room(void **state)
{
	struct batch_head h = sample;
	AUTO_BUF struct buf b;

	buf_init(&b, BATCHHEAD_ROOM);
	h.n_fields = BATCHHEAD_MAX_FIELDS;
	assert_int_equal(batch_head_encode(&h, &b), 0);
	h.n_fields++;
	assert_int_equal(batch_head_encode(&h, &b), -EINVAL);
}

#define REFUSES(change)                                                                                      \
	do {                                                                                                 \
		struct batch_head h = sample, got;                                                           \
		h.change;                                                                                    \
		assert_int_equal(decoded(&h, &got), E_PROTOCOL);                                             \
	} while (0)

static void what_lies_outside_the_slot_is_refused(void **state)
{
	REFUSES(n_bytes = ROOM + 1);
	REFUSES(n_real = 3);
	REFUSES(n = UINT32_MAX);
	REFUSES(fields[0].data_offset = 8);
	REFUSES(fields[0].data_offset = BATCHHEAD_ROOM + 8);
	REFUSES(fields[1].offsets_offset = BATCHHEAD_ROOM + 584);
	REFUSES(fields[0].data_offset = UINT64_MAX - 7);
	REFUSES(fields[0].data_offset = ROOM - 448);
	REFUSES(fields[0].data_bytes = 481);
	REFUSES(fields[0].dims[1] = 1ull << 62);
	REFUSES(fields[0].dims[0] = 3);
	REFUSES(fields[0].n_dims = 5);
	REFUSES(fields[0].dtype = 77);
	REFUSES(fields[0].n_size_dims = 3);
	REFUSES(fields[0].sizes_offset = BATCHHEAD_ROOM);
	REFUSES(fields[1].offsets_offset = 0);
	REFUSES(fields[1].offsets_offset = ROOM);
	REFUSES(fields[1].form = 3);
	/* A number has no frame that its own size could be measured against. */
	REFUSES(fields[0] = ((struct batch_field){.name = "n", .kind = FIELD_INT, .dtype = DTYPE_INT64, .form = FORM_ARRAY,
		.n_dims = 1, .dims = {2}, .data_offset = BATCHHEAD_ROOM, .data_bytes = 16, .n_size_dims = 3,
		.sizes_offset = BATCHHEAD_ROOM + 64}));
}

static void a_head_that_is_cut_is_refused(void **state)
{
	AUTO_BUF struct buf b;
	struct batch_head got;

	buf_init(&b, BATCHHEAD_ROOM);
	batch_head_encode(&sample, &b);
	for (size_t n = 0; n < b.n; n++)
		assert_int_equal(batch_head_decode(b.ptr, n, ROOM, &got), E_PROTOCOL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_comes_back),
		cmocka_unit_test(the_largest_head_fits_its_room),
		cmocka_unit_test(what_lies_outside_the_slot_is_refused),
		cmocka_unit_test(a_head_that_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
