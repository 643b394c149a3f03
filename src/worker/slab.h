/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spaces in a fixed region, by offset: next fit over a bitmap of granules. Pure bookkeeping; it never touches the region,
 * and needs memory only when it is made, so that giving out space cannot fail for another reason than lack of it.
 */
#ifndef OLDDOG_WORKER_SLAB_H
#define OLDDOG_WORKER_SLAB_H

#include <stddef.h>
#include <stdint.h>

#define SLAB_GRANULE 4096u

struct slab {
	uint64_t *used;		/* a bit per granule */
	size_t n, n_free;	/* granules */
	size_t hint;		/* where the next search begins */
};

/* n_bytes is rounded down to granules, at least one. -ENOMEM, -EINVAL. */
int slab_init(struct slab *s, size_t n_bytes);
void slab_release(struct slab *s);
/* n bytes (0 counts as 1) at a multiple of SLAB_GRANULE: 0, -EAGAIN (not now), -E2BIG (never). */
int slab_alloc(struct slab *s, uint64_t n, uint64_t *ret_offset);
/* What slab_alloc() gave, with the same n; asserted. */
void slab_free(struct slab *s, uint64_t offset, uint64_t n);

#endif
