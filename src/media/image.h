/* SPDX-License-Identifier: Apache-2.0 */
/* An encoded image that is being read, and the table of formats: each is one file and one line in formats.c. */
#ifndef OLDDOG_MEDIA_IMAGE_H
#define OLDDOG_MEDIA_IMAGE_H

#include <stdbool.h>

#include "base/scope.h"
#include "media/media.h"
#include "media/plane.h"

struct image;

struct format {
	enum media_format id;
	const char *name;
	bool (*sniff)(const uint8_t *in, size_t n);
	/* Reads the header into im->info and im->c; allocates im->state. 0, E_BAD_SAMPLE, E_REFUSED_SAMPLE, -ENOMEM. */
	int (*open)(struct image *im);
	/*
	 * Decodes a box of the stored image into to, whose size is the box's; to->c == 1 of a colour image means grey.
	 * The pixels do not depend on how much is decoded. Once for an image. As open, and E_LIMIT.
	 */
	int (*read)(struct image *im, struct box box, const struct plane *to);
	void (*close)(struct image *im);
};

struct image {
	const struct format *format;
	const uint8_t *in;	/* the caller's */
	size_t n;
	struct media_info info;
	uint32_t c;		/* 1: grey, 3: colour */
	uint32_t n_warnings;
	void *state;		/* the format's */
	char words[160];
};

extern const struct format format_jpeg, format_png, format_webp;

/* Finds the format and reads the header. When it fails, words say why, and image_close() is not needed. */
int image_open(struct image *im, const uint8_t *in, size_t n);
int image_read(struct image *im, struct box box, const struct plane *to);
void image_close(struct image *im);

/* Sets words ("JPEG: ...") and returns code. */
int image_fail(struct image *im, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
