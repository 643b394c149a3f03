/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed growable arrays.
 *
 *	VEC(struct member) members = VEC_MAX(1u << 20);		at most so many elements
 *	r = VEC_PUSH(&members, m);				0, -ENOMEM, or -E2BIG past the maximum
 *	members.ptr[i], members.n				fields are read directly
 *	vec_release(&members);
 */
#ifndef OLDDOG_BASE_VEC_H
#define OLDDOG_BASE_VEC_H

#include <stddef.h>

#include "base/mem.h"

#define VEC(type)                                                                                            \
	struct {                                                                                             \
		type *ptr;                                                                                   \
		size_t n, cap, max;                                                                          \
	}
#define VEC_MAX(limit)                                                                                       \
	{                                                                                                    \
		.ptr = NULL, .n = 0, .cap = 0, .max = (limit)                                                \
	}

/* Makes room for n elements of size bytes in all. A failure leaves the array as it was. */
int vec_reserve_(void **ptr, size_t *cap, size_t max, size_t size, size_t n);

#define VEC_RESERVE(v, want) vec_reserve_((void **)&(v)->ptr, &(v)->cap, (v)->max, sizeof(*(v)->ptr), (want))
#define VEC_PUSH(v, x)                                                                                       \
	({                                                                                                   \
		int vec_r_ = VEC_RESERVE(v, (v)->n + 1);                                                     \
		if (vec_r_ == 0)                                                                             \
			(v)->ptr[(v)->n++] = (x);                                                            \
		vec_r_;                                                                                      \
	})
#define vec_release(v)                                                                                       \
	do {                                                                                                 \
		mem_free((v)->ptr);                                                                          \
		(v)->ptr = NULL;                                                                             \
		(v)->n = (v)->cap = 0;                                                                       \
	} while (0)

#endif
