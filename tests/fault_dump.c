/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault-dump VALUE: what reads of a store #fault=VALUE wait for, on virtual time. Each line of stdin is PATH <tab> OFFSET
 * and gives a line of nanoseconds.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/str.h"
#include "store/store.h"

static void no_more(struct store_req *req)
{
	*(uint64_t *)req->ctx = loop_now(req->loop);
}

/* Nothing is there to be read: it is found so when the delay is over. */
static int print_delay(struct loop *loop, struct store *s, const char *path, uint64_t offset)
{
	char byte;
	uint64_t from = loop_now(loop), to = 0;
	struct store_range range = {.offset = offset, .length = 1, .buf = &byte};
	struct store_req req = {.loop = loop, .op = STORE_READ, .path = path, .ranges = &range, .n_ranges = 1, .done = no_more,
		.ctx = &to};

	store_submit(s, &req);
	if (loop_run(loop) < 0)
		return 1;
	printf("%llu\n", (unsigned long long)(to - from));
	return 0;
}

int main(int argc, char **argv)
{
	AUTO_FREE char *url = mem_printf("ram:fault-dump/#fault=%s", argc > 1 ? argv[1] : ""), *path = NULL;
	AUTO(loop) struct loop *loop = NULL;
	AUTO_STORE struct store *s = NULL;
	struct err e = {0};
	char line[8192];
	int r = url ? store_open(url, &s, &path, &e) : -ENOMEM;

	if (r < 0 || loop_new_virtual(&loop) < 0) {
		fprintf(stderr, "%s\n", err_words(&e, r));
		return 1;
	}
	while (r == 0 && fgets(line, sizeof(line), stdin)) {
		char *tab = strchr(line, '\t');
		uint64_t offset;

		if (!tab || str_to_u64(str_trim(str_of(tab + 1)), &offset) < 0)
			return 2;
		*tab = 0;
		r = print_delay(loop, s, line, offset);
	}
	return r;
}
