/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner's one copy: uint8 HWC pixels out of a worker's memory into a batch slot, converted, normalised and laid
 * out on the way. The only pixel code outside the worker. A value v of channel c becomes table[c][v], computed in
 * IEEE double and rounded once (to nearest, ties to even) to the dtype: uint8 is v itself; a float is v / 255, and with
 * normalize (v / 255 - mean[c]) / std[c]; a fourth channel is never normalised. doc/design/0004-finish.md.
 */
#ifndef OLDDOG_WORKER_FINISH_H
#define OLDDOG_WORKER_FINISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/recipe.h"
#include "worker/finish_wide.h"

struct finish {
	enum dtype dtype;
	enum layout layout;
	uint32_t table[4][256];	/* bit patterns of the dtype, per channel */
	struct finish_line line;
	bool is_line;		/* that line gives the table's bits for every value */
	const struct finish_wide *wide; /* NULL: by the table */
};

/* The bits of x rounded to d, which is one of the float dtypes of images: to nearest, ties to even. */
uint32_t finish_round(enum dtype d, double x);

void finish_init(struct finish *f, const struct recipe_field *field);
/* By what a lesser set has, for tests and comparisons; CPU_SCALAR is the table. */
void finish_use(struct finish *f, enum cpu_set set);
/* from: h * w * c uint8. to: h * w * c elements, aligned to the element. c is 1..4. */
void finish_copy(const struct finish *f, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, void *to);
/* Likewise into a larger frame of frame_h x frame_w (collate: pad), at its top left; what is around stays untouched. */
void finish_copy_padded(const struct finish *f, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, void *to,
	uint32_t frame_h, uint32_t frame_w);

#endif
