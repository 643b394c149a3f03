/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/nn/nn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "store/hdfs/nn/nn_error.h"
#include "store/hdfs/nn/nn_int.h"

/* dfs.client.retry.max.attempts */
#define MAX_REPEATS 10u

static void call_place(struct nn_call *call);
static void on_call_timer(struct timer *t);

/* Beginning and end. */

static void set_limits(struct nn *nn)
{
	const struct hdfs_conf *c = nn->conf;

	nn->limits = (struct nn_limits){
		.n_namenodes = nn->n,
		.max_failovers = c->failover_max_attempts,
		.max_repeats = MAX_REPEATS,
		.connect_retries = c->connect_retries,
		.base_ns = c->failover_base_ms * NS_PER_MS,
		.max_ns = c->failover_max_ms * NS_PER_MS,
		.connect_timeout_ns = c->connect_timeout_ms * NS_PER_MS,
	};
}

/* On virtual time pauses are the same in each run; the id must be unique in either case. */
static int set_ids(struct nn *nn)
{
	uint64_t seed = 0;

	if (getrandom(nn->client_id, sizeof(nn->client_id), 0) != (ssize_t)sizeof(nn->client_id))
		return -EIO;
	if (!loop_is_virtual(nn->loop))
		memcpy(&seed, nn->client_id, sizeof(seed));
	nn->key = philox_key_of(seed, "namenode");
	memcpy(&seed, nn->client_id + 8, sizeof(seed));
	snprintf(nn->client_name, sizeof(nn->client_name), "DFSClient_NONMAPREDUCE_%u_1", (unsigned)(seed & INT32_MAX));
	return 0;
}

int nn_new(struct loop *loop, const struct hdfs_conf *conf, struct dialer *dialer, struct hdfs_counters *counters,
	struct nn **ret)
{
	AUTO(nn) struct nn *nn = mem_zalloc(sizeof(*nn));
	uint32_t u[4];
	int r;

	if (!nn)
		return -ENOMEM;
	assert(conf->n_namenodes > 0 && conf->n_namenodes <= HDFS_MAX_NAMENODES);
	nn->loop = loop;
	nn->conf = conf;
	nn->dialer = dialer;
	nn->counters = counters;
	nn->n = conf->n_namenodes;
	nn->state_id = INT64_MIN;
	list_init(&nn->ended);
	for (unsigned i = 0; i < nn->n; i++) {
		nn->hosts[i].nn = nn;
		nn->hosts[i].at = &conf->namenodes[i];
		list_init(&nn->hosts[i].waiting);
	}
	set_limits(nn);
	r = set_ids(nn);
	if (r < 0)
		return r;
	philox(nn->key, nn->n_pauses++, 0, 0, u);
	nn->active = conf->random_order ? u[0] % nn->n : 0;
	*ret = TAKE(nn);
	return 0;
}

void nn_free(struct nn *nn)
{
	if (!nn)
		return;
	nn_probe_release(nn);
	for (unsigned i = 0; i < nn->n; i++) {
		struct nn_host *h = &nn->hosts[i];

		assert(list_empty(&h->waiting));
		if (h->dialling)
			dial_cancel(&h->dial);
		rpc_free(h->rpc);
	}
	/* A task that is posted cannot be taken back: it frees. */
	nn->dead = nn->telling;
	if (!nn->dead)
		mem_free(nn);
}

const char *nn_client_name(const struct nn *nn)
{
	return nn->client_name;
}

const char *nn_host_name(const struct nn_host *h, char *out, size_t n)
{
	if (h->at->id && h->at->id[0])
		snprintf(out, n, "%s (%s:%u)", h->at->id, h->at->rpc.host, h->at->rpc.port);
	else
		snprintf(out, n, "%s:%u", h->at->rpc.host, h->at->rpc.port);
	return out;
}

/* The end of a call. */

void nn_call_release(struct nn_call *call)
{
	buf_release(&call->body);
}

