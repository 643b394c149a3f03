/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable run of bytes with a maximum. Errors are sticky: after one, appends do nothing and buf.r keeps the
 * first code, so straight-line code checks once at the end. The bytes are always followed by a NUL.
 */
#ifndef OLDDOG_BASE_BUF_H
#define OLDDOG_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *ptr;
	size_t n, cap, max;
	int r; /* 0, -ENOMEM or -E2BIG */
};

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);
/* Empties it and forgets the error; keeps the memory. */
void buf_clear(struct buf *b);
int buf_add(struct buf *b, const void *p, size_t n);
int buf_puts(struct buf *b, const char *s);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* n more bytes of zeros; the caller writes into them. NULL after an error. */
uint8_t *buf_grow(struct buf *b, size_t n);
/* Little-endian numbers. */
int buf_u8(struct buf *b, uint8_t v);
int buf_u16(struct buf *b, uint16_t v);
int buf_u32(struct buf *b, uint32_t v);
int buf_u64(struct buf *b, uint64_t v);
/* The memory becomes the caller's (mem_free); the buf is empty again. NULL after an error, or when nothing was ever added. */
void *buf_take(struct buf *b, size_t *ret_n);

#define AUTO_BUF __attribute__((cleanup(buf_release)))

#endif
