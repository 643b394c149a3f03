/* SPDX-License-Identifier: Apache-2.0 */
/*
 * olddog-loader --job NAME | --fd N: started by a rank's library. It returns to whoever started it when it is ready to
 * be connected to, and goes on in the background, so that it outlives that rank.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/scope.h"
#include "base/start.h"
#include "base/str.h"
#include "feed/job.h"
#include "feed/loader.h"
#include "net/capacity.h"
#include "store/store.h"

#define BACKLOG 4096

/* 1: somebody else listens for this job already. */
static int listen_for(const char *job, int *ret_fd, struct err *e)
{
	struct sockaddr_un addr;
	socklen_t n;
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = job_address(job, &addr, &n);

	if (r < 0)
		return err_set(e, r, "the name of job %s: %s", job, err_text(r));
	if (fd < 0)
		return err_set(e, -errno, "a socket: %s", err_text(-errno));
	if (bind(fd, (struct sockaddr *)&addr, n) < 0)
		return errno == EADDRINUSE ? 1 : err_set(e, -errno, "the name of job %s: %s", job, err_text(-errno));
	if (listen(fd, BACKLOG) < 0)
		return err_set(e, -errno, "listening for job %s: %s", job, err_text(-errno));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* What the rank had open is not ours: its sockets and devices must not live as long as we. */
static void close_others(unsigned keep)
{
	if (keep > 3)
		close_range(3, keep - 1, 0);
	close_range(keep + 1, ~0u, 0);
}

/*
 * The rank's output is not ours to hold open: who reads it to its end would wait for us. What we say goes to the file
 * OLDDOG_LOADER_LOG, when there is one, as does what workers say.
 */
static void to_background(void)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const char *path = getenv("OLDDOG_LOADER_LOG");
	AUTO_CLOSE int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;

	/* Ctrl-C at the rank's terminal is for the rank. */
	setsid();
	signal(SIGHUP, SIG_IGN);
	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(log >= 0 ? log : null, STDERR_FILENO);
}

static void tell_counter(void *ctx, const char *name, uint64_t value)
{
	if (value)
		fprintf(stderr, "%s %llu\n", name, (unsigned long long)value);
}

static int serve(int fd, int listening)
{
	struct err e = {0};
	pid_t pid = fork();
	int r;

	if (pid < 0) {
		log_error("fork: %s", err_text(-errno));
		return 1;
	}
	if (pid > 0)
		return 0;
	to_background();
	/* Ranks ask the socket who listens (SO_PEERCRED): not the parent, which has ended by then. */
	if (listening && listen(fd, BACKLOG) < 0)
		log_error("listening: %s", err_text(-errno));
	/* Ranks open another one where they are; a rank that is ended ends its job. */
	memory_end_first(500);
	r = loader_run(fd, listening, &e);
	if (r < 0)
		log_error("%s", e.words);
	store_counters_of_all(tell_counter, NULL);
	return r < 0;
}

static int run_job(const char *job)
{
	struct err e = {0};
	int fd = -1, r;

	close_others(2);
	r = listen_for(job, &fd, &e);
	if (r == 0)
		return serve(fd, 1);
	if (r > 0)
		return 0;
	log_error("%s", e.words);
	return 1;
}

static int run_fd(const char *text)
{
	uint64_t fd;

	if (str_to_u64(str_of(text), &fd) < 0 || fd < 3 || fd > INT32_MAX || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0) {
		log_error("--fd %s is no open descriptor", text);
		return 2;
	}
	close_others((unsigned)fd);
	return serve((int)fd, 0);
}

int main(int argc, char **argv)
{
	start_program();
	log_name("olddog-loader");
	if (argc == 3 && strcmp(argv[1], "--job") == 0)
		return run_job(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--fd") == 0)
		return run_fd(argv[2]);
	log_error("started by olddog.Loader; usage: olddog-loader --job NAME | --fd N");
	return 2;
}
