/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG by libspng. It gets to see only the chunks that make the image (IHDR, PLTE, IDAT, IEND): profiles, texts and the
 * further frames of an APNG are stepped over here, so that nothing in them costs memory or can make an image bad.
 */
#include "media/image.h"

#include <string.h>

#include <spng.h>

#include "base/rd.h"
#include "media/exif.h"
#include "media/pixel.h"
#include "media/scratch.h"

#define SIGNATURE_BYTES 8
#define CHUNK_EXTRA_BYTES 12	/* length, type, checksum */

struct chunk {
	const uint8_t *type;	/* 4 letters */
	const uint8_t *data;
	size_t n;
};

struct png {
	spng_ctx *ctx;
	const uint8_t *at, *run_end, *end; /* what libspng reads: at..run_end now, then further chunks up to end */
	uint8_t color_type, depth, interlaced;
	/* Of png_begin(). */
	enum spng_format format;
	row_fn *convert;
	size_t pixel_bytes, row_bytes;
	uint8_t *whole;	/* when interlaced */
	uint32_t y;	/* the row that comes next */
};

/* Steps over one chunk; false at the end, or when the rest is cut off. */
static bool next_chunk(struct rd *rd, struct chunk *ret)
{
	uint32_t n = rd_be32(rd);

	ret->type = rd_bytes(rd, 4);
	ret->n = n;
	ret->data = rd_bytes(rd, n);
	rd_skip(rd, 4);
	return !rd->bad;
}

static bool chunk_is(const uint8_t *type, const char *name)
{
	return memcmp(type, name, 4) == 0;
}

/* Ancillary chunks have a small first letter (PNG, 5.4). */
static bool is_ancillary(const uint8_t *type)
{
	return type[0] & 0x20;
}

/* Gives libspng the stream without its ancillary chunks. A chunk that is cut off is passed on as far as it goes. */
static void next_run(struct png *p)
{
	while (p->at == p->run_end && (size_t)(p->end - p->at) >= CHUNK_EXTRA_BYTES) {
		struct rd rd = rd_of(p->at, (size_t)(p->end - p->at));
		size_t n = (size_t)rd_be32(&rd) + CHUNK_EXTRA_BYTES;

		n = MIN(n, (size_t)(p->end - p->at));
		p->run_end += n;
		if (is_ancillary(p->at + 4))
			p->at = p->run_end;
	}
}

static int on_read(spng_ctx *ctx, void *user, void *dest, size_t n)
{
	struct png *p = user;
	uint8_t *to = dest;

	while (n > 0) {
		size_t part;

		next_run(p);
		part = MIN(n, (size_t)(p->run_end - p->at));
		if (part == 0)
			return SPNG_IO_EOF;
		memcpy(to, p->at, part);
		p->at += part;
		to += part;
		n -= part;
	}
	return 0;
}

/*
 * zlib's window is allocated in the middle of decoding, where libspng takes its failure for a broken stream; an image must
 * not be called bad because memory was short, so that is noted here.
 */
static _Thread_local bool memory_was_short;

static void *noted(void *p)
{
	memory_was_short |= !p;
	return p;
}

static void *alloc_bytes(size_t n_bytes)
{
	return noted(mem_alloc(n_bytes));
}

static void *alloc_zeros(size_t n, size_t size)
{
	return noted(mem_calloc(n, size));
}

static void *realloc_bytes(void *p, size_t n_bytes)
{
	return noted(mem_realloc(p, n_bytes, 1));
}

static int png_fail(struct image *im, int code)
{
	return memory_was_short ? -ENOMEM : image_fail(im, E_BAD_SAMPLE, "%s", spng_strerror(code));
}

/* Orientation may stand anywhere, so all chunks are looked at; those after what is cut off are lost. */
static uint8_t find_orientation(const struct image *im)
{
	struct rd rd = rd_of(im->in + SIGNATURE_BYTES, im->n - SIGNATURE_BYTES);
	struct chunk chunk;

	while (next_chunk(&rd, &chunk)) {
		if (chunk_is(chunk.type, "eXIf"))
			return exif_orientation(chunk.data, chunk.n);
	}
	return 1;
}

