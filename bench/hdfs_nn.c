/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls to a NameNode cost this process, on one loop, without what is above (threads, requests of stores):
 *
 *	bench-hdfs-nn NAMENODES make DIR N		N empty files, 64 creations in flight
 *	bench-hdfs-nn NAMENODES stat PATH N IN_FLIGHT	N stats
 *	bench-hdfs-nn NAMENODES list DIR N		the whole directory N times, page after page
 *
 * NAMENODES: HOST:PORT[,HOST:PORT]. Prints JSON: calls or entries, seconds, CPU seconds, counters, errors.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/hdfs/names.h"
#include "wire/hadoop/pb.h"

#define MAX_IN_FLIGHT 1024
#define MAKE_IN_FLIGHT 64

struct bench {
	struct loop *loop;
	struct dialer *dialer;
	struct hdfs_conf conf;
	struct hdfs_counters counters;
	struct nn *nn;
	struct names *names;
	const char *path;
	uint64_t n, n_begun, n_done, n_failed, n_entries;
	char words[512];
	bool done;
};

struct one {
	struct bench *b;
	struct names_op op;
	struct store_req req;
	struct nn_call call;
	char path[256];
	bool created;
};

static void die(const char *what, int r)
{
	fprintf(stderr, "bench-hdfs-nn: %s: %s\n", what, err_text(r));
	exit(1);
}

static void begin(struct bench *b, char *namenodes)
{
	struct str rest = str_of(namenodes);
	int r;

	b->conf = (struct hdfs_conf){
		.user = getenv("HADOOP_USER_NAME") ? getenv("HADOOP_USER_NAME") : (char *)"hdfs",
		.nameservice = (char *)"",
		.failover_max_attempts = 15,
		.failover_base_ms = 500,
		.failover_max_ms = 15000,
		.rpc_timeout_ms = 120000,
		.connect_timeout_ms = 20000,
		.connect_retries = 10,
	};
	while (rest.n && b->conf.n_namenodes < HDFS_MAX_NAMENODES) {
		struct str port = str_split(&rest, ','), host = str_split(&port, ':');
		uint64_t number;

		if (str_to_u64(port, &number) < 0 || number > UINT16_MAX)
			die("NAMENODES is not HOST:PORT", -EINVAL);
		b->conf.namenodes[b->conf.n_namenodes++] = (struct hdfs_namenode){(char *)"", {mem_strndup(host.p, host.n), (uint16_t)number}};
	}
	r = loop_new(&b->loop);
	if (r == 0)
		r = dialer_new_tcp(&b->dialer);
	if (r == 0)
		r = nn_new(b->loop, &b->conf, b->dialer, &b->counters, &b->nn);
	if (r == 0)
		r = names_new(b->loop, &b->conf, b->nn, &b->names);
	if (r < 0)
		die("beginning", r);
}

static void failed(struct bench *b, const char *words)
{
	if (!b->n_failed++)
		snprintf(b->words, sizeof(b->words), "%s", words);
}

/* Stats. */

static void stat_next(struct one *o);

static void stat_done(struct names_op *op, int r)
{
	struct one *o = container_of(op, struct one, op);

	if (r < 0)
		failed(o->b, op->call.err.words);
	o->b->done = ++o->b->n_done == o->b->n;
	stat_next(o);
}

static void stat_next(struct one *o)
{
	struct bench *b = o->b;

	if (b->n_begun == b->n)
		return;
	b->n_begun++;
	o->req.op = STORE_STAT;
	o->op.req = &o->req;
	o->op.path = b->path;
	o->op.done = stat_done;
	names_start(b->names, &o->op);
}

/* Listing. */

static void list_next(struct one *o);

static void list_done(struct names_op *op, int r)
{
	struct one *o = container_of(op, struct one, op);
	struct bench *b = o->b;
	struct store_listing *l = &o->req.listing;

	if (r < 0)
		failed(b, op->call.err.words);
	b->n_entries += l->n;
	o->path[0] = 0;
	if (l->more)
		snprintf(o->path, sizeof(o->path), "%s", l->entries[l->n - 1].name);
	else
		b->done = ++b->n_done == b->n;
	store_listing_release(l);
	if (!b->done)
		list_next(o);
}

static void list_next(struct one *o)
{
	o->req.op = STORE_LIST;
	o->req.to = o->path[0] ? o->path : NULL;
	o->op.req = &o->req;
	o->op.path = o->b->path;
	o->op.done = list_done;
	names_start(o->b->names, &o->op);
}

