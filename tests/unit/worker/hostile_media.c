/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder that a hostile sample would make of ours: linked with the real main.c, confine.c and serve.c in place of
 * media/. It tries what the sample's bytes name, and when it lives through that, its one pixel row is the outcome:
 * 0, or errno.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/scope.h"
#include "base/str.h"
#include "media/media.h"
#include "worker/channel.h"

#define CANARY "/canary"

/* What a deed may use. argument is what follows the name: a folder, or the owner's process id. */
struct scene {
	const uint8_t *in;
	uint8_t *out;
	size_t capacity;
	char argument[200];
};

static long owner(const struct scene *s)
{
	int64_t pid = 0;

	(void)str_to_i64(str_of(s->argument), &pid);
	return (long)pid;
}

static long fine(const struct scene *s)
{
	return 0;
}

static long allocate(const struct scene *s)
{
	AUTO_FREE uint8_t *p = mem_alloc(32u << 20);

	if (!p)
		return -1;
	memset(p, 1, 32u << 20);
	p = mem_realloc(p, 64u << 20, 1);
	return p ? 0 : -1;
}

static long open_file(const struct scene *s)
{
	return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}

static long create_file(const struct scene *s)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/created", s->argument);
	return syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0666);
}

static long remove_file(const struct scene *s)
{
	char path[300];

	snprintf(path, sizeof(path), "%s" CANARY, s->argument);
	return syscall(SYS_unlink, path);
}

static long change_mode(const struct scene *s)
{
	char path[300];

	snprintf(path, sizeof(path), "%s" CANARY, s->argument);
	return syscall(SYS_chmod, path, 0777);
}

static long read_proc(const struct scene *s)
{
	return syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY);
}

static long reopen_fd(const struct scene *s)
{
	return syscall(SYS_openat, AT_FDCWD, "/proc/self/fd/3", O_RDWR);
}

static long look(const struct scene *s)
{
	return syscall(SYS_access, "/etc/passwd", R_OK);
}

static long make_socket(const struct scene *s)
{
	return syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static long make_unix_socket(const struct scene *s)
{
	return syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0);
}

static long connect_channel(const struct scene *s)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "\0abstract"};

	return syscall(SYS_connect, CHANNEL_FD, &a, sizeof(a));
}

static long send_elsewhere(const struct scene *s)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "\0abstract"};

	return syscall(SYS_sendto, CHANNEL_FD, "x", 1, 0, &a, sizeof(a));
}

static long send_fd(const struct scene *s)
{
	struct iovec iov = {s->out, 1};
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(size_t)))) = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	return syscall(SYS_sendmsg, CHANNEL_FD, &msg, MSG_NOSIGNAL);
}

static long fork_it(const struct scene *s)
{
	return syscall(SYS_fork);
}

static long clone_thread(const struct scene *s)
{
	return syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL, NULL, NULL, 0);
}

static long clone3(const struct scene *s)
{
	static uint64_t args[11];

	return syscall(SYS_clone3, args, sizeof(args));
}

static long execute(const struct scene *s)
{
	char *argv[] = {(char *)"/bin/true", NULL};

	return syscall(SYS_execve, argv[0], argv, argv + 1);
}

static long trace_owner(const struct scene *s)
{
	return syscall(SYS_ptrace, PTRACE_ATTACH, owner(s), 0, 0);
}

static long trace_me(const struct scene *s)
{
	return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
}

static long write_owner(const struct scene *s)
{
	struct iovec here = {s->out, 1}, there = {s->out, 1};

	return syscall(SYS_process_vm_writev, owner(s), &here, 1, &there, 1, 0);
}

static long kill_owner(const struct scene *s)
{
	return syscall(SYS_kill, owner(s), SIGKILL);
}

static long tgkill_owner(const struct scene *s)
{
	return syscall(SYS_tgkill, owner(s), owner(s), SIGKILL);
}

static long pidfd_owner(const struct scene *s)
{
	return syscall(SYS_pidfd_open, owner(s), 0);
}

static long limit_owner(const struct scene *s)
{
	struct rlimit l = {1, 1};

	return syscall(SYS_prlimit64, owner(s), RLIMIT_CPU, &l, NULL);
}