static int read_header(struct image *im, struct png *p)
{
	struct spng_ihdr ihdr;
	int r;

	r = spng_set_png_stream(p->ctx, on_read, p);
	r = r ? r : spng_get_ihdr(p->ctx, &ihdr);
	if (r)
		return png_fail(im, r);
	im->info.w = ihdr.width;
	im->info.h = ihdr.height;
	im->info.progressive = ihdr.interlace_method != 0;
	im->info.orientation = find_orientation(im);
	im->c = ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE || ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ? 1 : 3;
	p->color_type = ihdr.color_type;
	p->depth = ihdr.bit_depth;
	p->interlaced = ihdr.interlace_method;
	return 0;
}

static int png_open(struct image *im)
{
	struct spng_alloc alloc = {
		.malloc_fn = alloc_bytes, .realloc_fn = realloc_bytes, .calloc_fn = alloc_zeros, .free_fn = mem_free};
	struct png *p = mem_zalloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	memory_was_short = false;
	im->state = p;
	p->at = im->in;
	p->run_end = im->in + SIGNATURE_BYTES;
	p->end = im->in + im->n;
	p->ctx = spng_ctx_new2(&alloc, 0);
	if (!p->ctx)
		return -ENOMEM;
	return read_header(im, p);
}

/* libspng gives 8-bit grey of grey images up to 8 bits, and 8-bit colour of everything (16 bits: the high byte). */
static enum spng_format pick_format(const struct png *p)
{
	return p->color_type == SPNG_COLOR_TYPE_GRAYSCALE && p->depth <= 8 ? SPNG_FMT_G8 : SPNG_FMT_RGB8;
}

static row_fn *pick_conversion(const struct image *im, enum spng_format format, uint32_t c)
{
	if (format == SPNG_FMT_G8)
		return row_gray;
	if (c == 3)
		return row_rgb;
	return im->c == 1 ? row_rgb_to_red : row_rgb_to_gray;
}

/* Interlaced: every pass touches every part. */
static int decode_whole(struct image *im)
{
	struct png *p = im->state;
	int r = scratch_get(SCRATCH_WHOLE, p->row_bytes * im->info.h, &p->whole);

	if (r < 0)
		return r;
	r = spng_decode_image(p->ctx, p->whole, p->row_bytes * im->info.h, p->format, 0);
	return r ? png_fail(im, r) : 0;
}

/* The next row of the stored image; *ret until the next one is read. */
static int next_row(struct image *im, const uint8_t **ret)
{
	struct png *p = im->state;
	uint8_t *line;
	int r;

	if (p->interlaced) {
		*ret = p->whole + p->row_bytes * p->y++;
		return 0;
	}
	r = scratch_get(SCRATCH_LINE, p->row_bytes, &line);
	if (r < 0)
		return r;
	*ret = line;
	r = spng_decode_row(p->ctx, line, p->row_bytes);
	if (r == SPNG_EOI && p->y + 1 == im->info.h)
		r = 0;
	p->y++;
	return r ? png_fail(im, r) : 0;
}

static int png_begin(struct image *im)
{
	struct png *p = im->state;
	const uint8_t *row;
	int r;

	p->format = pick_format(p);
	p->convert = pick_conversion(im, p->format, im->out_c);
	p->pixel_bytes = p->format == SPNG_FMT_G8 ? 1 : 3;
	p->row_bytes = p->pixel_bytes * im->info.w;
	if (p->interlaced) {
		p->y = im->box.y;
		return decode_whole(im);
	}
	r = spng_decode_image(p->ctx, NULL, 0, p->format, SPNG_DECODE_PROGRESSIVE);
	r = r ? png_fail(im, r) : 0;
	while (r == 0 && p->y < im->box.y)
		r = next_row(im, &row);
	return r;
}

static int png_rows(struct image *im, const struct plane *to)
{
	struct png *p = im->state;
	const uint8_t *row;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < to->h; i++) {
		r = next_row(im, &row);
		if (r == 0)
			p->convert(plane_row(to, i), row + p->pixel_bytes * im->box.x, to->w);
	}
	return r;
}

static void png_close(struct image *im)
{
	struct png *p = TAKE(im->state);

	if (p)
		spng_ctx_free(p->ctx);
	mem_free(p);
}

static bool png_sniff(const uint8_t *in, size_t n)
{
	return n > SIGNATURE_BYTES && memcmp(in, "\x89PNG\r\n\x1a\n", SIGNATURE_BYTES) == 0;
}

const struct format format_png = {
	.id = MEDIA_PNG,
	.name = "PNG",
	.sniff = png_sniff,
	.open = png_open,
	.begin = png_begin,
	.rows = png_rows,
	.close = png_close,
};
