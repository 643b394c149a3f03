/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebP by libwebp. An animated file gives its first frame, laid on a canvas of black, as Pillow gives it once alpha is
 * dropped. libwebp cannot decode a region exactly, so the frame is decoded whole.
 */
#include "media/image.h"

#include <errno.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "media/exif.h"
#include "media/pixel.h"
#include "media/scratch.h"

struct webp {
	WebPDemuxer *demux;
	WebPDemuxState state;
	struct plane canvas; /* of webp_begin() */
};

static uint8_t find_orientation(const WebPDemuxer *demux)
{
	WebPChunkIterator it;
	uint8_t found = 1;

	if (WebPDemuxGetChunk(demux, "EXIF", 1, &it))
		found = exif_orientation(it.chunk.bytes, it.chunk.size);
	WebPDemuxReleaseChunkIterator(&it);
	return found;
}

/*
 * libwebp does not always tell a failed allocation from broken data, and an image must not be called bad because memory
 * was short; but malloc() leaves its mark in errno, which callers clear before.
 */
static int webp_fail(struct image *im, const char *words)
{
	return errno == ENOMEM ? -ENOMEM : image_fail(im, E_BAD_SAMPLE, "%s", words);
}

static int webp_open(struct image *im)
{
	const WebPData data = {.bytes = im->in, .size = im->n};
	struct webp *w = mem_zalloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	im->state = w;
	errno = 0;
	w->demux = WebPDemuxPartial(&data, &w->state);
	if (!w->demux || w->state < WEBP_DEMUX_PARSED_HEADER)
		return webp_fail(im, "the header is broken or cut off");
	im->info.w = WebPDemuxGetI(w->demux, WEBP_FF_CANVAS_WIDTH);
	im->info.h = WebPDemuxGetI(w->demux, WEBP_FF_CANVAS_HEIGHT);
	im->info.orientation = find_orientation(w->demux);
	im->c = 3;
	return 0;
}

static int status_code(struct image *im, VP8StatusCode status)
{
	if (status == VP8_STATUS_OUT_OF_MEMORY)
		return -ENOMEM;
	if (status == VP8_STATUS_UNSUPPORTED_FEATURE)
		return image_fail(im, E_REFUSED_SAMPLE, "a feature that libwebp does not have");
	return webp_fail(im, "the data are broken or cut off");
}

/* Into its place on the canvas, which the demuxer has checked it to lie within. */
static int decode_frame(struct image *im, const WebPIterator *frame, const struct plane *canvas)
{
	uint8_t *p = plane_row(canvas, (uint32_t)frame->y_offset) + (size_t)3 * (uint32_t)frame->x_offset;
	WebPDecoderConfig config;
	VP8StatusCode status;

	if (!WebPInitDecoderConfig(&config))
		return image_fail(im, E_REFUSED_SAMPLE, "libwebp is of another version than its headers");
	config.output.colorspace = MODE_RGB;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba = p;
	config.output.u.RGBA.stride = (int)canvas->stride;
	config.output.u.RGBA.size = (size_t)(canvas->p + canvas->stride * canvas->h - p);
	errno = 0;
	status = WebPDecode(frame->fragment.bytes, frame->fragment.size, &config);
	return status == VP8_STATUS_OK ? 0 : status_code(im, status);
}

static int decode_canvas(struct image *im, const struct plane *canvas)
{
	struct webp *w = im->state;
	WebPIterator frame;
	int r;

	if (w->state != WEBP_DEMUX_DONE)
		return image_fail(im, E_BAD_SAMPLE, "the file is cut off");
	if (!WebPDemuxGetFrame(w->demux, 1, &frame))
		return image_fail(im, E_BAD_SAMPLE, "there is no frame in it");
	if ((uint32_t)frame.width != canvas->w || (uint32_t)frame.height != canvas->h)
		memset(canvas->p, 0, canvas->stride * canvas->h);
	r = decode_frame(im, &frame, canvas);
	WebPDemuxReleaseIterator(&frame);
	return r;
}

static int webp_begin(struct image *im)
{
	struct webp *w = im->state;
	int r;

	w->canvas = (struct plane){.w = im->info.w, .h = im->info.h, .c = 3, .stride = (size_t)3 * im->info.w};
	r = scratch_get(SCRATCH_WHOLE, w->canvas.stride * w->canvas.h, &w->canvas.p);
	return r < 0 ? r : decode_canvas(im, &w->canvas);
}

static int webp_rows(struct image *im, const struct plane *to)
{
	const struct webp *w = im->state;
	row_fn *convert = im->out_c == 1 ? row_rgb_to_gray : row_rgb;

	for (uint32_t i = 0; i < to->h; i++)
		convert(plane_row(to, i), plane_row(&w->canvas, im->box.y + im->n_read + i) + (size_t)3 * im->box.x, to->w);
	return 0;
}

static void webp_close(struct image *im)
{
	struct webp *w = TAKE(im->state);

	if (w)
		WebPDemuxDelete(w->demux);
	mem_free(w);
}

static bool webp_sniff(const uint8_t *in, size_t n)
{
	return n >= 12 && memcmp(in, "RIFF", 4) == 0 && memcmp(in + 8, "WEBP", 4) == 0;
}

const struct format format_webp = {
	.id = MEDIA_WEBP,
	.name = "WebP",
	.sniff = webp_sniff,
	.open = webp_open,
	.begin = webp_begin,
	.rows = webp_rows,
	.close = webp_close,
};
