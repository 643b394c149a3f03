/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG by libjpeg-turbo, with its defaults of accurate integer DCT and smooth chroma upsampling, which are bit-equal from
 * 2.1.5 to 3.2. The library reports errors by a jump, so all calls of it are made inside functions that guarded() runs:
 * these keep nothing of their own that would have to be released.
 */
#include "media/image.h"

#include <setjmp.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "media/exif.h"
#include "media/pixel.h"
#include "media/scratch.h"

#define APP1 (JPEG_APP0 + 1)
/*
 * A progressive picture has about ten scans. A hostile file could have one for each few bytes, and each passes over all
 * its pixels: large images may have fewer.
 */
#define MIN_SCANS_ALLOWED 16
#define MAX_SCANS_ALLOWED 128
#define MAX_SCANNED_PIXELS ((uint64_t)1 << 31)

struct jpeg {
	struct jpeg_decompress_struct cinfo;
	struct jpeg_error_mgr err;
	struct jpeg_progress_mgr progress;
	jmp_buf jump;
	struct image *im;
	row_fn *convert;		/* from what the library gives */
	uint32_t first_x;		/* the column that its rows begin with */
	const struct plane *to;		/* of jpeg_rows */
	int r;				/* why it jumped */
};

static struct jpeg *jpeg_of(j_common_ptr cinfo)
{
	return cinfo->client_data;
}

static bool is_refused(int msg_code)
{
	return msg_code == JERR_BAD_PRECISION || msg_code == JERR_SOF_UNSUPPORTED || msg_code == JERR_CONVERSION_NOTIMPL ||
		msg_code == JERR_ARITH_NOTIMPL || msg_code == JERR_IMAGE_TOO_BIG || msg_code == JERR_COMPONENT_COUNT;
}

static int error_code(int msg_code)
{
	if (msg_code == JERR_OUT_OF_MEMORY || msg_code == JERR_NO_BACKING_STORE)
		return -ENOMEM;
	return is_refused(msg_code) ? E_REFUSED_SAMPLE : E_BAD_SAMPLE;
}

/* The entropy-coded data are not what they should be: what the decoder makes of them from here on is invented. */
static bool is_damage(int msg_code)
{
	return msg_code == JWRN_HIT_MARKER || msg_code == JWRN_HUFF_BAD_CODE || msg_code == JWRN_MUST_RESYNC ||
		msg_code == JWRN_JPEG_EOF || msg_code == JWRN_ARITH_BAD_CODE;
}

static __attribute__((noreturn)) void jump_out(struct jpeg *j, int code)
{
	j->r = code;
	longjmp(j->jump, 1);
}

static void on_error(j_common_ptr cinfo)
{
	struct jpeg *j = jpeg_of(cinfo);
	char text[JMSG_LENGTH_MAX];

	j->err.format_message(cinfo, text);
	jump_out(j, image_fail(j->im, error_code(j->err.msg_code), "%.120s", text));
}

/*
 * Decoding runs through the entropy-coded rows above a box as well, and never past its last, so damage that is seen lies
 * in a row that the box needs.
 */
static void on_message(j_common_ptr cinfo, int level)
{
	struct jpeg *j = jpeg_of(cinfo);
	char text[JMSG_LENGTH_MAX];

	if (level >= 0)
		return;
	j->im->n_warnings++;
	if (!is_damage(j->err.msg_code))
		return;
	j->err.format_message(cinfo, text);
	jump_out(j, image_fail(j->im, E_BAD_SAMPLE, "%.90s (by row %u of %u)", text, j->cinfo.output_scanline,
		j->cinfo.image_height));
}

static void on_output(j_common_ptr cinfo)
{
}

static uint32_t scans_allowed(const struct jpeg_decompress_struct *cinfo)
{
	uint64_t n = MAX_SCANNED_PIXELS / ((uint64_t)cinfo->image_width * cinfo->image_height);

	return (uint32_t)MAX(MIN_SCANS_ALLOWED, MIN(n, MAX_SCANS_ALLOWED));
}

static void on_progress(j_common_ptr cinfo)
{
	struct jpeg *j = jpeg_of(cinfo);
	uint32_t allowed = scans_allowed(&j->cinfo);

	if (j->cinfo.input_scan_number > (int)allowed)
		jump_out(j, image_fail(j->im, E_LIMIT, "more than %u scans of so many pixels", allowed));
}

/* The one place that jumps land in. */
static int guarded(struct jpeg *j, void (*fn)(struct jpeg *j))
{
	j->r = 0;
	if (setjmp(j->jump) == 0)
		fn(j);
	return j->r;
}

static uint8_t saved_orientation(const struct jpeg_decompress_struct *cinfo)
{
	for (jpeg_saved_marker_ptr m = cinfo->marker_list; m; m = m->next) {
		if (m->data_length >= 6 && memcmp(m->data, "Exif\0", 6) == 0)
			return exif_orientation(m->data, m->data_length);
	}
	return 1;
}

static void open_inside(struct jpeg *j)
{
	struct jpeg_decompress_struct *cinfo = &j->cinfo;
	struct image *im = j->im;

	jpeg_create_decompress(cinfo);
	cinfo->progress = &j->progress;
	jpeg_mem_src(cinfo, im->in, im->n);
	jpeg_save_markers(cinfo, APP1, 0xffff);
	jpeg_read_header(cinfo, TRUE);
	im->info.w = cinfo->image_width;
	im->info.h = cinfo->image_height;
	im->info.progressive = cinfo->progressive_mode;
	im->info.orientation = saved_orientation(cinfo);
	im->c = cinfo->num_components == 1 ? 1 : 3;
}

