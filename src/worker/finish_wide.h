/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float32 by arithmetic in place of the table: value v of channel k is scale[k] * v + offset[k] in double, rounded once.
 * finish_init() has tried all 256 values of each channel against the table before it lets these run, so they give the
 * table's bits. Each makes as many pixels as its registers hold at a time and returns how many it made; the rest, fewer
 * than 16, is the caller's. uint8 has no arithmetic: its channels are only taken apart.
 */
#ifndef OLDDOG_WORKER_FINISH_WIDE_H
#define OLDDOG_WORKER_FINISH_WIDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

struct finish_line {
	double scale[4], offset[4];
};

struct finish_wide {
	/* Three channels into three planes, so many elements apart. n pixels. */
	size_t (*chw3)(const struct finish_line *line, const uint8_t *from, size_t n, float *to, size_t plane);
	/* Three channels side by side. n pixels. */
	size_t (*hwc3)(const struct finish_line *line, const uint8_t *from, size_t n, float *to);
	/* One channel. */
	size_t (*one)(const struct finish_line *line, const uint8_t *from, size_t n, float *to);
	/* Three channels of uint8 into three planes. n pixels. */
	size_t (*split3)(const uint8_t *from, size_t n, uint8_t *to, size_t plane);
};

/* NULL where the set has none. */
const struct finish_wide *finish_wide_of(enum cpu_set set);

#endif
