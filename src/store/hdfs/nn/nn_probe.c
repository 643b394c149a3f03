/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the NameNodes are: asked when reads may go to observers, and when the active one has gone silent with calls
 * waiting. A NameNode whose process hangs answers nothing and refuses nothing; without asking the others, its calls would
 * wait for a timeout of minutes, although the cluster has failed over long ago.
 */
#include <errno.h>

#include "store/hdfs/nn/nn_int.h"
#include "wire/hadoop/pb.h"

/* Between looks for observers. */
#define LOOK_NS (60 * 1000000000ull)

/* HAServiceStateResponseProto: 1 state: INITIALIZING 0, ACTIVE 1, STANDBY 2, OBSERVER 3. */
static enum nn_state state_of(struct str answer)
{
	struct pb p = pb_of(answer.p, answer.n);
	enum nn_state state = NN_UNKNOWN;

	while (pb_next(&p))
		if (p.field == 1 && p.value <= 3)
			state = (enum nn_state)p.value;
	return p.rd.bad ? NN_UNKNOWN : state;
}

static void on_probed(struct nn_call *call)
{
	struct nn_host *h = container_of(call, struct nn_host, probe);
	struct nn *nn = h->nn;
	struct nn_host *old = &nn->hosts[nn->active];

	h->probing = false;
	nn_call_release(call);
	if (call->r < 0)
		return;
	h->state = state_of(call->answer);
	if (h->state != NN_IS_ACTIVE || h == old)
		return;
	nn->active = (unsigned)(h - nn->hosts);
	nn->counters->nn_failovers++;
	/* Its calls go to the one that answers. */
	if (old->rpc && rpc_is_quiet(old->rpc))
		rpc_end(old->rpc, -ETIMEDOUT);
}

void nn_probe(struct nn *nn, const struct nn_host *but)
{
	for (unsigned i = 0; i < nn->n; i++) {
		struct nn_host *h = &nn->hosts[i];

		if (h == but || h->probing)
			continue;
		h->probing = true;
		h->probe = (struct nn_call){
			.method = "getHAServiceState",
			.kind = NN_ONCE,
			.pinned = true,
			.host = i,
			.done = on_probed,
			.deadline_ns = loop_now(nn->loop) + NN_QUIET_NS,
		};
		buf_init(&h->probe.body, 0);
		nn_submit(nn, &h->probe);
	}
}

/* Reads that an observer answers are not older than what this client has seen before; so it must have seen something. */
static void on_synced(struct nn_call *call)
{
	struct nn *nn = container_of(call, struct nn, msync);

	nn->syncing = false;
	nn_call_release(call);
}

static void look_for_observers(struct nn *nn)
{
	nn->probe_at_ns = loop_now(nn->loop) + LOOK_NS;
	nn_probe(nn, NULL);
	if (nn->syncing || nn->state_id != INT64_MIN)
		return;
	nn->syncing = true;
	nn->msync = (struct nn_call){
		.method = "msync",
		.kind = NN_IDEMPOTENT,
		.done = on_synced,
		.deadline_ns = loop_now(nn->loop) + LOOK_NS,
	};
	buf_init(&nn->msync.body, 0);
	nn_submit(nn, &nn->msync);
}

struct nn_host *nn_observer_for(struct nn *nn, const struct nn_call *call)
{
	uint64_t now_ns;

	if (!nn->conf->observer_reads || call->kind != NN_READ || call->no_observer || nn->n < 2)
		return NULL;
	now_ns = loop_now(nn->loop);
	if (now_ns >= nn->probe_at_ns)
		look_for_observers(nn);
	if (nn->state_id == INT64_MIN)
		return NULL;
	for (unsigned i = 0; i < nn->n; i++)
		if (nn->hosts[i].state == NN_IS_OBSERVER && now_ns >= nn->hosts[i].shun_until_ns)
			return &nn->hosts[i];
	return NULL;
}

static void release(struct nn_call *call, bool *under_way)
{
	if (*under_way)
		nn_forget(call);
	*under_way = false;
	nn_call_release(call);
}

void nn_probe_release(struct nn *nn)
{
	for (unsigned i = 0; i < nn->n; i++)
		release(&nn->hosts[i].probe, &nn->hosts[i].probing);
	release(&nn->msync, &nn->syncing);
}
