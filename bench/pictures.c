/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/pictures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/poly.h"
#include "base/scope.h"

static int picture_load(const char *path, struct picture *ret)
{
	FILE *f = fopen(path, "rb");
	long n;

	if (!f)
		return -1;
	if (fseek(f, 0, SEEK_END) < 0 || (n = ftell(f)) <= 0 || !(ret->bytes = malloc((size_t)n))) {
		fclose(f);
		return -1;
	}
	rewind(f);
	ret->n = fread(ret->bytes, 1, (size_t)n, f);
	return fclose(f) == 0 && ret->n == (size_t)n ? 0 : -1;
}

int pictures_load(int argc, char **argv, struct pictures *ret)
{
	*ret = (struct pictures){.n = (size_t)MAX(argc - 2, 0), .n_runs = argc > 2 ? strtoull(argv[1], NULL, 10) : 0};
	ret->all = calloc(ret->n + 1, sizeof(*ret->all));
	if (!ret->n_runs || !ret->all) {
		fprintf(stderr, "usage: %s N PICTURE..\n", argv[0]);
		pictures_release(ret);
		return -1;
	}
	for (size_t i = 0; i < ret->n; i++) {
		if (picture_load(argv[i + 2], &ret->all[i]) == 0)
			continue;
		fprintf(stderr, "%s: cannot be read\n", argv[i + 2]);
		pictures_release(ret);
		return -1;
	}
	return 0;
}

void pictures_release(struct pictures *p)
{
	for (size_t i = 0; p->all && i < p->n; i++)
		free(p->all[i].bytes);
	free(p->all);
	p->all = NULL;
}

struct recipe bench_recipe(void)
{
	return (struct recipe){
		.resample = RESAMPLE_PILLOW_13, .max_pixels = 1u << 28, .max_bytes = 1u << 28, .n_fields = 1,
		.fields = {{.name = "image", .kind = FIELD_IMAGE, .mode = DECODE_RGB, .orientation = ORIENTATION_IGNORE,
			.n_steps = 2, .dtype = DTYPE_FLOAT32, .layout = LAYOUT_CHW, .collate = COLLATE_STACK, .normalize = true,
			.mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225},
			.steps = {
				{.kind = STEP_RANDOM_RESIZED_CROP, .interpolation = INTERPOLATION_BILINEAR, .h = BENCH_SIDE,
					.w = BENCH_SIDE, .scale = {0.08, 1.0}, .log2_ratio = {log2_poly(3.0 / 4), log2_poly(4.0 / 3)},
					.key = philox_key_of(7, "random_resized_crop")},
				{.kind = STEP_HFLIP, .p = 0.5, .key = philox_key_of(7, "hflip")},
			}}},
	};
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_begin(struct bench_sums *s)
{
	*s = (struct bench_sums){.begin_ns = cpu_ns()};
}

void bench_add(struct bench_sums *s, const void *result, size_t n_bytes)
{
	uint64_t began = cpu_ns();

	s->digest = s->digest * 31 + xxh3_of(result, n_bytes);
	s->digest_ns += cpu_ns() - began;
}

void bench_print(const struct bench_sums *s, uint64_t n_samples)
{
	uint64_t ns = cpu_ns() - s->begin_ns - s->digest_ns;

	printf("{\"cpu_ms_per_sample\": %.4f, \"samples\": %" PRIu64 ", \"digest\": \"%016" PRIx64 "\"}\n",
		(double)ns / 1e6 / (double)n_samples, n_samples, s->digest);
}
