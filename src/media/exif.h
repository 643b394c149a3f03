/* SPDX-License-Identifier: Apache-2.0 */
/* The one thing that we want of EXIF: which way up an image is (tag 0x0112 of the first directory, TIFF 6.0). */
#ifndef OLDDOG_MEDIA_EXIF_H
#define OLDDOG_MEDIA_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* Of a TIFF block, with or without "Exif\0\0" before it. 1..8; 1 when there is none, or no block. */
uint8_t exif_orientation(const uint8_t *p, size_t n);

#endif
