/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize, bit for bit as Pillow 13.0.0 (or 12): two passes with 8 bits between them. Only a part of the result need be
 * made, from only the part of the input that it depends on. Of what comes in, only a few rows are held at a time where the
 * horizontal pass is first. doc/design/0005-pixels.md.
 */
#ifndef OLDDOG_MEDIA_RESIZE_H
#define OLDDOG_MEDIA_RESIZE_H

#include <stdbool.h>

#include "media/coeff.h"
#include "media/kernel.h"
#include "media/rows.h"

struct resize {
	struct axis x, y;
	struct box in, out;	/* parts of the whole input and output; in covers resize_need() */
	bool mirror_x, mirror_y; /* of what is written; only along an axis whose length changes */
	bool vertical_first;
};

void resize_init(struct resize *rs, enum resample rule, enum interpolation interpolation, uint32_t w, uint32_t h,
	uint32_t to_w, uint32_t to_h);
/* What of the whole input the part `out` depends on. */
struct box resize_need(const struct resize *rs);
/* from has the size of rs->in, to of rs->out; same channels. 0, E_LIMIT, -ENOMEM, or what from->next says. */
int resize_run(const struct resize *rs, const struct kernel *kernel, struct rows *from, const struct plane *to);

#endif
