/* SPDX-License-Identifier: Apache-2.0 */
/* Questions side by side, and the wait for all of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/hdfs/doctor/doctor.h"
#include "store/hdfs/nn/rpc.h"

/* In the run's arena, as all that is asked. */
struct question {
	struct doctor_run *run;
	struct doctor_answer *to;
	uint64_t began_ns;
	const ProtobufCMessageDescriptor *descriptor;
	struct buf body;
	struct rpc_ask ask;
	struct dial dial;
};

static struct question *question_new(struct doctor_run *run, struct doctor_answer *to)
{
	struct question *q = arena_alloc(&run->arena, sizeof(*q));

	*to = (struct doctor_answer){.asked = true, .r = -ENOMEM};
	if (!q) {
		snprintf(to->words, sizeof(to->words), "%s", err_text(-ENOMEM));
		return NULL;
	}
	q->run = run;
	q->to = to;
	q->began_ns = loop_now(run->loop);
	run->n_pending++;
	run->idle = false;
	return q;
}

static void question_end(struct question *q, int r, const char *words)
{
	struct doctor_run *run = q->run;

	q->to->r = r;
	q->to->ns = loop_now(run->loop) - q->began_ns;
	if (r < 0)
		snprintf(q->to->words, sizeof(q->to->words), "%s", words && *words ? words : err_text(r));
	buf_release(&q->body);
	run->idle = --run->n_pending == 0;
}

/* The words without the server's name in front, which stands there anyway. */
static const char *bare_words(const struct rpc_ask *ask)
{
	size_t n = strlen(ask->where);
	const char *words = ask->err.words;

	return ask->err.code && strncmp(words, ask->where, n) == 0 && strncmp(words + n, ": ", 2) == 0 ? words + n + 2 : words;
}

static void on_answer(struct rpc_ask *ask, int r)
{
	struct question *q = ask->ctx;

	q->to->connected = ask->connected;
	if (r == 0 && q->descriptor) {
		q->to->message = message_unpack(&q->run->arena, q->descriptor, ask->answer);
		if (!q->to->message) {
			question_end(q, E_PROTOCOL, "its answer cannot be understood");
			return;
		}
	}
	question_end(q, r, r < 0 ? bare_words(ask) : NULL);
}

void doctor_ask(struct doctor_run *run, const struct hdfs_address *at, const char *protocol, const char *method,
	const ProtobufCMessage *request, const ProtobufCMessageDescriptor *descriptor, struct doctor_answer *to)
{
	struct question *q = question_new(run, to);
	int r;

	if (!q)
		return;
	buf_init(&q->body, 1u << 20);
	r = message_pack(&q->body, request);
	if (r < 0) {
		question_end(q, r, NULL);
		return;
	}
	q->descriptor = descriptor;
	q->ask = (struct rpc_ask){.loop = run->loop, .dialer = run->dialer, .protocol = protocol, .user = run->conf->user,
		.method = method, .body = q->body.ptr ? q->body.ptr : (const void *)"", .n = q->body.n,
		.deadline_ns = q->began_ns + run->facts.timeout_ns, .done = on_answer, .ctx = q};
	rpc_ask(&q->ask, at->host, at->port);
}

static void on_dialled(struct dial *dial, int r, struct conn *conn)
{
	struct question *q = dial->ctx;

	q->to->connected = r == 0;
	if (r == 0)
		conn_close(conn);
	question_end(q, r, NULL);
}

void doctor_connect(struct doctor_run *run, const char *host, uint16_t port, struct doctor_answer *to)
{
	struct question *q = question_new(run, to);

	if (!q)
		return;
	q->dial = (struct dial){.loop = run->loop, .deadline_ns = q->began_ns + run->facts.timeout_ns, .done = on_dialled,
		.ctx = q};
	dial_start(run->dialer, &q->dial, host, port);
}

void doctor_wait(struct doctor_run *run)
{
	if (run->n_pending)
		loop_run_until(run->loop, &run->idle);
}
