/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random decisions of a step, as pure functions of (key, position, field, draw). doc/design/0003-random-numbers.md
 * says them exactly enough to be repeated elsewhere.
 */
#ifndef OLDDOG_MEDIA_DRAW_H
#define OLDDOG_MEDIA_DRAW_H

#include <stdbool.h>

#include "media/plane.h"
#include "wire/recipe.h"

struct draw {
	const struct recipe_step *step;
	uint32_t field;		/* recipe_field.index */
	uint64_t position;
};

/* Whether a thing of probability step->p happens. */
bool draw_happens(const struct draw *d);
/* A box of w x h somewhere in an image of in_w x in_h, which holds it. */
struct box draw_crop(const struct draw *d, uint32_t in_w, uint32_t in_h, uint32_t w, uint32_t h);
/* A box of random area and shape (step->scale, step->log2_ratio), as torchvision's RandomResizedCrop. */
struct box draw_resized_crop(const struct draw *d, uint32_t in_w, uint32_t in_h);

/* x rounded, halves to even, as Python's round(): of non-negative x. */
uint32_t round_half_even(double x);

#endif
