/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor: CPU milliseconds that libjpeg-turbo alone needs to decode what a random-resized-crop looks at (scale
 * 0.08..1, ratio 3/4..4/3) of each picture. No resize, no copy, no process: no loader that decodes these pictures
 * exactly can use less. Usage: jpeg_limit N PICTURE.. ; prints one number.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jpeglib.h>

#include "base/rand.h"
#include "base/scope.h"

struct picture {
	unsigned char *bytes;
	unsigned long n;
};

static int read_picture(const char *path, struct picture *ret)
{
	FILE *f = fopen(path, "rb");
	long n;

	if (!f || fseek(f, 0, SEEK_END) < 0 || (n = ftell(f)) <= 0)
		return -1;
	rewind(f);
	*ret = (struct picture){malloc((size_t)n), (unsigned long)n};
	if (!ret->bytes || fread(ret->bytes, 1, ret->n, f) != ret->n)
		return -1;
	return fclose(f);
}

/* A box of the usual distribution; the whole picture when ten tries find none. */
static void random_box(uint64_t i, unsigned w, unsigned h, unsigned ret[4])
{
	struct philox_key key = {{7, 7}};

	for (uint32_t draw = 0; draw < 10; draw++) {
		uint32_t u[4];
		double area, ratio, box_w, box_h;

		philox(key, i, 0, draw, u);
		area = w * (double)h * (0.08 + 0.92 * uniform_of(u[0]));
		ratio = exp(log(0.75) + (log(4.0 / 3) - log(0.75)) * uniform_of(u[1]));
		box_w = round(sqrt(area * ratio));
		box_h = round(sqrt(area / ratio));
		if (box_w < 1 || box_h < 1 || box_w > w || box_h > h)
			continue;
		ret[0] = (unsigned)(uniform_of(u[2]) * (w - box_w + 1));
		ret[1] = (unsigned)(uniform_of(u[3]) * (h - box_h + 1));
		ret[2] = (unsigned)box_w;
		ret[3] = (unsigned)box_h;
		return;
	}
	ret[0] = ret[1] = 0;
	ret[2] = w;
	ret[3] = h;
}

static void decode_box(struct jpeg_decompress_struct *j, const struct picture *p, uint64_t i, JSAMPROW row)
{
	unsigned box[4];
	JDIMENSION x, w;

	jpeg_mem_src(j, p->bytes, p->n);
	jpeg_read_header(j, TRUE);
	j->out_color_space = JCS_RGB;
	jpeg_start_decompress(j);
	random_box(i, j->output_width, j->output_height, box);
	x = box[0];
	w = box[2];
	jpeg_crop_scanline(j, &x, &w);
	jpeg_skip_scanlines(j, box[1]);
	for (unsigned y = 0; y < box[3]; y++)
		jpeg_read_scanlines(j, &row, 1);
	jpeg_abort_decompress(j);
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	struct picture *pictures = calloc((size_t)argc, sizeof(*pictures));
	struct jpeg_decompress_struct j;
	struct jpeg_error_mgr errors;
	unsigned char *row = malloc(65500 * 3);
	double began;

	if (!n || !pictures || !row)
		return 2;
	for (int i = 2; i < argc; i++) {
		if (read_picture(argv[i], &pictures[i - 2]) < 0)
			return 1;
	}
	j.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&j);
	began = cpu_ms();
	for (unsigned long i = 0; i < n; i++)
		decode_box(&j, &pictures[i % (unsigned)(argc - 2)], i, row);
	printf("%.4f\n", (cpu_ms() - began) / (double)n);
	jpeg_destroy_decompress(&j);
	for (int i = 2; i < argc; i++)
		free(pictures[i - 2].bytes);
	free(pictures);
	free(row);
	return 0;
}
