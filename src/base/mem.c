/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t fail_in;	/* 0: never */
static _Atomic int failed;

static int must_fail(void)
{
	if (atomic_load_explicit(&fail_in, memory_order_relaxed) == 0)
		return 0;
	if (atomic_fetch_sub(&fail_in, 1) != 1)
		return 0;
	atomic_store(&failed, 1);
	return 1;
}

void mem_fail_nth(uint64_t n)
{
	atomic_store(&failed, 0);
	atomic_store(&fail_in, n);
}

int mem_failed(void)
{
	return atomic_load(&failed);
}

void *mem_alloc(size_t n_bytes)
{
	return must_fail() ? NULL : malloc(n_bytes ? n_bytes : 1);
}

void *mem_zalloc(size_t n_bytes)
{
	return mem_calloc(n_bytes, 1);
}

void *mem_calloc(size_t n, size_t size)
{
	return must_fail() ? NULL : calloc(n ? n : 1, size ? size : 1);
}

void *mem_realloc(void *p, size_t n, size_t size)
{
	size_t n_bytes;

	if (must_fail() || __builtin_mul_overflow(n, size, &n_bytes))
		return NULL;
	return realloc(p, n_bytes ? n_bytes : 1);
}

void *mem_dup(const void *p, size_t n_bytes)
{
	void *copy = mem_alloc(n_bytes);

	if (copy && n_bytes)
		memcpy(copy, p, n_bytes);
	return copy;
}

char *mem_strndup(const char *s, size_t n)
{
	char *copy = n < SIZE_MAX ? mem_alloc(n + 1) : NULL;

	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap, again;
	char *s;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = n < 0 ? NULL : mem_alloc((size_t)n + 1);
	if (s)
		vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	return s;
}

void mem_free(void *p)
{
	free(p);
}
