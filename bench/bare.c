/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare program: the least that one writes to have what bench/picture makes, in plain C and nothing around it. libjpeg
 * decodes the rows and columns that the crop needs, Pillow 13's integer resize follows, flip, float32 CHW by a table.
 * Only pictures, boxes and the clock are shared with olddog, so both must print the same digest.
 * Usage: bare N PICTURE.. ; prints one line of JSON. Any error ends it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/scope.h"
#include "bench/pictures.h"
#include "media/draw.h"

#define SIDE BENCH_SIDE
#define BITS 22
#define MAX_SIDE 65536

/* Weights of one axis: bilinear, stretched when it shrinks. */
struct axis {
	int first[SIDE], n[SIDE], taps;
	int *weights;
};

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

static void axis_make(struct axis *a, int in)
{
	double scale = (double)in / SIDE, stretch = MAX(scale, 1.0);

	a->taps = 2 * ((int)stretch + ((int)stretch < stretch)) + 1;
	a->weights = need(realloc(a->weights, sizeof(int) * SIDE * (size_t)a->taps));
	for (int i = 0; i < SIDE; i++) {
		static double w[MAX_SIDE];
		double center = (i + 0.5) * scale, sum = 0.0;
		int first = MAX(0, (int)(center - stretch + 0.5)), n = MIN(in, (int)(center + stretch + 0.5)) - first;

		for (int k = 0; k < n; k++) {
			double x = (first + k - center + 0.5) * (1.0 / stretch);

			x = x < 0.0 ? -x : x;
			sum += w[k] = x < 1.0 ? 1.0 - x : 0.0;
		}
		for (int k = 0; k < n; k++)
			a->weights[i * a->taps + k] = (int)(w[k] / sum * (1 << BITS) + 0.5);
		a->first[i] = first;
		a->n[i] = n;
	}
}

static unsigned char clamped(int sum)
{
	return (unsigned char)MAX(0, MIN(sum >> BITS, 255));
}

static void horizontal(const struct axis *a, const unsigned char *from, int w, int h, unsigned char *to)
{
	for (int y = 0; y < h; y++, from += 3 * w, to += 3 * SIDE) {
		for (int i = 0; i < SIDE; i++) {
			const int *weights = a->weights + i * a->taps;
			const unsigned char *p = from + 3 * a->first[i];
			int r = 1 << (BITS - 1), g = r, b = r;

			for (int k = 0; k < a->n[i]; k++) {
				r += weights[k] * p[3 * k];
				g += weights[k] * p[3 * k + 1];
				b += weights[k] * p[3 * k + 2];
			}
			to[3 * i] = clamped(r);
			to[3 * i + 1] = clamped(g);
			to[3 * i + 2] = clamped(b);
		}
	}
}

static void vertical(const struct axis *a, const unsigned char *from, int w, unsigned char *to)
{
	static int sums[3 * MAX_SIDE];

	for (int i = 0; i < SIDE; i++, to += 3 * w) {
		for (int x = 0; x < 3 * w; x++)
			sums[x] = 1 << (BITS - 1);
		for (int k = 0; k < a->n[i]; k++) {
			const unsigned char *p = from + 3 * w * (a->first[i] + k);
			int weight = a->weights[i * a->taps + k], n = 3 * w;

			for (int x = 0; x < n; x++)
				sums[x] += weight * p[x];
		}
		for (int x = 0; x < 3 * w; x++)
			to[x] = clamped(sums[x]);
	}
}

/* Returns where the result is: in p or in one of the two other buffers. */
static unsigned char *resize(unsigned char *p, int w, int h, unsigned char *a, unsigned char *b)
{
	static struct axis x, y;
	bool vertical_first = h - SIDE > 0 && h - SIDE > 2 * (w - SIDE);

	axis_make(&x, w);
	axis_make(&y, h);
	if (vertical_first && h != SIDE)
		vertical(&y, p, w, a);
	else if (w != SIDE)
		horizontal(&x, p, w, h, a);
	else
		a = p;
	if (vertical_first ? w == SIDE : h == SIDE)
		return a;
	if (vertical_first)
		horizontal(&x, a, w, SIDE, b);
	else
		vertical(&y, a, SIDE, b);
	return b;
}

/* One column more on each side: upsampling of colour looks at its neighbours. */
static void decode(struct jpeg_decompress_struct *j, const struct box *box, unsigned char *to)
{
	JDIMENSION x = box->x ? box->x - 1 : 0, w = MIN(box->x + box->w + 1, j->output_width) - x;
	static unsigned char line[3 * MAX_SIDE];
	JSAMPROW row = line;

	if (w < j->output_width)
		jpeg_crop_scanline(j, &x, &w);
	else
		x = 0;
	jpeg_skip_scanlines(j, box->y);
	for (unsigned i = 0; i < box->h; i++, to += 3 * box->w) {
		jpeg_read_scanlines(j, &row, 1);
		memcpy(to, line + 3 * (box->x - x), 3 * box->w);
	}
}

static void flip_and_normalize(const unsigned char *p, bool flip, float table[3][256], float *restrict to)
{
	for (int y = 0; y < SIDE; y++, p += 3 * SIDE) {
		const unsigned char *q = flip ? p + 3 * (SIDE - 1) : p;

		for (int x = 0; x < SIDE; x++, q += flip ? -3 : 3, to++) {
			to[0] = table[0][q[0]];
			to[SIDE * SIDE] = table[1][q[1]];
			to[2 * SIDE * SIDE] = table[2][q[2]];
		}
	}
}

int main(int argc, char **argv)
{
	static unsigned char pixels[3][1 << 24];
	static float out[BENCH_PIXELS], table[3][256];
	struct recipe recipe = bench_recipe();
	const struct recipe_field *field = &recipe.fields[0];
	struct jpeg_decompress_struct j;
	struct jpeg_error_mgr errors;
	struct bench_sums sums;
	struct pictures pictures;

	if (pictures_load(argc, argv, &pictures) < 0)
		return 1;
	for (int i = 0; i < 3 * 256; i++)
		table[i / 256][i % 256] = (float)((i % 256 / 255.0 - field->mean[i / 256]) / field->std[i / 256]);
	j.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&j);
	bench_begin(&sums);
	for (uint64_t i = 0; i < pictures.n_runs; i++) {
		const struct picture *p = &pictures.all[i % pictures.n];
		struct draw crop = {.step = &field->steps[0], .position = i}, flip = {.step = &field->steps[1], .position = i};
		struct box box;

		jpeg_mem_src(&j, p->bytes, p->n);
		jpeg_read_header(&j, TRUE);
		j.out_color_space = JCS_RGB;
		jpeg_start_decompress(&j);
		box = draw_resized_crop(&crop, j.output_width, j.output_height);
		if ((size_t)3 * box.w * MAX(box.h, SIDE) > sizeof(pixels[0]) || 3u * SIDE * box.h > sizeof(pixels[0]))
			return 1;
		decode(&j, &box, pixels[0]);
		jpeg_abort_decompress(&j);
		flip_and_normalize(resize(pixels[0], (int)box.w, (int)box.h, pixels[1], pixels[2]), draw_happens(&flip), table, out);
		bench_add(&sums, out, sizeof(out));
	}
	bench_print(&sums, pictures.n_runs);
	jpeg_destroy_decompress(&j);
	pictures_release(&pictures);
	return 0;
}
