/* SPDX-License-Identifier: Apache-2.0 */
/* The heads of pictures, whole, cut and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/scope.h"
#include "wire/picture_head.h"

#define BYTES(s) (s), sizeof(s) - 1

static void check(const char *bytes, size_t n, enum picture_coding coding, uint32_t w, uint32_t h)
{
	struct picture_head head = picture_head_read(bytes, n);

	assert_int_equal(head.coding, coding);
	assert_int_equal(head.w, w);
	assert_int_equal(head.h, h);
}

static void frames_of_jpegs_are_found(void **state)
{
	check(BYTES("\xff\xd8\xff\xe0\0\x04xx\xff\xc0\0\x0b\x08\x0b\xb8\x0f\xa0\x01\x01\x11\0"), PICTURE_JPEG, 4000, 3000);
	check(BYTES("\xff\xd8\xff\xff\xff\xc2\0\x0b\x08\0\x10\0\x20"), PICTURE_JPEG_PROGRESSIVE, 32, 16);
	/* Other tables before the frame, a restart marker and bytes that are no marker between. */
	check(BYTES("\xff\xd8\xff\xc4\0\x02\xff\xd0junk\xff\0\xff\xcc\0\x03x\xff\xc1\0\x08\x08\0\x01\0\x02"), PICTURE_JPEG, 2, 1);
	check(BYTES("\xff\xd8\xff\xce\0\x08\x08\0\x01\0\x02"), PICTURE_JPEG_PROGRESSIVE, 2, 1);
}

static void a_jpeg_without_a_frame_is_unknown(void **state)
{
	check(BYTES("\xff\xd8\xff\xda\0\x02\xff\xc0\0\x08\x08\0\x01\0\x02"), PICTURE_UNKNOWN, 0, 0);
	check(BYTES("\xff\xd8\xff\xe1\xff\xff\xff\xc0\0\x08\x08\0\x01\0\x02"), PICTURE_UNKNOWN, 0, 0);
	check(BYTES("\xff\xd8\xff\xd9"), PICTURE_UNKNOWN, 0, 0);
	check(BYTES("\xff\xd8\xff\xc0\0\x08\x08\0\0\0\x02"), PICTURE_UNKNOWN, 0, 0);
}

static void the_search_ends(void **state)
{
	size_t n = 4 * (PICTURE_HEAD_MAX_STEPS + 2);
	AUTO_FREE uint8_t *p = mem_zalloc(n + 11);

	assert_non_null(p);
	memcpy(p, "\xff\xd8", 2);
	for (size_t i = 2; i < n; i += 4)
		memcpy(p + i, "\xff\xe0\0\x02", 4);
	memcpy(p + n - 2, "\xff\xc0\0\x08\x08\0\x01\0\x02", 9);
	assert_int_equal(picture_head_read(p, n + 11).coding, PICTURE_UNKNOWN);
	assert_int_equal(picture_head_read(p + 12, n - 1).coding, PICTURE_UNKNOWN);
	memcpy(p + 12, "\xff\xd8", 2);
	assert_int_equal(picture_head_read(p + 12, n - 1).coding, PICTURE_JPEG);
}

static void pngs_say_it_first(void **state)
{
	check(BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x0f\xa0\0\0\x0b\xb8\x08\x02\0\0\0"), PICTURE_PNG, 4000, 3000);
	check(BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x02\x08\x02\0\0\x01"), PICTURE_PNG_INTERLACED, 1, 2);
	check(BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\0\x08\x02\0\0\x01"), PICTURE_UNKNOWN, 0, 0);
	check(BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIDAT\0\0\0\x01\0\0\0\x01\x08\x02\0\0\x01"), PICTURE_UNKNOWN, 0, 0);
}

static void webps_of_all_three_kinds(void **state)
{
	check(BYTES("RIFF....WEBPVP8 ....\x10\0\0\x9d\x01\x2a\xf4\x41\x77\x01"), PICTURE_WEBP, 500, 375);
	check(BYTES("RIFF....WEBPVP8L....\x2f\xf3\x41\x5d\0"), PICTURE_WEBP_LOSSLESS, 500, 374);
	check(BYTES("RIFF....WEBPVP8X\x0a\0\0\0\x10\0\0\0\xf3\x01\0\x76\x01\0ALPH\x03\0\0\0abcdVP8 "), PICTURE_WEBP, 500, 375);
	check(BYTES("RIFF....WEBPVP8X\x0a\0\0\0\x02\0\0\0\xf3\x01\0\x76\x01\0ANIM\x02\0\0\0ab"
		"ANMF\x30\0\0\0" "0123456789abcdefVP8L\0\0\0\0"), PICTURE_WEBP_LOSSLESS, 500, 375);
	check(BYTES("RIFF....WEBPVP8 ....\x10\0\0\x9d\x01\x2b\xf4\x41\x77\x01"), PICTURE_UNKNOWN, 0, 0);
	check(BYTES("RIFF....WAVEVP8 ....\x10\0\0\x9d\x01\x2a\xf4\x41\x77\x01"), PICTURE_UNKNOWN, 0, 0);
}

/* Each in memory of its own length, so that a sanitizer sees a look behind it. */
static void whatever_is_cut_off_is_no_more_than_unknown(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} heads[] = {
		{BYTES("\xff\xd8\xff\xe0\0\x04xx\xff\xc0\0\x0b\x08\x0b\xb8\x0f\xa0")},
		{BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x0f\xa0\0\0\x0b\xb8\x08\x02\0\0\0")},
		{BYTES("RIFF....WEBPVP8 ....\x10\0\0\x9d\x01\x2a\xf4\x41\x77\x01")},
		{BYTES("RIFF....WEBPVP8L....\x2f\xf3\x41\x5d\0")},
		{BYTES("RIFF....WEBPVP8X\x0a\0\0\0\x10\0\0\0\xf3\x01\0\x76\x01\0")},
	};

	for (size_t k = 0; k < N_ELEMS(heads); k++) {
		assert_int_not_equal(picture_head_read(heads[k].p, heads[k].n).coding, PICTURE_UNKNOWN);
		for (size_t n = 0; n < heads[k].n; n++) {
			AUTO_FREE void *p = mem_alloc(n ? n : 1);

			assert_non_null(p);
			memcpy(p, heads[k].p, n);
			assert_int_equal(picture_head_read(p, n).coding, PICTURE_UNKNOWN);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_jpegs_are_found),
		cmocka_unit_test(a_jpeg_without_a_frame_is_unknown),
		cmocka_unit_test(the_search_ends),
		cmocka_unit_test(pngs_say_it_first),
		cmocka_unit_test(webps_of_all_three_kinds),
		cmocka_unit_test(whatever_is_cut_off_is_no_more_than_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
