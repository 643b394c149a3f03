/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What does it cost to know which sample is at a position? CPU ns per call of perm_at or order_at: positions in order, in
 * order but every 8th (a rank of eight), and at random; and what opening and the first answers of an epoch cost.
 * Usage: bench-order N for case N: one line of JSON; without N: the names of the cases, one a line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/scope.h"
#include "base/str.h"
#include "plan/order.h"
#include "plan/perm.h"

#define N_CALLS 400000u
#define N_FIRST 100u
#define N_SHARDS 100000u
#define SHARD_LEN 10000u

/* Of sources of 10^9 samples in 10^5 shards, windows of 200,000 over 64 shards; or without sources a permutation of n. */
static const struct order_case {
	const char *name;
	uint64_t n;
	unsigned n_sources;
	enum order_kind kind;
} cases[] = {
	{"permutation of 50", 50, 0, 0},
	{"permutation of 4,096", 4096, 0, 0},
	{"permutation of 200,000", 200000, 0, 0},
	{"permutation of 10^9", 1000000000, 0, 0},
	{"permutation of 2^62", PERM_MAX, 0, 0},
	{"sequential", 0, 1, ORDER_SEQUENTIAL},
	{"shuffle", 0, 1, ORDER_SHUFFLE},
	{"window", 0, 1, ORDER_WINDOW},
	{"shuffle, 2 sources", 0, 2, ORDER_SHUFFLE},
	{"window, 2 sources", 0, 2, ORDER_WINDOW},
	{"window, 16 sources", 0, 16, ORDER_WINDOW},
};

static uint64_t keep;			/* so that nothing is optimised away */

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void bench_perm(uint64_t n)
{
	struct perm p;
	double began;

	perm_init(&p, n, philox_key_of(7, "bench"), 0);
	began = cpu_ns();
	for (uint64_t i = 0; i < N_CALLS; i++)
		keep += perm_at(&p, i % n);
	printf("{\"in_order_ns\": %.1f}\n", (cpu_ns() - began) / N_CALLS);
}

static double ns_of(struct order *o, uint64_t step, uint64_t n_calls)
{
	uint64_t len = order_epoch_len(o);
	struct order_item item;
	double began = cpu_ns();

	for (uint64_t i = 0; i < n_calls; i++) {
		if (order_at(o, i * step % len, &item) < 0)
			abort();
		keep += item.sample;
	}
	return (cpu_ns() - began) / (double)n_calls;
}

static void bench_order(const struct order_case *c, const uint64_t *first)
{
	struct order_source sources[16];
	struct order_conf conf = {.sources = sources, .n_sources = c->n_sources, .kind = c->kind, .window = 200000, .group = 64,
		.seed = 7};
	AUTO(order) struct order *o = NULL;
	struct err e = {0};
	double began = cpu_ns(), opened_us, first_ms;

	for (unsigned i = 0; i < c->n_sources; i++)
		sources[i] = (struct order_source){
			.first = first, .n_shards = N_SHARDS, .weight = 1.0 + i, .on_end = ON_END_STOP};
	if (order_new(&conf, &o, &e) < 0) {
		fprintf(stderr, "%s\n", e.words);
		exit(1);
	}
	opened_us = (cpu_ns() - began) / 1e3;
	/* The first item of each source walks its shards. */
	first_ms = ns_of(o, 1, N_FIRST) * N_FIRST / 1e6;
	printf("{\"opened_us\": %.1f, \"first_ms\": %.2f, ", opened_us, first_ms);
	printf("\"in_order_ns\": %.1f, ", ns_of(o, 1, N_CALLS));
	printf("\"every_8th_ns\": %.1f, ", ns_of(o, 8, N_CALLS));
	printf("\"random_ns\": %.1f}\n", ns_of(o, 611953u, N_CALLS / 10));
}

int main(int argc, char **argv)
{
	static uint64_t first[N_SHARDS + 1];
	uint64_t n = N_ELEMS(cases);

	if (argc > 1 && str_to_u64(str_of(argv[1]), &n) < 0)
		return 2;
	for (uint32_t i = 0; i < N_SHARDS; i++)
		first[i + 1] = first[i] + SHARD_LEN;
	if (n >= N_ELEMS(cases)) {
		for (size_t i = 0; i < N_ELEMS(cases); i++)
			puts(cases[i].name);
	} else if (cases[n].n_sources) {
		bench_order(&cases[n], first);
	} else {
		bench_perm(cases[n].n);
	}
	return keep == 1;
}
