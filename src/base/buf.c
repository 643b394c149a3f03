/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/scope.h"

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void buf_release(struct buf *b)
{
	mem_free(b->ptr);
	buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->r = 0;
	if (b->ptr)
		b->ptr[0] = 0;
}

static int buf_reserve(struct buf *b, size_t more)
{
	size_t cap;
	uint8_t *p;

	if (b->r < 0)
		return b->r;
	if (more > b->max - b->n)
		return b->r = -E2BIG;
	if (b->cap > b->n + more)
		return 0;
	cap = MIN(MAX(b->n + more, MAX(b->cap * 2, 64)), b->max) + 1;
	p = mem_realloc(b->ptr, cap, 1);
	if (!p)
		return b->r = -ENOMEM;
	b->ptr = p;
	b->cap = cap;
	return 0;
}

uint8_t *buf_grow(struct buf *b, size_t n)
{
	uint8_t *at;

	if (buf_reserve(b, n) < 0)
		return NULL;
	at = b->ptr + b->n;
	memset(at, 0, n + 1);
	b->n += n;
	return at;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	if (buf_reserve(b, n) < 0)
		return b->r;
	if (n)
		memcpy(b->ptr + b->n, p, n);
	b->n += n;
	b->ptr[b->n] = 0;
	return 0;
}

int buf_puts(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	/* Longer than an int can say. */
	if (n < 0 && b->r == 0)
		b->r = -E2BIG;
	if (n >= 0 && buf_reserve(b, (size_t)n) == 0) {
		vsnprintf((char *)b->ptr + b->n, (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	}
	va_end(again);
	return b->r;
}

static int buf_le(struct buf *b, uint64_t v, unsigned n)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < n; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	return buf_add(b, bytes, n);
}

int buf_u8(struct buf *b, uint8_t v)
{
	return buf_le(b, v, 1);
}

int buf_u16(struct buf *b, uint16_t v)
{
	return buf_le(b, v, 2);
}

int buf_u32(struct buf *b, uint32_t v)
{
	return buf_le(b, v, 4);
}

int buf_u64(struct buf *b, uint64_t v)
{
	return buf_le(b, v, 8);
}

void *buf_take(struct buf *b, size_t *ret_n)
{
	void *p = b->r < 0 ? NULL : b->ptr;

	if (!p) {
		buf_release(b);
		return NULL;
	}
	*ret_n = b->n;
	buf_init(b, b->max);
	return p;
}
