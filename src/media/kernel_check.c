/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels of arithmetic through both passes, shrunk and stretched, by two sets of loops. */
#include <string.h>

#include "base/scope.h"
#include "media/resize.h"

#define W 61
#define H 47
#define MAX_OUT (90 * 70 * 3)

/* Steep edges, so that bicubic's negative weights have something to overshoot. */
static void fill(uint8_t p[W * H * 3])
{
	for (unsigned i = 0; i < W * H * 3; i++)
		p[i] = i % 11 < 3 ? 255 : i % 7 == 0 ? 0 : (uint8_t)(i * 37 + i / 251);
}

static int resize_by(const struct kernel *kernel, const struct resize *rs, const uint8_t *p, uint8_t *out)
{
	uint8_t copy[W * H * 3 + KERNEL_OVERREAD] = {0};
	struct plane from = {.p = copy, .w = W, .h = H, .c = 3, .stride = W * 3};
	struct plane to = {.p = out, .w = rs->out.w, .h = rs->out.h, .c = 3, .stride = (size_t)rs->out.w * 3};
	struct plane_rows rows = plane_rows_of(&from);

	memcpy(copy, p, W * H * 3);
	return resize_run(rs, kernel, &rows.rows, &to);
}

int kernel_agrees(const struct kernel *kernel)
{
	static const struct {
		enum interpolation interpolation;
		uint32_t w, h;
	} of[] = {{INTERPOLATION_BICUBIC, 23, 70}, {INTERPOLATION_BILINEAR, 90, 11}, {INTERPOLATION_BOX, 5, 3}};
	uint8_t p[W * H * 3], plain[MAX_OUT], other[MAX_OUT];

	fill(p);
	for (unsigned i = 0; i < N_ELEMS(of); i++) {
		struct resize rs;
		int r;

		resize_init(&rs, RESAMPLE_PILLOW_13, of[i].interpolation, W, H, of[i].w, of[i].h);
		r = resize_by(&kernel_scalar, &rs, p, plain);
		r = r < 0 ? r : resize_by(kernel, &rs, p, other);
		if (r < 0)
			return r;
		if (memcmp(plain, other, (size_t)3 * of[i].w * of[i].h) != 0)
			return 0;
	}
	return 1;
}
