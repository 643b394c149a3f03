/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that time one picture share: pictures in memory, the chain and its random boxes, the clock. */
#ifndef OLDDOG_BENCH_PICTURES_H
#define OLDDOG_BENCH_PICTURES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/recipe.h"

#define BENCH_SIDE 224
#define BENCH_PIXELS (BENCH_SIDE * BENCH_SIDE * 3)

struct picture {
	unsigned char *bytes;
	size_t n;
};

struct pictures {
	struct picture *all;
	size_t n;
	uint64_t n_runs;
};

/* Of the arguments N PICTURE.. ; 0, or -1 after words on stderr. */
int pictures_load(int argc, char **argv, struct pictures *ret);
void pictures_release(struct pictures *p);

/* decode rgb, random_resized_crop 224 (bilinear, scale 0.08..1, ratio 3/4..4/3), hflip 0.5, imagenet, float32, chw; seed 7. */
struct recipe bench_recipe(void);

/* Time between begin and print, less what adding to the digest takes. */
struct bench_sums {
	uint64_t digest, digest_ns, begin_ns;
};

void bench_begin(struct bench_sums *s);
void bench_add(struct bench_sums *s, const void *result, size_t n_bytes);
/* {"cpu_ms_per_sample": .., "samples": .., "digest": ".."} */
void bench_print(const struct bench_sums *s, uint64_t n_samples);

#endif
