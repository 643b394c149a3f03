/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hdfs-calls AUTHORITY VERB PATH N [IN_FLIGHT]: many calls to NameNodes from one process, for tests that do harm to them:
 *
 *	stat		N looks at PATH
 *	list		PATH as a whole N times, page after page
 *	rename		N times: PATH/a-I is made, renamed to PATH/b-I, which must not be there, and removed. Whatever is
 *			executed twice or never fails
 *
 * The site is that of HADOOP_CONF_DIR. "begun" is printed when a tenth is done; at the end a line of JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/hdfs/names/names.h"

#define MAX_IN_FLIGHT 1024
#define MAX_NAME 256

struct run {
	struct loop *loop;
	struct dialer *dialer;
	struct hdfs_conf conf;
	struct hdfs_counters counters;
	struct nn *nn;
	struct names *names;
	const char *path;
	uint64_t n, n_begun, n_done, n_failed, n_entries;
	uint64_t longest_ns;	/* that one operation took */
	char words[512];
	bool done;
};

struct one {
	struct run *run;
	struct names_op op;
	struct store_req req;
	struct err err;
	enum store_op ops[3];
	unsigned n_ops, step;
	uint64_t begun_ns;
	char a[MAX_NAME], b[MAX_NAME], after[MAX_NAME];
};

static void die(const char *what, int r, const struct err *e)
{
	fprintf(stderr, "hdfs-calls: %s: %s\n", what, err_words(e, r));
	exit(1);
}

static void next(struct one *o);

static void step(struct one *o)
{
	struct run *run = o->run;
	bool list = o->ops[0] == STORE_LIST, look = o->ops[0] == STORE_STAT;

	o->err.words[0] = 0;
	o->begun_ns = loop_now(run->loop);
	o->req = (struct store_req){.op = o->ops[o->step], .err = &o->err, .to = list && o->after[0] ? o->after : NULL};
	o->op = (struct names_op){.req = &o->req, .done = o->op.done};
	o->op.path = list || look ? run->path : o->step < 2 ? o->a : o->b;
	o->op.to = o->b;
	names_start(run->names, &o->op);
}

/* Whether there is another page. */
static bool take_page(struct one *o)
{
	struct store_listing *l = &o->req.listing;
	bool more = l->more;

	o->run->n_entries += l->n;
	snprintf(o->after, sizeof(o->after), "%s", more ? l->entries[l->n - 1].name : "");
	store_listing_release(l);
	return more;
}

static void step_done(struct names_op *op, int r)
{
	struct one *o = container_of(op, struct one, op);
	struct run *run = o->run;
	uint64_t took_ns = loop_now(run->loop) - o->begun_ns;

	run->longest_ns = MAX(run->longest_ns, took_ns);
	if (r < 0 && !run->n_failed++)
		snprintf(run->words, sizeof(run->words), "%s %s: %s", op->call.method, op->path, err_words(&o->err, r));
	if (take_page(o)) {
		step(o);
		return;
	}
	if (++o->step < o->n_ops) {
		step(o);
		return;
	}
	run->done = ++run->n_done == run->n;
	if (run->n_done == (run->n + 9) / 10) {
		printf("begun\n");
		fflush(stdout);
	}
	next(o);
}

static void next(struct one *o)
{
	struct run *run = o->run;
	unsigned long long i = run->n_begun;

	if (run->n_begun == run->n)
		return;
	run->n_begun++;
	o->step = 0;
	o->op.done = step_done;
	snprintf(o->a, sizeof(o->a), "%s/a-%llu", run->path, i);
	snprintf(o->b, sizeof(o->b), "%s/b-%llu", run->path, i);
	step(o);
}

static int begin(struct run *run, const char *authority, struct err *e)
{
	AUTO(site) struct site *site = NULL;
	int r = site_load(NULL, &site, e);

	if (r == 0)
		r = hdfs_conf_of(site, authority, &run->conf, e);
	if (r == 0)
		r = loop_new(&run->loop);
	if (r == 0)
		r = dialer_new_tcp(&run->dialer);
	if (r == 0)
		r = nn_new(run->loop, &run->conf, run->dialer, &run->counters, &run->nn);
	if (r == 0)
		r = names_new(run->loop, &run->conf, run->nn, &run->names);
	return r;
}

static void tell(const struct run *run, uint64_t ns, uint64_t cpu_ns)
{
	printf("{\"n\": %llu, \"entries\": %llu, \"seconds\": %.6f, \"cpu_s\": %.6f, \"longest_s\": %.3f, \"failed\": %llu",
		(unsigned long long)run->n_done, (unsigned long long)run->n_entries, (double)ns / 1e9, (double)cpu_ns / 1e9,
		(double)run->longest_ns / 1e9, (unsigned long long)run->n_failed);
#define X(name, words) printf(", \"%s\": %llu", #name, (unsigned long long)run->counters.name);
	HDFS_COUNTERS(X)
#undef X
	printf("}\n");
	if (run->n_failed)
		fprintf(stderr, "hdfs-calls: %s\n", run->words);
}

static void end(struct run *run)
{
	names_free(run->names);
	nn_free(run->nn);
	dialer_free(run->dialer);
	hdfs_conf_release(&run->conf);
	if (loop_run(run->loop) == 0)
		loop_free(run->loop);
}

static void set_ops(struct one *o, const char *verb)
{
	static const enum store_op chain[] = {STORE_MKDIR, STORE_RENAME_NEW, STORE_REMOVE};

	o->n_ops = 1;
	o->ops[0] = strcmp(verb, "list") == 0 ? STORE_LIST : STORE_STAT;
	if (strcmp(verb, "rename") == 0) {
		memcpy(o->ops, chain, sizeof(chain));
		o->n_ops = N_ELEMS(chain);
	}
}

int main(int argc, char **argv)
{
	struct run run = {.n = 0};
	struct err e = {.code = 0};
	uint64_t in_flight = 1, begun_ns, begun_cpu_ns;
	struct one *ones;
	int r;

	if (argc < 5 || str_to_u64(str_of(argv[4]), &run.n) < 0 || (argc > 5 && str_to_u64(str_of(argv[5]), &in_flight) < 0) ||
		!in_flight || in_flight > MAX_IN_FLIGHT || !run.n) {
		fprintf(stderr, "usage: hdfs-calls AUTHORITY stat|list|rename PATH N [IN_FLIGHT]\n");
		return 2;
	}
	run.path = argv[3];
	r = begin(&run, argv[1], &e);
	ones = mem_calloc(in_flight, sizeof(*ones));
	if (r < 0 || !ones)
		die(argv[1], r < 0 ? r : -ENOMEM, &e);
	begun_ns = clock_monotonic_ns();
	begun_cpu_ns = clock_cpu_ns();
	for (unsigned i = 0; i < in_flight; i++) {
		ones[i].run = &run;
		set_ops(&ones[i], argv[2]);
		next(&ones[i]);
	}
	r = loop_run_until(run.loop, &run.done);
	if (r < 0)
		die("the loop", r, &e);
	tell(&run, clock_monotonic_ns() - begun_ns, clock_cpu_ns() - begun_cpu_ns);
	end(&run);
	mem_free(ones);
	return run.n_failed ? 1 : 0;
}
