/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_net.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define MAX_PLACES 32

struct place {
	char host[64];
	uint16_t port;
	enum fake_state state;
	fake_accept *accept;
	void *ctx;
};

struct fake_net {
	struct dialer dialer;
	struct loop *loop;
	struct place places[MAX_PLACES];
	unsigned n_places, n_dials, n_faulty;
	bool limited;
	uint16_t faulty_port;
	struct pipe_faults faults;
	bool has_faults;
	uint64_t dial_ns;
};

/* One dial under way. */
struct try {
	struct fake_net *net;
	struct dial *d;
	char host[64];
	uint16_t port;
	struct timer timer;
};

static struct place *find(struct fake_net *net, const char *host, uint16_t port)
{
	for (unsigned i = 0; i < net->n_places; i++)
		if (net->places[i].port == port && strcmp(net->places[i].host, host) == 0)
			return &net->places[i];
	return NULL;
}

static void try_end(struct try *t, int r, struct conn *conn)
{
	struct dial *d = t->d;

	timer_clear(&t->timer);
	free(t);
	d->attempt = NULL;
	d->done(d, r, conn);
}

static void try_connect(struct try *t, struct place *p)
{
	struct fake_net *net = t->net;
	struct pipe_faults faults = net->faults;
	bool faulty = net->has_faults && (!net->faulty_port || net->faulty_port == p->port) && (!net->limited || net->n_faulty);
	struct conn *a, *b;
	int r;

	faults.seed += net->n_dials;
	net->n_faulty -= faulty && net->limited;
	r = conn_pipe(net->loop, false, FAKE_PIPE_BYTES, faulty ? &faults : NULL, &a, &b);
	if (r < 0) {
		try_end(t, r, NULL);
		return;
	}
	p->accept(p->ctx, b);
	try_end(t, 0, a);
}

static void try_fire(struct timer *timer)
{
	struct try *t = container_of(timer, struct try, timer);
	struct place *p = find(t->net, t->host, t->port);

	if (!p)
		try_end(t, -ENOENT, NULL);
	else if (p->state == FAKE_REFUSES)
		try_end(t, -ECONNREFUSED, NULL);
	else if (p->state == FAKE_IS_SILENT)
		try_end(t, -ETIMEDOUT, NULL);
	else
		try_connect(t, p);
}

static void net_start(struct dialer *dialer, struct dial *d, const char *host, uint16_t port)
{
	struct fake_net *net = container_of(dialer, struct fake_net, dialer);
	struct try *t = calloc(1, sizeof(*t));
	struct place *p = find(net, host, port);
	uint64_t at_ns = loop_now(net->loop) + net->dial_ns;

	assert(t);
	net->n_dials++;
	t->net = net;
	t->d = d;
	t->port = port;
	snprintf(t->host, sizeof(t->host), "%s", host);
	timer_init(&t->timer, net->loop, try_fire);
	if (p && p->state == FAKE_IS_SILENT)
		at_ns = d->deadline_ns ? d->deadline_ns : at_ns + 3600 * NS_PER_S;
	/* The second time it cannot be the one that a test lets fail. */
	if (timer_set(&t->timer, at_ns) < 0)
		assert(timer_set(&t->timer, at_ns) == 0);
	d->dialer = dialer;
	d->attempt = t;
}

static void net_cancel(struct dialer *dialer, struct dial *d)
{
	struct try *t = d->attempt;

	timer_clear(&t->timer);
	free(t);
	d->attempt = NULL;
}

static void net_free(struct dialer *dialer)
{
}

static const struct dialer_ops OPS = {.start = net_start, .cancel = net_cancel, .free = net_free};

struct fake_net *fake_net_new(struct loop *loop)
{
	struct fake_net *net = mem_zalloc(sizeof(*net));

	assert(net);
	net->dialer.ops = &OPS;
	net->loop = loop;
	net->dial_ns = NS_PER_MS;
	return net;
}

void fake_net_free(struct fake_net *net)
{
	mem_free(net);
}

struct dialer *fake_net_dialer(struct fake_net *net)
{
	return &net->dialer;
}

void fake_net_listen(struct fake_net *net, const char *host, uint16_t port, fake_accept *accept, void *ctx)
{
	struct place *p = &net->places[net->n_places++];

	assert(net->n_places <= MAX_PLACES);
	*p = (struct place){.port = port, .state = FAKE_LISTENS, .accept = accept, .ctx = ctx};
	snprintf(p->host, sizeof(p->host), "%s", host);
}

void fake_net_set(struct fake_net *net, const char *host, uint16_t port, enum fake_state state)
{
	struct place *p = find(net, host, port);

	assert(p);
	p->state = state;
}

void fake_net_faults(struct fake_net *net, uint16_t port, const struct pipe_faults *faults, unsigned n_times)
{
	net->has_faults = faults != NULL;
	net->faulty_port = port;
	net->faults = faults ? *faults : (struct pipe_faults){0};
	net->n_faulty = n_times;
	net->limited = n_times > 0;
}

void fake_net_dial_ns(struct fake_net *net, uint64_t ns)
{
	net->dial_ns = ns;
}

unsigned fake_net_n_dials(const struct fake_net *net)
{
	return net->n_dials;
}
