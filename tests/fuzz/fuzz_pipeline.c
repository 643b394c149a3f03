/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the first DataNode of a pipeline says while a block is written: its answer, then acknowledgements. Whatever it is,
 * the block ends or the pipeline breaks, and nothing counts as acknowledged that was not sent. The first byte says how many
 * nodes there are, and how the bytes are split on their way; the second whether to wait for the packets before acknowledging.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "store/hdfs/write/pipeline.h"

#define N_BYTES 5000u

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* The node, and the only way to it. */
struct wire {
	struct dialer dialer;
	struct loop *loop;
	struct dial *dial;
	struct timer timer;
	const struct pipe_faults *faults;
	struct conn *theirs;
	const uint8_t *p;
	size_t n;
};

static void wire_says(struct wire *w)
{
	while (w->n) {
		ssize_t sent = conn_send(w->theirs, w->p, w->n, NULL, 0);

		if (sent < 0)
			return;
		w->p += sent;
		w->n -= (size_t)sent;
	}
}

static void wire_dialled(struct timer *t)
{
	struct wire *w = container_of(t, struct wire, timer);
	struct dial *d = TAKE(w->dial);
	struct conn *ours;

	assert(conn_pipe(w->loop, false, 1u << 20, w->faults, &ours, &w->theirs) == 0);
	d->done(d, 0, ours);
	wire_says(w);
}

static void wire_start(struct dialer *dialer, struct dial *d, const char *host, uint16_t port)
{
	struct wire *w = container_of(dialer, struct wire, dialer);

	d->dialer = dialer;
	w->dial = d;
	timer_init(&w->timer, w->loop, wire_dialled);
	assert(timer_set(&w->timer, loop_now(w->loop)) == 0);
}

static void wire_cancel(struct dialer *dialer, struct dial *d)
{
	timer_clear(&container_of(dialer, struct wire, dialer)->timer);
}

static const struct dialer_ops wire_ops = {.start = wire_start, .cancel = wire_cancel};

struct run {
	struct pipeline pipe;
	unsigned n_up, n_broke;
	bool over;
};

static void on_up(struct pipeline *p)
{
	struct run *run = container_of(p, struct run, pipe);

	run->n_up++;
	pipeline_kick(p);
}

static void on_acked(struct pipeline *p)
{
	struct run *run = container_of(p, struct run, pipe);

	assert(p->acked_bytes <= p->sent_bytes && p->sent_bytes <= N_BYTES && p->n_acked_fresh <= N_BYTES);
	if (!p->ended) {
		pipeline_kick(p);
		return;
	}
	assert(p->acked_bytes == N_BYTES && p->n_acked_fresh == N_BYTES);
	run->over = true;
	pipeline_stop(p);
}

static void on_broke(struct pipeline *p)
{
	struct run *run = container_of(p, struct run, pipe);

	assert(p->r < 0);
	run->n_broke++;
	run->over = true;
}

static void packets_fill(struct packets *q)
{
	static const uint8_t bytes[N_BYTES];

	assert(packets_init(q, CRC_C, 512, 2048, 1u << 20, 0) == 0);
	assert(packets_put(q, bytes, sizeof(bytes)) == sizeof(bytes));
	assert(packets_end(q) == 0);
}

static void write_block(struct loop *loop, struct wire *w, unsigned n_nodes)
{
	struct hdfs_node nodes[3] = {{.uuid = "a", .ip = "dn1", .host = "dn1", .rack = "", .xfer_port = 1},
		{.uuid = "b", .ip = "dn2", .host = "dn2", .rack = "", .xfer_port = 2},
		{.uuid = "c", .ip = "dn3", .host = "dn3", .rack = "", .xfer_port = 3}};
	struct hdfs_located at = {.block = {"BP-1", 1, 2, 0}, .n_nodes = n_nodes, .nodes = nodes};
	struct hdfs_conf conf = {.socket_timeout_ms = 1000, .connect_timeout_ms = 1000};
	struct write_setup setup = {.at = &at, .block = at.block, .client = "c", .stage = WIRE_SETUP_CREATE, .stamp = 2,
		.kind = CRC_C, .bytes_per_sum = 512};
	struct hdfs_counters counters = {0};
	struct packets packets;
	struct run run = {.pipe = {.loop = loop, .conf = &conf, .packets = &packets, .up = on_up, .acked = on_acked,
		.broke = on_broke}};

	packets_fill(&packets);
	assert(dn_pool_new(loop, &conf, &w->dialer, &counters, &run.pipe.dns) == 0);
	assert(pipeline_init(&run.pipe) == 0);
	pipeline_start(&run.pipe, &setup);
	/* What is not answered ends by silence. */
	assert(loop_run_until(loop, &run.over) == 0);
	assert(run.n_up <= 1 && run.n_broke <= 1);
	pipeline_release(&run.pipe);
	packets_release(&packets);
	dn_pool_free(run.pipe.dns);
	conn_close(w->theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct wire w = {.dialer = {&wire_ops}};
	struct pipe_faults faults = {0};

	if (n < 2 || loop_new_virtual(&w.loop) < 0)
		return 0;
	faults = (struct pipe_faults){.seed = p[1], .split_ppm = p[0] & 4 ? 700000 : 0,
		.delay_min_ns = p[1] * NS_PER_MS, .delay_max_ns = p[1] * NS_PER_MS};
	w.faults = &faults;
	w.p = p + 2;
	w.n = n - 2;
	write_block(w.loop, &w, 1 + (p[0] & 3) % 3);
	loop_free(w.loop);
	return 0;
}
