/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to names over TCP. An attempt outlives its dial only while getaddrinfo() runs, which cannot be called back:
 * it then finds that nobody waits, and goes.
 */
#include "net/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/pool.h"

#define RESOLVER_THREADS 8u /* a name service that does not answer holds one for some seconds */

struct tcp_dialer {
	struct dialer dialer;
	struct pool *pool;
	unsigned refs;		/* the user's, one for each attempt, one while the task is posted */
	struct list ended;	/* dials that have their result and were not told yet */
	struct task task;
	bool posted;
};

struct attempt {
	struct tcp_dialer *t;
	struct dial *d;		/* NULL: cancelled while the name was looked up */
	struct job job;
	struct addrinfo *all, *at;
	int r;			/* of the lookup */
	int fd;			/* -1: none */
	struct watch watch;
	char port[8];
	char host[];
};

static void tcp_unref(struct tcp_dialer *t)
{
	if (--t->refs)
		return;
	pool_free(t->pool);
	mem_free(t);
}

static void ended_tell(struct task *task)
{
	struct tcp_dialer *t = container_of(task, struct tcp_dialer, task);
	struct list now, *e;

	t->posted = false;
	list_init(&now);
	/* A done() may dial again, and fail again: that is told at the next turn. */
	while ((e = list_pop(&t->ended)))
		list_add(&now, e);
	while ((e = list_pop(&now))) {
		struct dial *d = container_of(e, struct dial, list);

		d->done(d, d->r, NULL);
	}
	tcp_unref(t);
}

/* The end of a dial that has no attempt (any more): at the next turn, since start may be what fails. */
static void dial_fail_later(struct tcp_dialer *t, struct dial *d, int r)
{
	d->r = r;
	list_add(&t->ended, &d->list);
	if (t->posted)
		return;
	t->posted = true;
	t->refs++;
	t->task.fn = ended_tell;
	loop_post(d->loop, &t->task);
}

static void attempt_close(struct attempt *a)
{
	watch_stop(&a->watch);
	if (a->fd >= 0)
		close(TAKE_FD(a->fd));
}

static void attempt_free(struct attempt *a)
{
	attempt_close(a);
	if (a->all)
		freeaddrinfo(a->all);
	tcp_unref(a->t);
	mem_free(a);
}

static void attempt_fail(struct attempt *a, int r)
{
	struct dial *d = a->d;
	struct tcp_dialer *t = a->t;

	timer_clear(&d->timer);
	d->attempt = NULL;
	/* The dialer lives on: its user has a dial under way. */
	attempt_free(a);
	dial_fail_later(t, d, r);
}

static void attempt_next(struct attempt *a, int r);

static void attempt_succeed(struct attempt *a)
{
	struct dial *d = a->d;
	struct conn *conn;
	int r;

	watch_stop(&a->watch);
	r = conn_of_fd(d->loop, TAKE_FD(a->fd), &conn);
	if (r < 0) {
		attempt_fail(a, r);
		return;
	}
	timer_clear(&d->timer);
	d->attempt = NULL;
	attempt_free(a);
	d->done(d, 0, conn);
}

static void attempt_ready(struct watch *w, uint32_t events)
{
	struct attempt *a = container_of(w, struct attempt, watch);
	socklen_t n = sizeof(int);
	int code = 0;

	(void)events;
	if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &code, &n) < 0)
		code = errno;
	if (code)
		attempt_next(a, -code);
	else
		attempt_succeed(a);
}

