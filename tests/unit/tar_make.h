/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives for tests, one header at a time, right or wrong on purpose. */
#ifndef OLDDOG_TESTS_TAR_MAKE_H
#define OLDDOG_TESTS_TAR_MAKE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

static inline void tar_sum(uint8_t *h)
{
	unsigned sum = 8 * ' ';

	for (unsigned i = 0; i < 512; i++)
		sum += i < 148 || i >= 156 ? h[i] : 0;
	snprintf((char *)h + 148, 8, "%06o", sum & 0777777);
	h[155] = ' ';
}

/* A header of the given type; size as octal digits. Gives its place, to change it (then tar_sum() again). */
static inline uint8_t *tar_header(struct buf *to, const char *name, char type, uint64_t size)
{
	uint8_t *h = buf_grow(to, 512);

	memcpy(h, name, strlen(name) < 100 ? strlen(name) : 100);
	memcpy(h + 100, "0000644", 7);
	snprintf((char *)h + 124, 12, "%011llo", (unsigned long long)size & 077777777777);
	memcpy(h + 136, "00000000000", 11);
	h[156] = (uint8_t)type;
	memcpy(h + 257, "ustar\0" "00", 8);
	tar_sum(h);
	return h;
}

static inline void tar_data(struct buf *to, const void *p, size_t n)
{
	buf_add(to, p, n);
	buf_grow(to, (512 - n % 512) % 512);
}

static inline void tar_file(struct buf *to, const char *name, const char *text)
{
	tar_header(to, name, '0', strlen(text));
	tar_data(to, text, strlen(text));
}

static inline void tar_end(struct buf *to)
{
	buf_grow(to, 1024);
}

#endif
