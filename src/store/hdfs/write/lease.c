/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/lease.h"

#include <assert.h>

#include "store/hdfs/write/write_message.h"

static void renewed(struct nn_call *call)
{
	struct lease *l = call->ctx;
	uint64_t wait_ns = call->r < 0 ? LEASE_AGAIN_NS : LEASE_RENEW_NS;

	l->calling = false;
	if (call->r == 0)
		l->counters->lease_renewals++;
	nn_call_release(call);
	if (l->n_users)
		timer_set(&l->timer, loop_now(l->loop) + wait_ns);
}

static void renew(struct timer *t)
{
	struct lease *l = container_of(t, struct lease, timer);

	if (l->calling)
		return;
	l->call = (struct nn_call){.method = "renewLease", .kind = NN_IDEMPOTENT, .done = renewed, .ctx = l};
	buf_init(&l->call.body, MESSAGE_MAX);
	put_renew(&l->call.body, nn_client_name(l->nn));
	l->calling = true;
	nn_submit(l->nn, &l->call);
}

int lease_init(struct lease *l, struct loop *loop, struct nn *nn, struct hdfs_counters *counters)
{
	*l = (struct lease){.loop = loop, .nn = nn, .counters = counters};
	timer_init(&l->timer, loop, renew);
	return timer_reserve(&l->timer);
}

void lease_release(struct lease *l)
{
	assert(!l->n_users && !l->calling);
	timer_unreserve(&l->timer);
}

void lease_use(struct lease *l)
{
	if (l->n_users++ == 0 && !l->calling)
		timer_set(&l->timer, loop_now(l->loop) + LEASE_RENEW_NS);
}

void lease_drop(struct lease *l)
{
	if (--l->n_users)
		return;
	timer_clear(&l->timer);
	if (l->calling)
		nn_cancel(&l->call);
}
