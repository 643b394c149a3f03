/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of a resize, as a table so that another set (for a wider instruction set) is one more file and one
 * more line in kernel_best(). Every set gives the same bytes: integer sums, rounded and clamped once.
 */
#ifndef OLDDOG_MEDIA_KERNEL_H
#define OLDDOG_MEDIA_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "media/coeff.h"

/* What a kernel may read past the end of a row's last sample, of memory that is there but does not count. */
#define KERNEL_OVERREAD SCRATCH_PADDING

struct kernel {
	const char *name;
	/* Lays x's weights out as horizontal wants them where there are three channels. NULL: as they are. As coeff_room(). */
	int (*pack)(struct coeff *x);
	/* One row: to[i] is the weighted sum of from's samples in window i, for each of c channels (1 or 3). */
	void (*horizontal)(const struct coeff *x, const uint8_t *from, uint8_t *to, unsigned c);
	/* One row: the weighted sum of n_rows rows, stride apart, for each of n bytes. */
	void (*vertical)(const int32_t *weights, uint32_t n_rows, const uint8_t *from, size_t stride, uint8_t *to, size_t n);
};

extern const struct kernel kernel_scalar;
#ifdef __x86_64__
extern const struct kernel kernel_avx2, kernel_avx512;
#endif

/* The loops for a set that this processor has. */
const struct kernel *kernel_of(enum cpu_set set);
/* Whether it gives the plain loops' bytes for some pixels that are made up. 1, 0; -ENOMEM. */
int kernel_agrees(const struct kernel *kernel);

#endif