static int jpeg_open(struct image *im)
{
	struct jpeg *j = mem_zalloc(sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	im->state = j;
	j->im = im;
	j->cinfo.err = jpeg_std_error(&j->err);
	j->cinfo.client_data = j;
	j->err.error_exit = on_error;
	j->err.emit_message = on_message;
	j->err.output_message = on_output;
	j->progress.progress_monitor = on_progress;
	r = guarded(j, open_inside);
	if (r == 0 && j->cinfo.num_components == 2)
		return image_fail(im, E_REFUSED_SAMPLE, "two components: neither grey, colour nor CMYK");
	return r;
}

/* What the library gives for each pixel, and how that becomes what is wanted. */
static row_fn *choose_conversion(struct jpeg_decompress_struct *cinfo, uint32_t c)
{
	if (cinfo->num_components == 1) {
		cinfo->out_color_space = JCS_GRAYSCALE;
		return row_gray;
	}
	if (cinfo->num_components == 4) {
		cinfo->out_color_space = JCS_CMYK;
		return c == 1 ? row_cmyk_to_gray : row_cmyk_to_rgb;
	}
	cinfo->out_color_space = JCS_RGB;
	return c == 1 ? row_rgb_to_gray : row_rgb;
}

/*
 * Narrows the output to the box's columns and one more on each side, where there is one: with subsampled chroma the
 * outermost column lacks the neighbour that upsampling looks at. Returns the column that output then begins at.
 */
static uint32_t crop_columns(struct jpeg *j)
{
	const struct box *box = &j->im->box;
	JDIMENSION x = box->x > 0 ? box->x - 1 : 0;
	JDIMENSION end = MIN(box->x + box->w + 1, j->cinfo.output_width), w = end - x;

	if (w == j->cinfo.output_width)
		return 0;
	jpeg_crop_scanline(&j->cinfo, &x, &w);
	return x;
}

static void skip_rows(struct jpeg *j, uint32_t n)
{
	if (n > 0 && jpeg_skip_scanlines(&j->cinfo, n) != n)
		jump_out(j, image_fail(j->im, E_BAD_SAMPLE, "rows are missing"));
}

static void begin_inside(struct jpeg *j)
{
	struct jpeg_decompress_struct *cinfo = &j->cinfo;

	j->convert = choose_conversion(cinfo, j->im->out_c);
	/*
	 * A progressive file may end before its coefficients have all their bits. How the library then smooths blocks
	 * by their neighbours changed between 2.1 and 3.2, and a region would differ from the whole.
	 */
	cinfo->do_block_smoothing = FALSE;
	jpeg_start_decompress(cinfo);
	j->first_x = crop_columns(j);
	skip_rows(j, j->im->box.y);
}

static int jpeg_begin(struct image *im)
{
	return guarded(im->state, begin_inside);
}

/* The library gives a row or two at a time: those of one row of its chroma. */
#define ROWS_AT_ONCE 8

/* p: where row 0 of to->h goes. */
static void read_rows(struct jpeg *j, uint8_t *p, size_t stride, uint32_t n)
{
	JSAMPROW rows[ROWS_AT_ONCE];

	for (uint32_t n_done = 0; n_done < n;) {
		uint32_t n_wanted = MIN(n - n_done, ROWS_AT_ONCE), n_got;

		for (uint32_t i = 0; i < n_wanted; i++)
			rows[i] = p + (n_done + i) * stride;
		n_got = jpeg_read_scanlines(&j->cinfo, rows, n_wanted);
		if (n_got == 0)
			jump_out(j, image_fail(j->im, E_BAD_SAMPLE, "rows are missing"));
		n_done += n_got;
	}
}

/* Whether what is decoded beside the box fits into the slack of the plane, so that rows need no copy. */
static bool is_direct(const struct jpeg *j, const struct plane *to)
{
	uint32_t left = j->im->box.x - j->first_x, right = j->cinfo.output_width - left - to->w;

	return (j->convert == row_rgb || j->convert == row_gray) && left <= to->slack && right <= to->slack;
}

static void rows_inside(struct jpeg *j)
{
	const struct plane *to = j->to;
	size_t before = (size_t)(j->im->box.x - j->first_x) * (size_t)j->cinfo.output_components;
	uint8_t *line;

	if (is_direct(j, to)) {
		read_rows(j, to->p - before, to->stride, to->h);
		return;
	}
	j->r = scratch_get(SCRATCH_LINE, (size_t)j->cinfo.output_width * (size_t)j->cinfo.output_components, &line);
	for (uint32_t i = 0; j->r == 0 && i < to->h; i++) {
		read_rows(j, line, 0, 1);
		j->convert(plane_row(to, i), line + before, to->w);
	}
}

static int jpeg_rows(struct image *im, const struct plane *to)
{
	struct jpeg *j = im->state;

	j->to = to;
	return guarded(j, rows_inside);
}

static void destroy_inside(struct jpeg *j)
{
	jpeg_destroy_decompress(&j->cinfo);
}

static void jpeg_close(struct image *im)
{
	if (im->state)
		(void)guarded(im->state, destroy_inside);
	mem_free(TAKE(im->state));
}

static bool jpeg_sniff(const uint8_t *in, size_t n)
{
	return n >= 3 && memcmp(in, "\xff\xd8\xff", 3) == 0;
}

const struct format format_jpeg = {
	.id = MEDIA_JPEG,
	.name = "JPEG",
	.sniff = jpeg_sniff,
	.open = jpeg_open,
	.begin = jpeg_begin,
	.rows = jpeg_rows,
	.close = jpeg_close,
};
