/* SPDX-License-Identifier: Apache-2.0 */
/* One call to one server: dialled, asked, heard, closed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "store/hdfs/nn/nn_error.h"
#include "store/hdfs/nn/rpc.h"

/* The connection goes last: the answer lies in it. */
static void ask_finish(struct rpc_ask *ask, int r)
{
	struct rpc *rpc = TAKE(ask->rpc);

	rpc_forget(&ask->call);
	timer_clear(&ask->timer);
	ask->done(ask, r);
	rpc_free(rpc);
}

static void ask_fail(struct rpc_ask *ask, int r)
{
	ask_finish(ask, err_set(&ask->err, r, "%s: %s", ask->where, err_text(r)));
}

static void ask_done(struct rpc_call *call, int r, const struct rpc_answer *answer)
{
	struct rpc_ask *ask = container_of(call, struct rpc_ask, call);
	char line[256];

	if (r < 0) {
		ask_fail(ask, r);
	} else if (answer->status != RPC_SUCCESS) {
		r = nn_error_of(answer).r;
		ask_finish(ask, err_set(&ask->err, r, "%s: %s", ask->where, nn_error_line(answer, line, sizeof(line))));
	} else {
		ask->answer = answer->body;
		ask_finish(ask, 0);
	}
}

/* The call is told too, when it was sent. */
static void ask_ended(struct rpc *rpc, int r, void *ctx)
{
	struct rpc_ask *ask = ctx;

	ask->rpc = NULL;
}

static void ask_dialled(struct dial *d, int r, struct conn *conn)
{
	struct rpc_ask *ask = d->ctx;
	struct rpc_conf conf = {
		.protocol = ask->protocol,
		.user = ask->user,
		.client_id = ask->client_id,
		.ended = ask_ended,
		.ctx = ask,
	};

	ask->dialling = false;
	ask->connected = r == 0;
	if (r == 0)
		r = rpc_new(conn, &conf, &ask->rpc);
	if (r == 0)
		r = timer_set(&ask->timer, ask->deadline_ns);
	if (r == 0)
		r = rpc_send(ask->rpc, &ask->call, &(struct rpc_head){0}, ask->method, ask->body, ask->n);
	if (r < 0)
		ask_fail(ask, r);
}

static void ask_late(struct timer *t)
{
	ask_fail(container_of(t, struct rpc_ask, timer), -ETIMEDOUT);
}

void rpc_ask(struct rpc_ask *ask, const char *host, uint16_t port)
{
	ask->rpc = NULL;
	ask->err.code = 0;
	ask->connected = false;
	ask->answer = (struct str){"", 0};
	ask->call = (struct rpc_call){.call_id = 0, .done = ask_done};
	timer_init(&ask->timer, ask->loop, ask_late);
	snprintf(ask->where, sizeof(ask->where), "%s:%u", host, port);
	/* Without random numbers the id has no worth, and a single call needs none. */
	if (getrandom(ask->client_id, sizeof(ask->client_id), GRND_NONBLOCK) != (ssize_t)sizeof(ask->client_id))
		memset(ask->client_id, 0, sizeof(ask->client_id));
	ask->dialling = true;
	ask->dial = (struct dial){.loop = ask->loop, .deadline_ns = ask->deadline_ns, .done = ask_dialled, .ctx = ask};
	dial_start(ask->dialer, &ask->dial, host, port);
}

void rpc_ask_cancel(struct rpc_ask *ask)
{
	if (ask->dialling)
		dial_cancel(&ask->dial);
	ask->dialling = false;
	rpc_forget(&ask->call);
	timer_clear(&ask->timer);
	rpc_free(TAKE(ask->rpc));
}
