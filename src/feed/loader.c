/* SPDX-License-Identifier: Apache-2.0 */
/* olddog-loader: from the first connection to the last. */
#include "feed/loader.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "feed/job.h"
#include "feed/loader_int.h"
#include "net/capacity.h"

/* A rank that starts a loader and dies before it connects leaves one that nobody knows of. */
#define IDLE_NS (30 * NS_PER_S)

static void loader_end_if_alone(struct loader *l)
{
	if (l->n_ranks > 0 || l->listen.loop == NULL)
		return;
	/* From here on who connects is refused, and starts another. */
	watch_stop(&l->listen);
	fd_closep(&l->listen.fd);
	l->listen.fd = -1;
}

void loader_rank_gone(struct loader *l, struct rank *r)
{
	rank_free(r);
	l->n_ranks--;
	loader_end_if_alone(l);
	/* Nobody waits for what a thread is looking through; it cannot be told to stop, but the process can end. */
	if (l->n_ranks == 0 && l->n_opening > 0)
		_exit(0);
}

static int accept_one(int listening)
{
	return accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static const char no_descriptors[] = "olddog-loader has no descriptors left for another rank; raise the limit (ulimit -n)";

static void refuse(int fd, const char *words)
{
	const struct rankmsg m = {.type = RANKMSG_FAIL, .code = -EMFILE, .over = true, .words = words};
	AUTO_BUF struct buf bytes;

	buf_init(&bytes, RANKMSG_MAX_BYTES);
	if (fd >= 0 && rankmsg_encode(&m, &bytes) == 0)
		(void)!send(fd, bytes.ptr, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Who is not taken stays in the queue, and would wake us again and again: it is told why, and let go. */
static void refuse_without_descriptors(struct loader *l, int listening)
{
	int fd;

	fd_closep(&l->spare);
	fd = accept_one(listening);
	refuse(fd, no_descriptors);
	fd_closep(&fd);
	l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Half of the descriptors are for data, slots and workers: strangers must not take those from the ranks that are there. */
static bool has_room(const struct loader *l)
{
	return l->n_ranks < descriptors_available() / 2;
}

static void on_connection(struct watch *w, uint32_t revents)
{
	struct loader *l = container_of(w, struct loader, listen);
	AUTO_CLOSE int fd = accept_one(w->fd);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		refuse_without_descriptors(l, w->fd);
	if (fd < 0 || job_peer_check(fd) < 0)
		return;
	if (l->n_ranks >= LOADER_MAX_RANKS || !has_room(l)) {
		refuse(fd, has_room(l) ? "olddog-loader has as many ranks as it can" : no_descriptors);
		return;
	}
	if (rank_new(l, TAKE_FD(fd)) < 0)
		return;
	timer_clear(&l->idle);
	l->n_ranks++;
}

static void on_idle(struct timer *t)
{
	loader_end_if_alone(container_of(t, struct loader, idle));
}

static int start(struct loader *l, int fd, int listening)
{
	int r;

	if (!listening) {
		r = rank_new(l, fd);
		l->n_ranks += r == 0;
		return r;
	}
	r = watch_start(&l->listen, l->loop, fd, EPOLLIN, on_connection);
	return r < 0 ? r : timer_set(&l->idle, loop_now(l->loop) + IDLE_NS);
}

int loader_run(int fd, int listening, struct err *e)
{
	AUTO(loop) struct loop *loop = NULL;
	AUTO(pool) struct pool *pool = NULL;
	struct loader l = {.listen = {.fd = -1}};
	int r = loop_new(&loop);

	r = r < 0 ? r : pool_new(4, &pool);
	if (r < 0)
		return err_set(e, r, "an event loop: %s", err_text(r));
	l.loop = loop;
	l.pool = pool;
	list_init(&l.ranks);
	list_init(&l.plans);
	list_init(&l.engines);
	timer_init(&l.idle, loop, on_idle);
	l.spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r = start(&l, fd, listening);
	r = r < 0 ? r : loop_run(loop);
	return r < 0 ? err_set(e, r, "the loader's loop: %s", err_text(r)) : 0;
}
