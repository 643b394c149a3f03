/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server sends on a connection of Hadoop's RPC while calls wait: every call ends exactly once, whatever it is. The
 * first byte says how the bytes are split on their way.
 */
#include <assert.h>
#include <string.h>

#include "store/hdfs/nn/nn_error.h"
#include "store/hdfs/nn/rpc.h"

#define N_CALLS 4

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static unsigned n_done[N_CALLS];
static struct rpc_call calls[N_CALLS];
static struct rpc *rpc;

static void on_done(struct rpc_call *call, int r, const struct rpc_answer *answer)
{
	char line[64];

	n_done[call - calls]++;
	if (r == 0 && answer->status != RPC_SUCCESS) {
		assert(nn_error_of(answer).r < 0);
		assert(strlen(nn_error_line(answer, line, sizeof(line))) < sizeof(line));
	}
}

static void on_ended(struct rpc *ended, int r, void *ctx)
{
	assert(ended == rpc && r < 0);
	rpc = NULL;
}

static void send_all(struct conn *c, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t sent = conn_send(c, p, n, NULL, 0);

		if (sent < 0)
			return;
		p += sent;
		n -= (size_t)sent;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const uint8_t id[RPC_CLIENT_ID_BYTES];
	struct rpc_conf conf = {.protocol = RPC_CLIENT_PROTOCOL, .user = "a", .client_id = id, .timeout_ns = 1000000000,
		.ended = on_ended};
	struct pipe_faults faults = {.seed = n ? p[0] : 0, .split_ppm = n && p[0] % 2 ? 700000 : 0};
	struct conn *ours, *theirs;
	struct loop *loop;
	int r = loop_new_virtual(&loop);

	if (n == 0 || r < 0)
		return n == 0 && r == 0 ? (loop_free(loop), 0) : 0;
	r = conn_pipe(loop, false, n + 65536, &faults, &ours, &theirs);
	assert(r == 0);
	r = rpc_new(ours, &conf, &rpc);
	assert(r == 0);
	for (unsigned i = 0; i < N_CALLS; i++) {
		n_done[i] = 0;
		calls[i] = (struct rpc_call){.call_id = (int32_t)i, .done = on_done};
		r = rpc_send(rpc, &calls[i], &(struct rpc_head){0}, "m", "", 0);
		assert(r == 0);
	}
	send_all(theirs, p + 1, n - 1);
	/* Those that were not answered end by silence. */
	r = loop_run(loop);
	assert(r == 0);
	for (unsigned i = 0; i < N_CALLS; i++)
		assert(n_done[i] == 1);
	conn_close(theirs);
	rpc_free(rpc);
	rpc = NULL;
	loop_free(loop);
	return 0;
}
