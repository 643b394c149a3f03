/* SPDX-License-Identifier: Apache-2.0 */
/* Tiny images of every kind that media decodes, for its fingerprint and for tests. golden.py makes them. */
#ifndef OLDDOG_MEDIA_GOLDEN_H
#define OLDDOG_MEDIA_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

struct golden {
	const char *name;
	const uint8_t *p;
	size_t n;
};

extern const struct golden golden_images[];
extern const unsigned n_golden_images;

#endif