static void tell_ended(struct task *t)
{
	struct nn *nn = container_of(t, struct nn, tell);
	struct list now, *e;

	nn->telling = false;
	if (nn->dead) {
		mem_free(nn);
		return;
	}
	list_init(&now);
	while ((e = list_pop(&nn->ended)))
		list_add(&now, e);
	/* After its last call nn may be gone. */
	while ((e = list_pop(&now))) {
		struct nn_call *call = container_of(e, struct nn_call, list);

		call->done(call);
	}
}

void nn_forget(struct nn_call *call)
{
	rpc_forget(&call->rpc);
	list_del(&call->list);
	timer_clear(&call->timer);
}

/* Told at the next turn: it may be found inside nn_submit(). */
static void call_fail(struct nn_call *call, int r)
{
	struct nn *nn = call->nn;

	nn_forget(call);
	call->r = r;
	call->ended = true;
	list_add(&nn->ended, &call->list);
	if (nn->telling)
		return;
	nn->telling = true;
	nn->tell.fn = tell_ended;
	loop_post(nn->loop, &nn->tell);
}

void nn_cancel(struct nn_call *call)
{
	if (call->ended)
		return;
	err_set(&call->err, -ECANCELED, "%s was cancelled", call->method);
	call_fail(call, -ECANCELED);
}

/* Each NameNode with what it said. */
static void words_of_all(struct nn_call *call, int r)
{
	struct nn *nn = call->nn;
	const char *service = nn->conf->nameservice ? nn->conf->nameservice : "";
	char words[sizeof(call->err.words)], name[160];
	size_t at = 0;

	words[0] = 0;
	for (unsigned i = 0; i < nn->n && at < sizeof(words); i++) {
		const struct nn_host *h = &nn->hosts[i];

		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s%s: %s", i ? "; " : "",
			nn_host_name(h, name, sizeof(name)), h->said[0] ? h->said : "was not asked");
	}
	err_set(&call->err, r, "no NameNode%s%s did %s: %s", service[0] ? " of " : "", service, call->method, words);
}

static void give_up(struct nn_call *call, enum nn_fault fault, int r)
{
	struct nn_host *h = &call->nn->hosts[call->host];
	char name[160];

	if (fault == NN_ANSWERED || call->nn->n == 1 || call->pinned)
		err_set(&call->err, r, "%s: %s", nn_host_name(h, name, sizeof(name)), h->said);
	else
		words_of_all(call, r);
	call_fail(call, r);
}

/* What becomes of a call that has failed on its host. */

static int call_arm(struct nn_call *call)
{
	uint64_t at_ns = call->deadline_ns ? call->deadline_ns : UINT64_MAX;

	if (call->resume_ns)
		at_ns = MIN(at_ns, call->resume_ns);
	if (at_ns != UINT64_MAX)
		return timer_set(&call->timer, at_ns);
	timer_clear(&call->timer);
	return 0;
}

static void call_again(struct nn_call *call, uint64_t delay_ns)
{
	if (!delay_ns) {
		call_place(call);
		return;
	}
	call->resume_ns = loop_now(call->nn->loop) + delay_ns;
	if (call_arm(call) < 0)
		call_fail(call, err_set(&call->err, -ENOMEM, "%s: no memory", call->method));
}

/* The next in turn; those that are observers only when there are no others. */
static void turn_from(struct nn *nn, unsigned host)
{
	if (nn->active != host)
		return;
	for (unsigned i = 1; i <= nn->n; i++) {
		nn->active = (host + i) % nn->n;
		if (nn->hosts[nn->active].state != NN_IS_OBSERVER)
			break;
	}
	nn->counters->nn_failovers++;
}

/* Waiting for a NameNode to be there does not use up the patience with what it says then. */
static unsigned *tries_of(struct nn_call *call, enum nn_fault fault)
{
	return fault == NN_REFUSED || fault == NN_CONNECT_TIMEOUT ? &call->tries.n_connects : &call->tries.n_repeats;
}

