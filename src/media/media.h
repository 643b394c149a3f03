/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and transform: encoded image in, uint8 height x width x channel out, by a field's chain, bit for bit as the
 * rules of CONTRACTS C2 and C3 say. Pure: the same bytes, recipe and position give the same pixels on every machine.
 * Compiled into olddog-worker only (and into tests and fuzz targets).
 * Makes no system call but for memory, which it keeps from one call to the next, for each thread (scratch.h).
 */
#ifndef OLDDOG_MEDIA_MEDIA_H
#define OLDDOG_MEDIA_MEDIA_H

#include <stddef.h>
#include <stdint.h>

#include "wire/recipe.h"

struct media_result {
	uint32_t h, w, c;
	uint32_t n_warnings;	/* of the decoder; they do not make a sample bad */
	char words[160];	/* when it failed */
};

/*
 * Runs the chain of an image field on the n bytes of in, for a position (its random numbers). out has capacity bytes and
 * gets h * w * c. 0; E_BAD_SAMPLE; E_REFUSED_SAMPLE; E_LIMIT (bytes and pixels of the recipe, a side above
 * RECIPE_MAX_SIDE, working memory); -ENOSPC (out is too small; h, w, c say
 * what is needed); -ENOMEM.
 */
int media_run(const struct recipe *recipe, unsigned field, uint64_t position, const uint8_t *in, size_t n, uint8_t *out,
	size_t capacity, struct media_result *ret);

enum media_format { MEDIA_JPEG = 1, MEDIA_PNG, MEDIA_WEBP };

struct media_info {
	enum media_format format;
	uint32_t h, w;		/* as stored, before orientation */
	uint8_t orientation;	/* EXIF 1..8; 1 when absent */
	uint8_t progressive;
};

/* From the head of a file, nothing decoded. E_BAD_SAMPLE, E_REFUSED_SAMPLE. */
int media_probe(const uint8_t *in, size_t n, struct media_info *ret, struct media_result *words);

/*
 * Whether the loops that cpu_set() chose give the plain loops' pixels: 1. When they do not, the plain ones are used by this
 * thread from now on: 0. -ENOMEM. For a program, before its first picture: a processor or a compiler may be wrong.
 */
int media_check_loops(void);

/* SHA-256 over what this build makes of a golden corpus. Computed once; 0, -ENOMEM. */
int media_fingerprint(uint8_t ret[32]);

#endif
