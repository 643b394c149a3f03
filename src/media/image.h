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
	 * Makes ready to decode im->box of the stored image with im->out_c channels; 1 of a colour image means grey. The
	 * pixels do not depend on how much is decoded. Once for an image. As open, and E_LIMIT.
	 */
	int (*begin)(struct image *im);
	/* The box's next to->h rows; to has its width and channels. As begin. */
	int (*rows)(struct image *im, const struct plane *to);
	void (*close)(struct image *im);
};

struct image {
	const struct format *format;
	const uint8_t *in;	/* the caller's */
	size_t n;
	struct media_info info;
	uint32_t c;		/* 1: grey, 3: colour */
	struct box box;		/* of image_begin() */
	uint32_t out_c;
	uint32_t n_read;	/* rows of it */
	uint32_t n_warnings;
	void *state;		/* the format's */
	char words[160];
};

/* So much to->slack and a decoder need not copy rows that begin before the box and end behind it. */
#define IMAGE_SLACK 40

extern const struct format format_jpeg, format_png, format_webp;

/* Finds the format and reads the header. When it fails, words say why, and image_close() is not needed. */
int image_open(struct image *im, const uint8_t *in, size_t n);
int image_begin(struct image *im, struct box box, uint32_t c);
int image_rows(struct image *im, const struct plane *to);
void image_close(struct image *im);

/* Sets words ("JPEG: ...") and returns code. */
int image_fail(struct image *im, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
