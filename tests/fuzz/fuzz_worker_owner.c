/* SPDX-License-Identifier: Apache-2.0 */
/* An owner whose workers say anything: each work ends exactly once, and nothing is read past the worker's memory. */
#include <assert.h>

#include "base/clock.h"
#include "record.h"
#include "worker/worker.h"

#define N_WORKS 3

static const struct recipe recipe = {.resample = RESAMPLE_PILLOW_13, .max_pixels = 1u << 20, .max_bytes = 1u << 20,
	.n_fields = 1,
	.fields = {{.name = "image", .kind = FIELD_IMAGE, .mode = DECODE_RGB, .orientation = ORIENTATION_APPLY,
		.dtype = DTYPE_UINT8, .layout = LAYOUT_HWC, .collate = COLLATE_STACK}}};

/* What all workers of a run say, one after the other; and then they end. */
struct mouth {
	struct rd rd;
	struct conn *conn;
};

static void mouth_says(struct mouth *m, uint64_t seq)
{
	uint8_t bytes[WORKMSG_BYTES];
	size_t n = record_next(&m->rd, seq, bytes);

	if (n == 0 || conn_send(m->conn, bytes, n, NULL, 0) < 0)
		conn_close(TAKE(m->conn));
}

static void mouth_hears(struct conn *c, unsigned can, void *ctx)
{
	struct mouth *m = ctx;
	uint8_t bytes[WORKMSG_BYTES];
	ssize_t n = conn_recv(c, bytes, sizeof(bytes), NULL, NULL);
	struct workmsg heard;

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		conn_close(TAKE(m->conn));
		return;
	}
	assert(workmsg_decode(bytes, (size_t)n, &heard) == 0 && heard.type == WORKMSG_DECODE);
	mouth_says(m, heard.seq);
}

static int mouth_spawn(void *ctx, struct loop *loop, const struct recipe *r, const uint8_t *in, size_t in_bytes,
	uint8_t *out, size_t out_bytes, struct conn *end, void **ret_worker)
{
	struct mouth *m = ctx;

	m->conn = end;
	assert(conn_want(end, CONN_READ, mouth_hears, m) == 0);
	mouth_says(m, 0);
	*ret_worker = m;
	return 0;
}

static void mouth_kill(void *ctx, void *worker)
{
	struct mouth *m = worker;

	conn_close(TAKE(m->conn));
}

struct run {
	struct work works[N_WORKS];
	unsigned n_done[N_WORKS], n_ended;
	bool all;
};

static void work_done(struct work *w)
{
	struct run *run = w->ctx;

	assert(++run->n_done[w - run->works] == 1);
	assert(w->r <= 0 && (w->r < 0 || (w->pixels && (uint64_t)w->h * w->w * w->c <= w->out_bytes)));
	if (w->r == 0)
		(void)worker_check(w, w->pixels);
	run->all = ++run->n_ended == N_WORKS;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO(loop) struct loop *loop = NULL;
	struct mouth mouth = {.rd = rd_of(p, n)};
	struct worker_conf conf = {.recipe = &recipe, .n_workers = 1, .in_bytes = 16384, .out_bytes = 16384,
		.time_limit_ns = NS_PER_MS, .max_attempts = 2, .program = "none", .spawn = mouth_spawn, .kill = mouth_kill,
		.spawn_ctx = &mouth};
	struct worker_pool *pool;
	struct run run = {0};

	assert(loop_new_virtual(&loop) == 0);
	conf.loop = loop;
	assert(worker_pool_new(&conf, &pool, NULL) == 0);
	for (unsigned i = 0; i < N_WORKS; i++) {
		run.works[i] = (struct work){.out_bytes = 100, .done = work_done, .ctx = &run};
		assert(worker_in_alloc(pool, 100, &run.works[i].in) == 0);
		worker_submit(pool, &run.works[i]);
	}
	assert(loop_run_until(loop, &run.all) == 0);
	worker_pool_free(pool);
	return 0;
}
