/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pixels as a PNG file, by zlib alone (the program links no image library): 8 bits a channel, no filters, no
 * interlacing (PNG specification, W3C 2003, sections 5, 10 and 11.2).
 */
#ifndef OLDDOG_CLI_PNG_WRITE_H
#define OLDDOG_CLI_PNG_WRITE_H

#include <stdint.h>

#include "base/buf.h"

/* Appends the whole file. pixels: h * w * c bytes, c 1 to 4 (grey, grey + alpha, RGB, RGBA). -EINVAL, -ENOMEM, -E2BIG. */
int png_write(const uint8_t *pixels, uint32_t h, uint32_t w, uint32_t c, struct buf *to);

#endif
