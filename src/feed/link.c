/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's connection to its job's olddog-loader. */
#include "feed/link.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "feed/job.h"
#include "feed/program.h"

/* Elections may be lost to a loader that is just ending: then there is another. */
#define MAX_ELECTIONS 100
#define PRIVATE_FD 3

extern char **environ;

uint64_t link_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : clock_monotonic_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

static int ms_left(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns(), ms;

	if (deadline_ns == UINT64_MAX)
		return -1;
	if (deadline_ns <= now_ns)
		return 0;
	ms = (deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return (int)MIN(ms, (uint64_t)INT_MAX);
}

int link_init(struct link *l)
{
	*l = (struct link){.fd = -1};
	l->bytes = mem_alloc(RANKMSG_MAX_BYTES);
	return l->bytes ? loop_new(&l->loop) : -ENOMEM;
}

void link_close(struct link *l)
{
	conn_close(l->conn);
	l->conn = NULL;
	l->fd = -1;
}

void link_release(struct link *l)
{
	link_close(l);
	loop_free(l->loop);
	mem_free(l->bytes);
	*l = (struct link){.fd = -1};
}

static int adopt(struct link *l, int fd)
{
	int r = conn_of_fd(l->loop, fd, &l->conn);

	l->fd = r < 0 ? -1 : fd;
	return r;
}

/* Starting one. */

static int spawn_attr(posix_spawnattr_t *attr)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	return posix_spawnattr_setsigmask(attr, &none) || posix_spawnattr_setsigdefault(attr, &all) ||
		posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/*
 * Runs it until it has gone to the background. -ECONNRESET: it was killed, -ECONNABORTED: it gave up. fd: becomes
 * descriptor 3 there, or -1.
 */
static int run_loader(const char *path, const char *option, const char *value, int fd)
{
	char *argv[] = {(char *)"olddog-loader", (char *)option, (char *)value, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int status = 0, r;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	r = -spawn_attr(&attr);
	if (r == 0 && fd >= 0)
		r = -posix_spawn_file_actions_adddup2(&actions, fd, PRIVATE_FD);
	r = r < 0 ? r : -posix_spawn(&pid, path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (r < 0)
		return r;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* Where SIGCHLD is ignored there is no status: then the connection tells. */
	if (status == 0)
		return 0;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? -ECONNRESET : -ECONNABORTED;
}

static int start_loader(const char *option, const char *value, int fd, struct err *e)
{
	AUTO_FREE char *path = NULL;
	int r = program_find("olddog-loader", &path, e);

	if (r < 0)
		return r;
	r = run_loader(path, option, value, fd);
	if (r == -ECONNRESET || r == -ECONNABORTED)
		return err_set(e, r, "%s %s before it listened", path,
			r == -ECONNRESET ? "was killed" : "ended (it says why on stderr)");
	return r < 0 ? err_set(e, r, "%s could not be started: %s", path, err_text(r)) : 0;
}

static int connect_private(struct link *l, struct err *e)
{
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(e, -errno, "a socket pair: %s", err_text(-errno));
	r = start_loader("--fd", "3", fds[1], e);
	close(fds[1]);
	if (r < 0) {
		close(fds[0]);
		return r;
	}
	r = adopt(l, fds[0]);
	return r < 0 ? err_set(e, r, "a connection: %s", err_text(r)) : 0;
}

/* A connecting waits while as many others do as the name's owner lets wait; with no time left, not at all. */
static int limit_wait(int fd, uint64_t deadline_ns)
{
	int ms = ms_left(deadline_ns);
	struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	return ms > 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) < 0 ? -errno : 0;
}

/* 0, -ECONNREFUSED: nobody listens, or -EAGAIN: whoever does takes no more. */
static int connect_once(struct link *l, const char *job, uint64_t deadline_ns, struct err *e)
{
	struct sockaddr_un addr;
	socklen_t n;
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r = job_address(job, &addr, &n);

	if (r < 0)
		return err_set(e, r, "the name of job %s: %s", job, err_text(r));
	if (fd < 0 || limit_wait(fd, deadline_ns) < 0)
		return err_set(e, -errno, "a socket: %s", err_text(-errno));
	if (connect(fd, (struct sockaddr *)&addr, n) < 0)
		return err_set(e, -errno, "connecting to the loader of job %s: %s", job, err_text(-errno));
	if (job_peer_check(fd) < 0)
		return err_set(e, -EACCES, "the loader of job %s is another user's: somebody took its name; set OLDDOG_JOB",
			job);
	return adopt(l, TAKE_FD(fd));
}

static int out_of_time(const char *job, struct err *e)
{
	return err_set(e, -ETIMEDOUT, "no olddog-loader of job %s answered in time", job);
}

int link_connect(struct link *l, const char *job, uint64_t deadline_ns, struct err *e)
{
	int r = -ECONNREFUSED, s = 0;

	if (!job[0])
		return connect_private(l, e);
	for (unsigned i = 0; i < MAX_ELECTIONS && r == -ECONNREFUSED; i++) {
		if (ms_left(deadline_ns) == 0)
			return out_of_time(job, e);
		r = connect_once(l, job, deadline_ns, e);
		if (r == -EINTR || r == -ECONNREFUSED) {
			s = r == -EINTR ? r : start_loader("--job", job, -1, e);
			/* One that was killed is as one that has just ended: there is another. */
			if (s < 0 && s != -ECONNRESET)
				return s;
		}
	}
	if (r == -ECONNREFUSED && s == -ECONNRESET)
		return s; /* with words */
	if (r == -ECONNREFUSED)
		return err_set(e, r, "the name of job %s is taken by somebody who does not listen; set OLDDOG_JOB", job);
	return r == -EAGAIN ? out_of_time(job, e) : r;
}

/* Talking. */

int link_send(struct link *l, const struct rankmsg *m)
{
	AUTO_BUF struct buf b;
	struct pollfd p = {.fd = l->fd, .events = POLLOUT};
	ssize_t n;
	int r;

	if (!l->conn)
		return -EPIPE;
	buf_init(&b, RANKMSG_MAX_BYTES);
	r = rankmsg_encode(m, &b);
	if (r < 0)
		return r;
	/* Its loop reads at once, or is gone: there is no deadlock to be afraid of. */
	while ((n = conn_send(l->conn, b.ptr, b.n, NULL, 0)) == -EAGAIN)
		poll(&p, 1, -1);
	return n < 0 ? (int)n : 0;
}

static int recv_now(struct link *l, struct rankmsg *ret, int *ret_fd)
{
	unsigned n_fds = 1;
	ssize_t n;
	int fd = -1, r;

	n = conn_recv(l->conn, l->bytes, RANKMSG_MAX_BYTES, &fd, &n_fds);
	/* That it is closed is said first, and once; what was sent before that comes after. */
	if (n == -EPIPE) {
		n_fds = 1;
		n = conn_recv(l->conn, l->bytes, RANKMSG_MAX_BYTES, &fd, &n_fds);
	}
	if (n <= 0)
		return n == 0 ? -EPIPE : (int)n;
	r = rankmsg_decode(l->bytes, (size_t)n, ret);
	if (r < 0)
		fd_closep(&fd);
	else
		*ret_fd = n_fds ? fd : -1;
	return r;
}

int link_recv(struct link *l, uint64_t deadline_ns, struct rankmsg *ret, int *ret_fd)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};
	int r;

	if (!l->conn)
		return -EPIPE;
	while ((r = recv_now(l, ret, ret_fd)) == -EAGAIN) {
		int n = poll(&p, 1, ms_left(deadline_ns));

		if (n < 0)
			return -errno;
		if (n == 0)
			return -EAGAIN;
	}
	return r;
}
