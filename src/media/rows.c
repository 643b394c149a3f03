/* SPDX-License-Identifier: Apache-2.0 */
#include "media/rows.h"

#include "base/scope.h"

static int plane_rows_next(struct rows *rows, uint32_t n, struct plane *ret)
{
	struct plane_rows *r = container_of(rows, struct plane_rows, rows);

	*ret = plane_part(&r->plane, r->y, n);
	r->y += n;
	return 0;
}

struct plane_rows plane_rows_of(const struct plane *plane)
{
	return (struct plane_rows){
		.rows = {.w = plane->w, .h = plane->h, .c = plane->c, .next = plane_rows_next}, .plane = *plane};
}
