/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what src/plan says, for tests/func/test_order.py to compare with its own reference.
 *
 *	order-dump perm SEED PURPOSE TWEAK N FROM COUNT
 *	order-dump order sequential|shuffle|window WINDOW GROUP SEED FROM COUNT ATTEMPT WEIGHT:stop|repeat|drop:LEN,LEN,.. ..
 *	order-dump batch SIZE short|drop|pad|carry EPOCH_LEN CONSUMED COUNT FIRST-LAST ..
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "plan/batch.h"
#include "plan/order.h"
#include "plan/perm.h"

#define MAX_SHARDS 4096

static _Noreturn void die(const char *words)
{
	fprintf(stderr, "order-dump: %s\n", words);
	exit(2);
}

static uint64_t number(struct str s)
{
	uint64_t n;

	if (str_to_u64(s, &n) < 0)
		die("not a number");
	return n;
}

static unsigned word(struct str s, const char *const *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (str_eq(s, words[i]))
			return i;
	die("not one of the words");
}

static void dump_perm(char **argv)
{
	uint64_t n = number(str_of(argv[3])), from = number(str_of(argv[4])), count = number(str_of(argv[5]));
	struct perm p;

	perm_init(&p, n, philox_key_of(number(str_of(argv[0])), argv[1]), number(str_of(argv[2])));
	for (uint64_t i = from; i < from + count; i++)
		printf("%" PRIu64 "\n", perm_at(&p, i));
}

static void source_of(char *text, struct order_source *ret)
{
	static const char *const ends[] = {"stop", "repeat", "drop"};
	struct str rest = str_of(text), weight = str_split(&rest, ':'), on_end = str_split(&rest, ':');
	uint64_t *first = calloc(MAX_SHARDS + 1, sizeof(*first));

	if (!first || str_to_double(weight, &ret->weight) < 0)
		die("a source is WEIGHT:stop|repeat|drop:LEN,LEN,..");
	ret->on_end = word(on_end, ends, N_ELEMS(ends));
	ret->first = first;
	for (ret->n_shards = 0; rest.n > 0 && ret->n_shards < MAX_SHARDS; ret->n_shards++)
		first[ret->n_shards + 1] = first[ret->n_shards] + number(str_split(&rest, ','));
}

static void dump_order(char **argv, int n_sources)
{
	static const char *const kinds[] = {"sequential", "shuffle", "window"};
	uint64_t from = number(str_of(argv[4])), count = number(str_of(argv[5])), attempt = number(str_of(argv[6]));
	struct order_source *sources = calloc((size_t)n_sources + 1, sizeof(*sources));
	struct order_conf conf = {.sources = sources, .n_sources = (unsigned)n_sources,
		.kind = word(str_of(argv[0]), kinds, N_ELEMS(kinds)), .window = number(str_of(argv[1])),
		.group = (uint32_t)number(str_of(argv[2])), .seed = number(str_of(argv[3]))};
	AUTO(order) struct order *o = NULL;
	struct err e = {0};

	for (int i = 0; sources && i < n_sources; i++)
		source_of(argv[7 + i], &sources[i]);
	if (!sources || order_new(&conf, &o, &e) < 0)
		die(sources ? e.words : "no memory");
	printf("epoch_len %" PRIu64 "\n", order_epoch_len(o));
	for (uint64_t p = from; p < from + count; p++) {
		struct order_item t;
		int r = attempt ? order_substitute(o, p, (unsigned)attempt, &t) : order_at(o, p, &t);

		if (r < 0)
			die(err_text(r));
		printf("%" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu64 "\n", t.position, t.epoch,
			t.source, t.source_epoch, t.shard, t.sample);
	}
	for (int i = 0; i < n_sources; i++)
		free((void *)sources[i].first);
	free(sources);
}

static void print_batch(const struct batch_conf *c, const struct batch *b)
{
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64, b->begin, b->end, b->epoch, b->last, b->n_real);
	for (uint64_t i = 0; i < b->n; i++)
		printf(" %" PRIu64, batch_position(c, b, i));
	printf("\n");
}

static void dump_batches(char **argv, int n_skip)
{
	static const char *const tails[] = {"short", "drop", "pad", "carry"};
	uint64_t consumed = number(str_of(argv[3])), count = number(str_of(argv[4]));
	struct spec_range *skip = calloc((size_t)n_skip + 1, sizeof(*skip));
	struct batch_conf c = {.global_batch = number(str_of(argv[0])), .tail = word(str_of(argv[1]), tails, N_ELEMS(tails)),
		.epoch_len = number(str_of(argv[2])), .skip = skip, .n_skip = (unsigned)n_skip};

	if (!skip)
		die("no memory");
	for (int i = 0; i < n_skip; i++) {
		struct str last = str_of(argv[5 + i]), first = str_split(&last, '-');

		skip[i] = (struct spec_range){number(first), number(last)};
	}
	while (count > 0) {
		struct batch b;
		int r = batch_at(&c, consumed, &b);

		if (r < 0 && r != E_END)
			die(err_text(r));
		if (r == 0)
			print_batch(&c, &b);
		count -= r == 0;
		consumed = b.end;
	}
	free(skip);
}

int main(int argc, char **argv)
{
	if (argc == 8 && !strcmp(argv[1], "perm"))
		dump_perm(argv + 2);
	else if (argc >= 10 && !strcmp(argv[1], "order"))
		dump_order(argv + 2, argc - 9);
	else if (argc >= 7 && !strcmp(argv[1], "batch"))
		dump_batches(argv + 2, argc - 7);
	else
		die("perm, order or batch; see tests/order-dump.c");
	return 0;
}
