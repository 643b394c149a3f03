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
	struct coeff_pairs *pairs;	/* coeff_split(); NULL before */
	uint32_t n_groups;		/* of four taps, in pairs */
};

/*
 * The weights of four taps for two neighbouring outputs, split into 16-bit halves (weight = high * 2^COEFF_LOW_BITS +
 * low), for instructions that multiply and add pairs of 16-bit numbers. Laid out for three channels: taps 0 and 1 for
 * red, green, blue and nothing, then taps 2 and 3; then the same of the other output.
 */
struct coeff_pairs {
	int16_t low[2][2][8], high[2][2][8];
};

#define COEFF_LOW_BITS 15

struct coeff_window coeff_window_of(const struct axis *a, uint32_t out);
/*
 * Weights of outputs first .. first + n - 1 (in reverse order when mirror), for an input of which only samples from
 * origin on are present. Lives in the slot. 0, E_LIMIT, -ENOMEM.
 */
int coeff_make(struct coeff *ret, enum scratch_slot slot, const struct axis *a, uint32_t first, uint32_t n,
	uint32_t origin, bool mirror);
/* Makes pairs: of outputs 2i and 2i + 1 the groups g are pairs[i * n_groups + g]; where there is none, weights are 0. */
int coeff_split(struct coeff *x);

#endif
