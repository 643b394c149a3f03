/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/launch.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/scope.h"
#include "net/process.h"
#include "worker/channel.h"

static int put_fds(posix_spawn_file_actions_t *actions, const struct launch *l)
{
	const int from[] = {[CHANNEL_FD] = l->channel_fd, [CHANNEL_RECIPE_FD] = l->recipe_fd,
		[CHANNEL_IN_FD] = l->in_fd, [CHANNEL_OUT_FD] = l->out_fd};
	int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

	/* Nor may a worker write where its owner prints results. */
	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	for (int fd = CHANNEL_FD; r == 0 && fd < CHANNEL_N_FDS; fd++)
		r = posix_spawn_file_actions_adddup2(actions, from[fd], fd);
	/* Others' descriptors may lack O_CLOEXEC. */
	return r == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, CHANNEL_N_FDS) : r;
}

static int put_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &all);
	return r == 0 ? posix_spawnattr_setpgroup(attr, 0) : r;
}

static int launch_spawn(const struct launch *l, pid_t *ret_pid)
{
	char limit[24], set[40], *argv[] = {(char *)l->program, limit, NULL};
	char *environment[] = {(char *)"LC_ALL=C", set, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	snprintf(limit, sizeof(limit), "%zu", l->memory_limit_bytes);
	snprintf(set, sizeof(set), CPU_VARIABLE "=%s", cpu_set_name(cpu_set()));
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r == 0) {
		r = put_fds(&actions, l);
		if (r == 0)
			r = put_attributes(&attr);
		if (r == 0)
			r = posix_spawn(ret_pid, l->program, &actions, &attr, argv, environment);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int launch_start(const struct launch *l, pid_t *ret_pid, int *ret_pid_fd, struct err *e)
{
	char words[64];
	uint64_t cpu_ns;
	pid_t pid;
	int r, fd;

	r = launch_spawn(l, &pid);
	if (r < 0)
		return err_set(e, r, "cannot start the decoding process %s: %s", l->program, err_text(r));
	fd = pidfd_open(pid, 0);
	if (fd < 0) {
		r = -errno;
		kill(pid, SIGKILL);
		launch_reap(pid, words, sizeof(words), &cpu_ns);
		return err_set(e, r, "cannot watch a decoding process: %s%s", err_text(r),
			r == -ENOSYS || r == -EPERM ? " (pidfd_open; Linux 5.3 is needed)" : "");
	}
	*ret_pid = pid;
	*ret_pid_fd = fd;
	return 0;
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

void launch_reap(pid_t pid, char *words, size_t n_words, uint64_t *ret_cpu_ns)
{
	struct rusage usage = {0};
	int status = 0;
	pid_t r;

	do
		r = wait4(pid, &status, 0, &usage);
	while (r < 0 && errno == EINTR);
	*ret_cpu_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
	/* A program that reaps all children takes ours too; it is gone all the same. */
	if (r < 0)
		snprintf(words, n_words, "ended");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		snprintf(words, n_words, "ended by SIGKILL (the kernel's, if memory was short)");
	else if (WIFSIGNALED(status))
		snprintf(words, n_words, "ended by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "?");
	else
		snprintf(words, n_words, "ended with status %d", WEXITSTATUS(status));
}

uint64_t launch_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

enum stall_state launch_state(pid_t pid)
{
	siginfo_t info = {0};

	/* Needs no /proc, and takes the news from nobody. */
	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
		return STALL_STOPPED;
	switch (process_state(pid, NULL)) {
	case 'T':
	case 't':
		return STALL_STOPPED;
	case 'R':
		return STALL_RUNS;
	case 'S':
		return STALL_SLEEPS;
	default:
		return STALL_UNKNOWN;
	}
}

char *launch_default_program(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));

	while (n > 0 && self[n - 1] != '/')
		n--;
	return mem_printf("%.*solddog-worker", (int)MAX(n, 0), self);
}
