/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release at the end of a scope, ownership that moves, and the few macros that every file needs.
 *
 *	AUTO_FREE char *name = mem_strdup(s);		freed when the scope ends
 *	AUTO_CLOSE int fd = open(...);			closed when it is >= 0
 *	AUTO(plan) struct plan *p = NULL;		plan_free(p); needs DEFINE_AUTO(plan) in plan.h
 *	*ret_plan = TAKE(p);				the caller's from here on, p is NULL
 */
#ifndef OLDDOG_BASE_SCOPE_H
#define OLDDOG_BASE_SCOPE_H

#include <stddef.h>
#include <unistd.h>

#include "base/mem.h"

#define CLEANUP(f) __attribute__((cleanup(f), unused)) /* unused: by its name, in clang's eyes */
#define AUTO_FREE CLEANUP(mem_freep)
#define AUTO_CLOSE CLEANUP(fd_closep)
#define AUTO(type) CLEANUP(type##_freep)
#define DEFINE_AUTO(type)                                                                                    \
	static inline void type##_freep(struct type **p)                                                     \
	{                                                                                                    \
		type##_free(*p);                                                                             \
	}                                                                                                    \
	struct type
/* Moves the pointer (or, with TAKE_FD, the descriptor) out of its variable. */
#define TAKE(p)                                                                                              \
	({                                                                                                   \
		__typeof__(p) taken_ = (p);                                                                  \
		(p) = NULL;                                                                                  \
		taken_;                                                                                      \
	})
#define TAKE_FD(fd)                                                                                          \
	({                                                                                                   \
		int taken_ = (fd);                                                                           \
		(fd) = -1;                                                                                   \
		taken_;                                                                                      \
	})

#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static inline void mem_freep(void *p)
{
	mem_free(*(void **)p);
}

static inline void fd_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
