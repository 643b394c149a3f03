/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Working memory that one decode leaves to the next: a slot is grown when a sample needs more and otherwise kept, so
 * that a steady stream of samples allocates (and faults in) nothing. One set per thread.
 */
#ifndef OLDDOG_MEDIA_SCRATCH_H
#define OLDDOG_MEDIA_SCRATCH_H

#include <stddef.h>

/* No sample may ask more of one slot: E_LIMIT, on every machine alike. */
#define SCRATCH_MAX_BYTES ((size_t)1 << 30)
/* A slot above this is given back when its sample is done. */
#define SCRATCH_KEEP_BYTES ((size_t)64 << 20)

/* Readable behind what was asked for: wide loads may run over the end of the last row. */
#define SCRATCH_PADDING 64
/* Of slots: a line of the processor's cache, and the widest load. */
#define SCRATCH_ALIGN 64

enum scratch_slot {
	SCRATCH_DECODED,	/* rows of an image */
	SCRATCH_PLANE_A,	/* results of steps, alternating */
	SCRATCH_PLANE_B,
	SCRATCH_HALF,		/* between the two passes of a resize */
	SCRATCH_LINE,		/* one row as a decoder gives it */
	SCRATCH_WHOLE,		/* a whole image, where a format cannot decode a region */
	SCRATCH_COEFF_X,
	SCRATCH_COEFF_Y,
	SCRATCH_COEFF_GROUPS,
	N_SCRATCH_SLOTS,
};

/* At least n bytes, aligned to SCRATCH_ALIGN; what a slot held before is lost. 0, E_LIMIT, -ENOMEM. */
int scratch_get(enum scratch_slot slot, size_t n_bytes, void *ret_p);
/* Gives back what is above SCRATCH_KEEP_BYTES. */
void scratch_trim(void);
/* Gives back everything. */
void scratch_release(void);

#endif
