/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU milliseconds of one picture on one core, as olddog prepares it: decode, random resized crop to 224, horizontal
 * flip (media/), then float32 CHW normalised by ImageNet's mean and deviation (worker/finish). Pictures lie in memory.
 * Usage: picture N PICTURE.. ; prints one line of JSON. The digest is of all N results, for comparison with bench/bare.
 */
#include <stdio.h>

#include "base/scope.h"
#include "bench/pictures.h"
#include "media/media.h"
#include "worker/finish.h"

int main(int argc, char **argv)
{
	struct recipe recipe = bench_recipe();
	struct pictures pictures;
	struct bench_sums sums = {0};
	struct finish finish;
	static uint8_t pixels[BENCH_PIXELS];
	static float out[BENCH_PIXELS];

	if (pictures_load(argc, argv, &pictures) < 0)
		return 1;
	finish_init(&finish, &recipe.fields[0]);
	bench_begin(&sums);
	for (uint64_t i = 0; i < pictures.n_runs; i++) {
		const struct picture *p = &pictures.all[i % pictures.n];
		struct media_result m;

		if (media_run(&recipe, 0, i, p->bytes, p->n, pixels, sizeof(pixels), &m) < 0)
			return 1;
		finish_copy(&finish, pixels, m.h, m.w, m.c, out);
		bench_add(&sums, out, sizeof(out));
	}
	bench_print(&sums, pictures.n_runs);
	pictures_release(&pictures);
	return 0;
}