/* Creation: create, then complete. */

static void make_next(struct one *o);

static void make_done(struct nn_call *call)
{
	struct one *o = container_of(call, struct one, call);
	struct bench *b = o->b;

	nn_call_release(call);
	if (call->r < 0)
		failed(b, call->err.words);
	if (call->r == 0 && !o->created) {
		o->created = true;
		*call = (struct nn_call){.method = "complete", .kind = NN_IDEMPOTENT, .done = make_done};
		buf_init(&call->body, 4096);
		buf_pb_str(&call->body, 1, o->path);
		buf_pb_str(&call->body, 2, nn_client_name(b->nn));
		nn_submit(b->nn, call);
		return;
	}
	b->done = ++b->n_done == b->n;
	make_next(o);
}

/* CreateRequestProto. */
static void make_next(struct one *o)
{
	struct bench *b = o->b;
	size_t at;

	if (b->n_begun == b->n)
		return;
	snprintf(o->path, sizeof(o->path), "%s/sample-%08llu.jpg", b->path, (unsigned long long)b->n_begun++);
	o->created = false;
	o->call = (struct nn_call){.method = "create", .kind = NN_AT_MOST_ONCE, .done = make_done};
	buf_init(&o->call.body, 4096);
	buf_pb_str(&o->call.body, 1, o->path);
	at = o->call.body.n;
	buf_pb_u64(&o->call.body, 1, 0644);
	buf_pb_delimit(&o->call.body, 2, at);
	buf_pb_str(&o->call.body, 3, nn_client_name(b->nn));
	buf_pb_u64(&o->call.body, 4, 3);
	buf_pb_u64(&o->call.body, 5, 1);
	buf_pb_u64(&o->call.body, 6, 1);
	buf_pb_u64(&o->call.body, 7, 128 << 20);
	nn_submit(b->nn, &o->call);
}

static void run(struct bench *b, void (*next)(struct one *o), unsigned in_flight)
{
	struct one *ones = mem_calloc(in_flight, sizeof(*ones));
	uint64_t begun_ns = clock_monotonic_ns(), cpu_ns = clock_cpu_ns();
	int r;

	if (!ones)
		die("beginning", -ENOMEM);
	for (unsigned i = 0; i < in_flight && i < b->n; i++) {
		ones[i].b = b;
		next(&ones[i]);
	}
	r = loop_run_until(b->loop, &b->done);
	if (r < 0)
		die("the loop", r);
	printf("{\"n\": %llu, \"entries\": %llu, \"s\": %.6f, \"cpu_s\": %.6f, \"failed\": %llu, \"words\": \"%s\"",
		(unsigned long long)b->n_done, (unsigned long long)b->n_entries,
		(double)(clock_monotonic_ns() - begun_ns) / 1e9, (double)(clock_cpu_ns() - cpu_ns) / 1e9,
		(unsigned long long)b->n_failed, b->words);
#define X(name, words) printf(", \"%s\": %llu", #name, (unsigned long long)b->counters.name);
	HDFS_COUNTERS(X)
#undef X
	printf("}\n");
	mem_free(ones);
}

static void end(struct bench *b)
{
	names_free(b->names);
	nn_free(b->nn);
	dialer_free(b->dialer);
	for (unsigned i = 0; i < b->conf.n_namenodes; i++)
		mem_free(b->conf.namenodes[i].rpc.host);
	if (loop_run(b->loop) == 0)
		loop_free(b->loop);
}

int main(int argc, char **argv)
{
	struct bench b = {.n = 0};
	uint64_t in_flight = 1;

	if (argc < 5 || str_to_u64(str_of(argv[4]), &b.n) < 0 || (argc > 5 && str_to_u64(str_of(argv[5]), &in_flight) < 0) ||
		!in_flight || in_flight > MAX_IN_FLIGHT || !b.n) {
		fprintf(stderr, "usage: bench-hdfs-nn NAMENODES make|stat|list PATH N [IN_FLIGHT]\n");
		return 2;
	}
	b.path = argv[3];
	begin(&b, argv[1]);
	if (strcmp(argv[2], "make") == 0)
		run(&b, make_next, MAKE_IN_FLIGHT);
	else if (strcmp(argv[2], "list") == 0)
		run(&b, list_next, 1);
	else
		run(&b, stat_next, (unsigned)in_flight);
	end(&b);
	return b.n_failed ? 1 : 0;
}
