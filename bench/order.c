/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What does it cost to know which sample is at a position? Prints ns per call of perm_at and order_at: positions in
 * order, in order but every 8th (a rank of eight), and at random; and what the first answer of an epoch costs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "plan/order.h"
#include "plan/perm.h"

#define N_CALLS 400000u
#define N_SHARDS 100000u
#define SHARD_LEN 10000u

static uint64_t keep;			/* so that nothing is optimised away */

static void bench_perm(uint64_t n)
{
	struct perm p;
	uint64_t begin;

	perm_init(&p, n, philox_key_of(7, "bench"), 0);
	begin = clock_monotonic_ns();
	for (uint64_t i = 0; i < N_CALLS; i++)
		keep += perm_at(&p, i % n);
	printf("perm_at %20" PRIu64 " numbers %8.0f ns\n", n, (double)(clock_monotonic_ns() - begin) / N_CALLS);
}

static double calls(struct order *o, uint64_t from, uint64_t step, uint64_t n_calls)
{
	uint64_t len = order_epoch_len(o), begin = clock_monotonic_ns();
	struct order_item item;

	for (uint64_t i = 0; i < n_calls; i++) {
		if (order_at(o, (from + i * step) % len, &item) < 0)
			abort();
		keep += item.sample;
	}
	return (double)(clock_monotonic_ns() - begin) / (double)n_calls;
}

static void bench_order(const char *name, unsigned n_sources, enum order_kind kind, const uint64_t *first)
{
	struct order_source sources[16];
	struct order_conf conf = {.sources = sources, .n_sources = n_sources, .kind = kind, .window = 200000, .group = 64,
		.seed = 7};
	AUTO(order) struct order *o = NULL;
	struct err e = {0};
	uint64_t begin = clock_monotonic_ns();
	double opened, one;

	for (unsigned i = 0; i < n_sources; i++)
		sources[i] = (struct order_source){
			.first = first, .n_shards = N_SHARDS, .weight = 1.0 + i, .on_end = ON_END_STOP};
	if (order_new(&conf, &o, &e) < 0) {
		fprintf(stderr, "%s\n", e.words);
		exit(1);
	}
	opened = (double)(clock_monotonic_ns() - begin) / 1e3;
	/* The first item of each source walks its shards. */
	one = calls(o, 0, 1, 100) * 100 / 1e6;
	printf("order_at %-22s opened %4.0f us, first 100 %6.1f ms, in order %5.0f ns, every 8th %5.0f ns, at random %6.0f ns\n",
		name, opened, one, calls(o, 0, 1, N_CALLS), calls(o, 0, 8, N_CALLS), calls(o, 0, 611953u, N_CALLS / 10));
}

int main(void)
{
	static uint64_t first[N_SHARDS + 1];

	for (uint32_t i = 0; i < N_SHARDS; i++)
		first[i + 1] = first[i] + SHARD_LEN;
	bench_perm(50);
	bench_perm(4096);
	bench_perm(200000);
	bench_perm(1000000000);
	bench_perm(PERM_MAX);
	printf("sources of 10^9 samples in 10^5 shards; windows of 200,000 over 64 shards\n");
	bench_order("sequential", 1, ORDER_SEQUENTIAL, first);
	bench_order("shuffle", 1, ORDER_SHUFFLE, first);
	bench_order("window", 1, ORDER_WINDOW, first);
	bench_order("shuffle, 2 sources", 2, ORDER_SHUFFLE, first);
	bench_order("window, 2 sources", 2, ORDER_WINDOW, first);
	bench_order("window, 16 sources", 16, ORDER_WINDOW, first);
	return keep == 1;
}