/* A connection is under way, or -errno. */
static int attempt_connect(struct attempt *a)
{
	int on = 1;

	a->fd = socket(a->at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0)
		return -errno;
	setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(a->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(a->fd, a->at->ai_addr, a->at->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	return watch_start(&a->watch, a->d->loop, a->fd, EPOLLOUT, attempt_ready);
}

/* One address that does not answer must not use up the time of those behind it. */
static int attempt_arm(struct attempt *a)
{
	uint64_t now_ns = loop_now(a->d->loop), left_ns, n_left = 0;

	if (!a->d->deadline_ns)
		return 0;
	if (a->d->deadline_ns <= now_ns)
		return -ETIMEDOUT;
	for (struct addrinfo *i = a->at; i; i = i->ai_next)
		n_left++;
	left_ns = a->d->deadline_ns - now_ns;
	return timer_set(&a->d->timer, now_ns + left_ns / MAX(n_left, 1));
}

/* The next address, which is a->at; r is why the one before it failed. */
static void attempt_go(struct attempt *a, int r)
{
	for (; a->at; a->at = a->at->ai_next) {
		r = attempt_arm(a);
		if (r < 0)
			break;
		r = attempt_connect(a);
		if (r == 0)
			return;
		attempt_close(a);
	}
	attempt_fail(a, r);
}

static void attempt_next(struct attempt *a, int r)
{
	attempt_close(a);
	a->at = a->at->ai_next;
	attempt_go(a, r);
}

static void dial_late(struct timer *timer)
{
	struct dial *d = container_of(timer, struct dial, timer);
	struct attempt *a = d->attempt;

	if (a->at) {
		attempt_next(a, -ETIMEDOUT);
		return;
	}
	/* Still looked up. */
	d->attempt = NULL;
	a->d = NULL;
	d->done(d, -ETIMEDOUT, NULL);
}

static int resolve_errno(int code)
{
	switch (code) {
	case 0:
		return 0;
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return errno ? -errno : -EIO;
	}
	return -ENOENT;
}

static int resolve(struct attempt *a, int flags)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};

	errno = 0;
	return resolve_errno(getaddrinfo(a->host, a->port, &hints, &a->all));
}

static void resolve_work(struct job *job)
{
	struct attempt *a = container_of(job, struct attempt, job);

	a->r = resolve(a, 0);
}

static void resolve_done(struct job *job)
{
	struct attempt *a = container_of(job, struct attempt, job);

	if (!a->d) {
		attempt_free(a);
		return;
	}
	a->at = a->all;
	attempt_go(a, a->r < 0 ? a->r : -ENOENT);
}

static struct attempt *attempt_new(struct tcp_dialer *t, struct dial *d, const char *host, uint16_t port)
{
	size_t n = strlen(host) + 1;
	struct attempt *a = mem_zalloc(sizeof(*a) + n);

	if (!a)
		return NULL;
	a->t = t;
	t->refs++;
	a->d = d;
	a->fd = -1;
	memcpy(a->host, host, n);
	snprintf(a->port, sizeof(a->port), "%u", port);
	a->job = (struct job){.work = resolve_work, .done = resolve_done};
	d->attempt = a;
	return a;
}

static void tcp_start(struct dialer *dialer, struct dial *d, const char *host, uint16_t port)
{
	struct tcp_dialer *t = container_of(dialer, struct tcp_dialer, dialer);
	struct attempt *a = attempt_new(t, d, host, port);
	int r;

	if (!a) {
		dial_fail_later(t, d, -ENOMEM);
		return;
	}
	/* An address needs no name service, and so no thread. */
	if (resolve(a, AI_NUMERICHOST) == 0) {
		a->at = a->all;
		attempt_go(a, -ENOENT);
		return;
	}
	r = attempt_arm(a);
	if (r < 0)
		attempt_fail(a, r);
	else
		pool_submit(t->pool, d->loop, &a->job);
}

static void tcp_cancel(struct dialer *dialer, struct dial *d)
{
	struct attempt *a = d->attempt;

	(void)dialer;
	list_del(&d->list);
	timer_clear(&d->timer);
	d->attempt = NULL;
	if (!a)
		return;
	if (a->at)
		attempt_free(a);
	else
		a->d = NULL;
}

static void tcp_free(struct dialer *dialer)
{
	tcp_unref(container_of(dialer, struct tcp_dialer, dialer));
}

static const struct dialer_ops tcp_ops = {.start = tcp_start, .cancel = tcp_cancel, .free = tcp_free};

int dialer_new_tcp(struct dialer **ret)
{
	AUTO_FREE struct tcp_dialer *t = mem_zalloc(sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = pool_new(RESOLVER_THREADS, &t->pool);
	if (r < 0)
		return r;
	t->dialer.ops = &tcp_ops;
	t->refs = 1;
	list_init(&t->ended);
	*ret = &TAKE(t)->dialer;
	return 0;
}

void dialer_free(struct dialer *dialer)
{
	if (dialer)
		dialer->ops->free(dialer);
}

void dial_start(struct dialer *dialer, struct dial *d, const char *host, uint16_t port)
{
	d->dialer = dialer;
	d->attempt = NULL;
	list_init(&d->list);
	timer_init(&d->timer, d->loop, dial_late);
	dialer->ops->start(dialer, d, host, port);
}

void dial_cancel(struct dial *d)
{
	d->dialer->ops->cancel(d->dialer, d);
}
