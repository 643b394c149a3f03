/* SPDX-License-Identifier: Apache-2.0 */
/* A worker behind a memory pipe, told anything: it answers or ends, and touches nothing but its own memories. */
#include <assert.h>

#include "media/golden.h"
#include "record.h"
#include "worker/serve.h"

#define OUT_BYTES 4096

static const struct recipe recipe = {.resample = RESAMPLE_PILLOW_13, .max_pixels = 1u << 20, .max_bytes = 1u << 20,
	.n_fields = 1,
	.fields = {{.name = "image", .kind = FIELD_IMAGE, .mode = DECODE_RGB, .orientation = ORIENTATION_APPLY,
		.dtype = DTYPE_UINT8, .layout = LAYOUT_HWC, .collate = COLLATE_STACK, .n_steps = 1,
		.steps = {{.kind = STEP_RESIZE, .interpolation = INTERPOLATION_BILINEAR, .h = 16, .w = 16}}}}};

static void at_end(struct conn *c, unsigned can, void *ctx)
{
	uint8_t bytes[WORKMSG_BYTES];
	struct workmsg m;
	ssize_t n;

	while ((n = conn_recv(c, bytes, sizeof(bytes), NULL, NULL)) > 0) {
		assert(workmsg_decode(bytes, (size_t)n, &m) == 0);
		assert(m.type == WORKMSG_DONE || m.type == WORKMSG_READY);
		assert(m.type != WORKMSG_DONE || m.status < 0 || (uint64_t)m.h * m.w * m.c <= OUT_BYTES);
	}
	if (n == -EAGAIN)
		return;
	*(bool *)ctx = true;
	(void)conn_want(c, 0, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct golden *g = &golden_images[0];
	AUTO_FREE uint8_t *in = mem_dup(g->p, g->n);
	AUTO_FREE uint8_t *out = mem_alloc(OUT_BYTES);
	AUTO(loop) struct loop *loop = NULL;
	struct rd r = rd_of(p, n);
	uint8_t bytes[WORKMSG_BYTES];
	struct conn *ours, *theirs;
	bool ended = false;
	void *worker;
	size_t length;

	assert(in && out && loop_new_virtual(&loop) == 0 && conn_pipe(loop, true, 1u << 16, NULL, &ours, &theirs) == 0);
	assert(worker_serve_spawn(NULL, loop, &recipe, in, g->n, out, OUT_BYTES, theirs, &worker) == 0);
	assert(conn_want(ours, CONN_READ, at_end, &ended) == 0);
	while (!ended && (length = record_next(&r, 0, bytes)) > 0) {
		if (conn_send(ours, bytes, length, NULL, 0) < 0)
			break;
		assert(loop_run(loop) == 0);
	}
	conn_close(ours);
	worker_serve_kill(NULL, worker);
	return 0;
}