static long become_dumpable(const struct scene *s)
{
	return syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static long outlive_owner(const struct scene *s)
{
	return syscall(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

static long raise_limit(const struct scene *s)
{
	struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};

	return syscall(SYS_setrlimit, RLIMIT_AS, &l);
}

static long duplicate(const struct scene *s)
{
	return syscall(SYS_dup, CHANNEL_FD);
}

static long make_memfd(const struct scene *s)
{
	return syscall(SYS_memfd_create, "x", 0);
}

static long make_pipe(const struct scene *s)
{
	int fds[2];

	return syscall(SYS_pipe2, fds, 0);
}

static long watch(const struct scene *s)
{
	return syscall(SYS_inotify_init1, 0);
}

static long io_uring(const struct scene *s)
{
	static uint8_t params[256];

	return syscall(SYS_io_uring_setup, 1, params);
}

static long bpf(const struct scene *s)
{
	static uint8_t attr[256];

	return syscall(SYS_bpf, 0, attr, sizeof(attr));
}

static long unshare_it(const struct scene *s)
{
	return syscall(SYS_unshare, CLONE_NEWUSER);
}

static long share_memory(const struct scene *s)
{
	return syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
}

static long write_stdout(const struct scene *s)
{
	return syscall(SYS_write, STDOUT_FILENO, "x", 1);
}

static long write_file_of_owner(const struct scene *s)
{
	return syscall(SYS_pwrite64, CHANNEL_IN_FD, "x", 1, 0);
}

static long map_file(const struct scene *s)
{
	return (long)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, CHANNEL_IN_FD, 0) == -1 ? -1 : 0;
}

static long map_shared(const struct scene *s)
{
	return (long)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == -1 ? -1 : 0;
}

static long map_code(const struct scene *s)
{
	return (long)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -1 ? -1 : 0;
}

static long protect_code(const struct scene *s)
{
	return syscall(SYS_mprotect, (uintptr_t)s->out & ~4095ul, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static long protect_input(const struct scene *s)
{
	return syscall(SYS_mprotect, (uintptr_t)s->in & ~4095ul, 4096, PROT_READ | PROT_WRITE);
}

static long write_input(const struct scene *s)
{
	*(volatile uint8_t *)s->in ^= 0xff;
	return 0;
}

static long write_nowhere(const struct scene *s)
{
	uint8_t *volatile nowhere = (uint8_t *)16;

	*nowhere = 1;
	return 0;
}

/* The output's other end, and what lies behind it. */
static long write_past_output(const struct scene *s)
{
	for (size_t i = 0; i < 64u << 20; i++)
		((volatile uint8_t *)s->out)[i] = 1;
	return 0;
}

static long overflow_stack(const struct scene *s)
{
	volatile uint8_t deep[65536];

	deep[0] = s->in[0];
	return s->capacity ? overflow_stack(s) + deep[0] : 0;
}

static long spin(const struct scene *s)
{
	for (volatile uint64_t i = 0; i < UINT64_MAX; i++)
		continue;
	return 0;
}

#ifdef __x86_64__
static long call_as_x32(const struct scene *s)
{
	return syscall(0x40000000 | SYS_getpid);
}

/* int 0x80: getpid by the numbers of i386. */
static long call_as_i386(const struct scene *s)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory");
	return r;
}
#endif

static const struct deed {
	const char *name;
	long (*fn)(const struct scene *s);
} deeds[] = {
	{"fine", fine}, {"allocate", allocate}, {"open_file", open_file}, {"create_file", create_file},
	{"remove_file", remove_file}, {"change_mode", change_mode}, {"read_proc", read_proc}, {"reopen_fd", reopen_fd},
	{"look", look}, {"make_socket", make_socket}, {"make_unix_socket", make_unix_socket},
	{"connect_channel", connect_channel}, {"send_elsewhere", send_elsewhere}, {"send_fd", send_fd}, {"fork", fork_it},
	{"clone_thread", clone_thread}, {"clone3", clone3}, {"execute", execute}, {"trace_owner", trace_owner},
	{"trace_me", trace_me}, {"write_owner", write_owner}, {"kill_owner", kill_owner}, {"tgkill_owner", tgkill_owner},
	{"pidfd_owner", pidfd_owner}, {"limit_owner", limit_owner}, {"become_dumpable", become_dumpable},
	{"outlive_owner", outlive_owner}, {"raise_limit", raise_limit}, {"duplicate", duplicate},
	{"make_memfd", make_memfd}, {"make_pipe", make_pipe}, {"watch", watch}, {"io_uring", io_uring}, {"bpf", bpf},
	{"unshare", unshare_it}, {"share_memory", share_memory}, {"write_stdout", write_stdout},
	{"write_file_of_owner", write_file_of_owner}, {"map_file", map_file}, {"map_shared", map_shared},
	{"map_code", map_code}, {"protect_code", protect_code}, {"protect_input", protect_input},
	{"write_input", write_input}, {"write_nowhere", write_nowhere}, {"write_past_output", write_past_output},
	{"overflow_stack", overflow_stack}, {"spin", spin},
#ifdef __x86_64__
	{"call_as_x32", call_as_x32}, {"call_as_i386", call_as_i386},
#endif
};

static int allocate_all(struct media_result *ret)
{
	for (size_t i = 0; i < 1u << 16; i++) {
		uint8_t *p = mem_alloc(1u << 20);

		if (!p)
			return -ENOMEM;
		p[0] = 1;
	}
	return 0;
}

int media_run(const struct recipe *recipe, unsigned field, uint64_t position, const uint8_t *in, size_t n, uint8_t *out,
	size_t capacity, struct media_result *ret)
{
	struct scene s = {.in = in, .out = out, .capacity = capacity};
	struct str rest = {(const char *)in, n}, name = str_split(&rest, ' ');
	int32_t outcome = -1;

	if (str_eq(name, "allocate_all"))
		return allocate_all(ret);
	snprintf(s.argument, sizeof(s.argument), "%.*s", STR_ARG(rest));
	for (size_t i = 0; i < N_ELEMS(deeds); i++) {
		if (str_eq(name, deeds[i].name))
			outcome = deeds[i].fn(&s) < 0 ? errno : 0;
	}
	if (outcome < 0)
		return E_BAD_SAMPLE;
	ret->h = ret->c = 1;
	ret->w = sizeof(outcome);
	memcpy(out, &outcome, sizeof(outcome));
	return 0;
}

int media_check_loops(void)
{
	return 1;
}

int media_fingerprint(uint8_t ret[32])
{
	memset(ret, 0, 32);
	return 0;
}
