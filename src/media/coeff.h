/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of a resize along one axis, as Pillow 13.0.0 makes them (src/libImaging/Resample.c): computed in IEEE double
 * with + - * / only, normalised to sum 1, then rounded to integers of COEFF_BITS fraction bits, halves away from zero.
 * doc/design/0005-pixels.md has the formulas.
 */
#ifndef OLDDOG_MEDIA_COEFF_H
#define OLDDOG_MEDIA_COEFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/scratch.h"
#include "wire/recipe.h"

/* 8 bits of a sample and 2 of headroom (weights may be negative, or above 1) leave this of 32. */
#define COEFF_BITS (32 - 8 - 2)

/* An axis: in samples become out. */
struct axis {
	uint32_t in, out;
	enum interpolation interpolation;
};

struct coeff_window {
	uint32_t first, n; /* samples of the input that one output depends on */
};

struct coeff {
	uint32_t n_out, n_taps;		/* n_taps: weights kept for each output; unused ones are 0 */
	struct coeff_window *windows;	/* n_out */
	int32_t *weights;		/* n_out * n_taps */
	/* coeff_room(): a kernel's own layout of the weights, in groups of four taps, of all outputs equally many. */
	uint32_t n_groups;
	uint32_t *starts;		/* the sample that each output's first group begins with */
	void *packed;
};

struct coeff_window coeff_window_of(const struct axis *a, uint32_t out);
/*
 * Weights of outputs first .. first + n - 1 (in reverse order when mirror), for an input of which only samples from
 * origin on are present. Lives in the slot. 0, E_LIMIT, -ENOMEM.
 */
int coeff_make(struct coeff *ret, enum scratch_slot slot, const struct axis *a, uint32_t first, uint32_t n,
	uint32_t origin, bool mirror);
/*
 * Sets n_groups and starts, and packed to room for n_bytes for each group of each four outputs, aligned to SCRATCH_ALIGN.
 * Groups reach over the end of a row by four samples at most. 0, E_LIMIT, -ENOMEM.
 */
int coeff_room(struct coeff *x, size_t n_bytes);
/* The weights of a group's taps; 0 outside an output's window, and for outputs that there are not. */
void coeff_taps(const struct coeff *x, uint32_t out, uint32_t group, int32_t ret[4]);

#endif
