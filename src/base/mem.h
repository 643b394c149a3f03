/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator of everything under src/. It is libc's, with a counter before it, so that a test can make
 * the Nth allocation fail and see that every path survives that.
 */
#ifndef OLDDOG_BASE_MEM_H
#define OLDDOG_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Each returns NULL when memory is short, when n * size overflows, or when a test says so. Free with mem_free(). */
void *mem_alloc(size_t n_bytes) __attribute__((malloc, warn_unused_result));
void *mem_zalloc(size_t n_bytes) __attribute__((malloc, warn_unused_result));
void *mem_calloc(size_t n, size_t size) __attribute__((malloc, warn_unused_result));
/* As realloc(), of n * size bytes; on failure the old block stays. */
void *mem_realloc(void *p, size_t n, size_t size) __attribute__((warn_unused_result));
char *mem_strdup(const char *s) __attribute__((malloc, warn_unused_result));
/* Exactly n bytes and a NUL: unlike strndup(), it looks for no NUL in s, which may be NULL when n is 0. */
char *mem_strndup(const char *s, size_t n) __attribute__((malloc, warn_unused_result));
char *mem_printf(const char *fmt, ...) __attribute__((malloc, warn_unused_result, format(printf, 1, 2)));
void *mem_dup(const void *p, size_t n_bytes) __attribute__((malloc, warn_unused_result));
void mem_free(void *p);

/* From now on the nth allocation (1 is the next) fails, once; 0 switches that off. For tests. */
void mem_fail_nth(uint64_t n);
/* Whether the failure asked for has happened. */
int mem_failed(void);

#endif
