/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. */
#include "media/image.h"

#include <stdarg.h>
#include <string.h>

static const struct format *const formats[] = {&format_jpeg, &format_png, &format_webp};

/* Known, and not built in: refused by name, so that nobody looks for damage. */
static const struct {
	const char *name;
	uint8_t offset, n;
	char magic[9];
} others[] = {
	{"GIF", 0, 4, "GIF8"},
	{"TIFF", 0, 4, "II*\0"},
	{"TIFF", 0, 4, "MM\0*"},
	{"BMP", 0, 2, "BM"},
	{"JPEG 2000", 4, 8, "jP  \r\n\x87\n"},
	{"JPEG 2000", 0, 4, "\xff\x4f\xff\x51"},
	{"JPEG XL", 4, 8, "JXL \r\n\x87\n"},
	{"JPEG XL", 0, 2, "\xff\x0a"},
	{"AVIF", 4, 8, "ftypavif"},
	{"HEIF", 4, 8, "ftypheic"},
	{"HEIF", 4, 8, "ftypmif1"},
};

static int refuse_unknown(struct image *im)
{
	for (unsigned i = 0; i < N_ELEMS(others); i++) {
		if (im->n >= (size_t)others[i].offset + others[i].n &&
			memcmp(im->in + others[i].offset, others[i].magic, others[i].n) == 0)
			return image_fail(im, E_REFUSED_SAMPLE, "%s is not decoded here, only JPEG, PNG and WebP",
				others[i].name);
	}
	return image_fail(im, E_BAD_SAMPLE, "these %zu bytes do not begin as JPEG, PNG or WebP", im->n);
}

int image_fail(struct image *im, int code, const char *fmt, ...)
{
	int n = snprintf(im->words, sizeof(im->words), "%s: ", im->format ? im->format->name : "image");
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(im->words + n, sizeof(im->words) - (size_t)n, fmt, ap);
	va_end(ap);
	return code;
}

int image_open(struct image *im, const uint8_t *in, size_t n)
{
	int r;

	*im = (struct image){.in = in, .n = n, .info.orientation = 1};
	for (unsigned i = 0; i < N_ELEMS(formats) && !im->format; i++) {
		if (formats[i]->sniff(in, n))
			im->format = formats[i];
	}
	if (!im->format)
		return refuse_unknown(im);
	im->info.format = im->format->id;
	r = im->format->open(im);
	if (r < 0)
		im->format->close(im);
	return r;
}

int image_begin(struct image *im, struct box box, uint32_t c)
{
	im->box = box;
	im->out_c = c;
	im->n_read = 0;
	return im->format->begin(im);
}

int image_rows(struct image *im, const struct plane *to)
{
	int r = im->format->rows(im, to);

	im->n_read += to->h;
	return r;
}

void image_close(struct image *im)
{
	im->format->close(im);
}