static void call_fault(struct nn_call *call, enum nn_fault fault, int r)
{
	struct nn *nn = call->nn;
	struct nn_verdict v;
	uint32_t u[4];

	philox(nn->key, nn->n_pauses++, 0, 0, u);
	v = nn_decide(&nn->limits, call->kind, fault, call->on_observer, &call->tries, u[0]);
	if (v.action == NN_END || (call->pinned && v.action != NN_REPEAT)) {
		give_up(call, fault, r);
		return;
	}
	call->tries.n_cuts += fault == NN_CUT || fault == NN_CUT_UNSENT;
	if (v.action == NN_REPEAT) {
		++*tries_of(call, fault);
	} else if (v.action == NN_FAIL_OVER) {
		call->tries.n_failovers++;
		call->tries.n_cuts = 0;
		turn_from(nn, call->host);
	} else {
		call->no_observer = true;
		if (fault != NN_TRY_ACTIVE)
			nn->hosts[call->host].shun_until_ns = loop_now(nn->loop) + NN_SHUN_NS;
	}
	call_again(call, v.delay_ns);
}

static void on_call_timer(struct timer *t)
{
	struct nn_call *call = container_of(t, struct nn_call, timer);
	const char *said = call->nn->hosts[call->host].said;

	if (call->deadline_ns && loop_now(call->nn->loop) >= call->deadline_ns) {
		call_fail(call, err_set(&call->err, -ETIMEDOUT, "%s: no answer in time%s%s", call->method,
			said[0] ? "; last: " : "", said));
		return;
	}
	call->resume_ns = 0;
	if (call_arm(call) < 0)
		call_fail(call, err_set(&call->err, -ENOMEM, "%s: no memory", call->method));
	else
		call_place(call);
}

/* Answers. */

static void learn_state_id(struct nn *nn, const struct rpc_answer *answer)
{
	if (answer->has_state_id && answer->state_id > nn->state_id)
		nn->state_id = answer->state_id;
}

static void call_ended(struct nn_call *call, int r)
{
	if (r != -ETIMEDOUT)
		call_fault(call, call->rpc.sent ? NN_CUT : NN_CUT_UNSENT, r);
	else
		call_fault(call, call->rpc.sent ? NN_SILENT : NN_CONNECT_TIMEOUT, r);
}

static void on_answer(struct rpc_call *rc, int r, const struct rpc_answer *answer)
{
	struct nn_call *call = container_of(rc, struct nn_call, rpc);
	struct nn_host *h = &call->nn->hosts[call->host];
	struct nn_error e;

	if (r < 0) {
		call_ended(call, r);
		return;
	}
	learn_state_id(call->nn, answer);
	if (answer->status == RPC_SUCCESS) {
		h->said[0] = 0;
		call->answer = answer->body;
		call->ended = true;
		timer_clear(&call->timer);
		call->done(call);
		return;
	}
	e = nn_error_of(answer);
	nn_error_line(answer, h->said, sizeof(h->said));
	if (e.fault == NN_STANDBY && !call->on_observer)
		h->state = h->state == NN_IS_OBSERVER ? NN_IS_OBSERVER : NN_IS_STANDBY;
	call_fault(call, e.fault, e.r);
}

/* Connections. */

static void on_rpc_ended(struct rpc *rpc, int r, void *ctx)
{
	struct nn_host *h = ctx;

	h->rpc = NULL;
	snprintf(h->said, sizeof(h->said), "%s", r == -ETIMEDOUT ? "no answer" : err_text(r));
}

static void on_rpc_quiet(struct rpc *rpc, void *ctx)
{
	struct nn_host *h = ctx;

	if (h == &h->nn->hosts[h->nn->active])
		nn_probe(h->nn, h);
}

static enum nn_fault fault_of_dial(int r)
{
	if (r == -ETIMEDOUT)
		return NN_CONNECT_TIMEOUT;
	return r == -ENOENT ? NN_NO_NAME : NN_REFUSED;
}

static void call_send(struct nn_host *h, struct nn_call *call)
{
	struct nn *nn = h->nn;
	struct rpc_head head = {
		.retry = call->retry,
		.state_id = nn->conf->observer_reads ? &nn->state_id : NULL,
	};
	int r;

	r = rpc_send(h->rpc, &call->rpc, &head, call->method, call->body.ptr, call->body.n);
	if (r == -ENOMEM) {
		call_fail(call, err_set(&call->err, r, "%s: no memory", call->method));
		return;
	}
	if (r < 0) {
		snprintf(h->said, sizeof(h->said), "takes no more calls");
		call_fault(call, NN_BUSY, r);
		return;
	}
	nn->counters->nn_calls++;
	nn->counters->nn_repeats += call->retry > 0;
	call->retry++;
}

static int host_connect(struct nn_host *h, struct conn *conn)
{
	struct nn *nn = h->nn;
	struct rpc_conf conf = {
		.protocol = RPC_CLIENT_PROTOCOL,
		.user = nn->conf->user,
		.client_id = nn->client_id,
		.timeout_ns = nn->conf->rpc_timeout_ms * NS_PER_MS,
		.quiet_ns = nn->n > 1 ? NN_QUIET_NS : 0,
		.quiet = on_rpc_quiet,
		.ended = on_rpc_ended,
		.ctx = h,
	};

	nn->counters->nn_connects++;
	return rpc_new(conn, &conf, &h->rpc);
}

/* -ENOENT would be told of the path that was asked for: it is there or not, for all that is known. */
static int refused_dial(struct nn_host *h, int r)
{
	const char *origin = h->nn->conf->origin;

	if (r != -ENOENT) {
		snprintf(h->said, sizeof(h->said), "%s", r == -EAGAIN ? "the name service does not answer" : err_text(r));
		return r;
	}
	snprintf(h->said, sizeof(h->said), "no such host%s%s", origin ? "; " : "", origin ? origin : "");
	return -EHOSTUNREACH;
}

static void on_dialled(struct dial *d, int r, struct conn *conn)
{
	struct nn_host *h = d->ctx;
	enum nn_fault fault;
	struct list now, *e;

	h->dialling = false;
	if (r == 0)
		r = host_connect(h, conn);
	h->n_failed = r < 0 ? h->n_failed + 1 : 0;
	fault = fault_of_dial(r);
	if (r < 0)
		r = refused_dial(h, r);
	list_init(&now);
	while ((e = list_pop(&h->waiting)))
		list_add(&now, e);
	while ((e = list_pop(&now))) {
		struct nn_call *call = container_of(e, struct nn_call, list);

		if (r < 0)
			call_fault(call, fault, r);
		else
			call_send(h, call);
	}
}

static void host_dial(struct nn_host *h)
{
	struct nn *nn = h->nn;

	h->dialling = true;
	h->dial = (struct dial){
		.loop = nn->loop,
		.deadline_ns = loop_now(nn->loop) + nn_connect_ns(&nn->limits, h->n_failed),
		.done = on_dialled,
		.ctx = h,
	};
	dial_start(nn->dialer, &h->dial, h->at->rpc.host, h->at->rpc.port);
}

/* Calls. */

static void call_place(struct nn_call *call)
{
	struct nn *nn = call->nn;
	struct nn_host *h = call->pinned ? &nn->hosts[call->host] : nn_observer_for(nn, call);

	call->on_observer = h && !call->pinned;
	h = h ? h : &nn->hosts[nn->active];
	call->host = (unsigned)(h - nn->hosts);
	if (h->rpc) {
		call_send(h, call);
		return;
	}
	list_add(&h->waiting, &call->list);
	if (!h->dialling)
		host_dial(h);
}

void nn_submit(struct nn *nn, struct nn_call *call)
{
	int r;

	call->nn = nn;
	call->r = 0;
	call->answer = (struct str){"", 0};
	call->err.code = 0;
	call->err.words[0] = 0;
	call->rpc = (struct rpc_call){.call_id = nn->call_id, .done = on_answer};
	nn->call_id = nn->call_id == INT32_MAX ? 0 : nn->call_id + 1;
	list_init(&call->list);
	timer_init(&call->timer, nn->loop, on_call_timer);
	call->resume_ns = 0;
	call->retry = 0;
	call->tries = (struct nn_tries){0};
	call->on_observer = call->no_observer = call->ended = false;
	r = call->body.r < 0 ? call->body.r : call_arm(call);
	if (r < 0)
		call_fail(call, err_set(&call->err, r, "%s: %s", call->method, err_text(r)));
	else
		call_place(call);
}
