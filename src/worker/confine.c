/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/confine.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/scope.h"
#include "base/str.h"

/* Limits. */

/* A limit that is lower already stays: only the mighty may raise one. */
static int limit(int resource, rlim_t n)
{
	struct rlimit l;

	if (getrlimit(resource, &l) < 0)
		return -errno;
	l.rlim_cur = l.rlim_max = MIN(n, l.rlim_max);
	return setrlimit(resource, &l) < 0 ? -errno : 0;
}

/* The address space that is in use; the first number of /proc/self/statm, in pages. 0: not to be told. */
static uint64_t mapped_bytes(void)
{
	AUTO_CLOSE int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct str s = {text, (size_t)MAX(n, 0)};
	uint64_t pages;

	return n < 0 || str_to_u64(str_split(&s, ' '), &pages) < 0 ? 0 : pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Where no /proc says what is mapped already, the limit is of what is private and can be written, as all that decoders take. */
static int limit_memory(uint64_t mapped, size_t n_bytes)
{
	return mapped ? limit(RLIMIT_AS, mapped + n_bytes) : limit(RLIMIT_DATA, n_bytes);
}

static int confine_limits(uint64_t mapped, size_t memory_limit_bytes)
{
	int r = limit(RLIMIT_CORE, 0);

	/* A sanitizer maps terabytes that it never touches, and writes its report to what may be a file. */
	if (r == 0 && !OLDDOG_SANITIZED)
		r = limit_memory(mapped, memory_limit_bytes);
	if (r == 0 && !OLDDOG_SANITIZED)
		r = limit(RLIMIT_FSIZE, 0);
	if (r == 0)
		r = limit(RLIMIT_NOFILE, 0);
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = -errno;
	return r;
}

/*
 * Landlock, by its numbers (linux/landlock.h; glibc has no functions, and the header of the building machine may be older
 * than the kernel of the running one). Everything that the kernel knows how to deny is handled, and nothing is allowed.
 */
struct landlock_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

#define LANDLOCK_GET_VERSION 1u

static const struct landlock_version {
	size_t attr_bytes;
	unsigned n_fs, n_net, n_scoped; /* bits known */
} landlock_versions[] = {
	[1] = {8, 13, 0, 0},
	[2] = {8, 14, 0, 0},	/* refer */
	[3] = {8, 15, 0, 0},	/* truncate */
	[4] = {16, 15, 2, 0},	/* TCP bind, connect */
	[5] = {16, 16, 2, 0},	/* ioctl on devices */
	[6] = {24, 16, 2, 2},	/* abstract sockets, signals */
};

static uint64_t bits(unsigned n)
{
	return (1ull << n) - 1;
}

/* 0, 1: done; or a negative errno. */
static int confine_landlock(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_GET_VERSION);
	const struct landlock_version *v;
	struct landlock_attr attr;
	AUTO_CLOSE int fd = -1;

	if (version < 1)
		return 0;
	v = &landlock_versions[MIN((size_t)version, N_ELEMS(landlock_versions) - 1)];
	attr = (struct landlock_attr){bits(v->n_fs), bits(v->n_net), bits(v->n_scoped)};
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, v->attr_bytes, 0);
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return -errno;
	return 1;
}

/* seccomp. */

struct call_rule {
	int call;
	unsigned n_args;
	struct scmp_arg_cmp args[2];
};

#define ARG_IS(n, v) {(n), SCMP_CMP_EQ, (v), 0}
#define ARG_BITS(n, mask, v) {(n), SCMP_CMP_MASKED_EQ, (mask), (v)}
#define MAP_KIND (MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS)

/*
 * What decoding needs: malloc's memory, never executable and never of a file; the clock, where the vdso has none; what
 * pthread_once() says to nobody; the end. recv and send of the channel are added with its number, without an address
 * and without the calls that can carry descriptors.
 */
static const struct call_rule rules[] = {
	{SCMP_SYS(mmap), 2, {ARG_BITS(2, PROT_EXEC, 0), ARG_BITS(3, MAP_KIND, MAP_PRIVATE | MAP_ANONYMOUS)}},
	{SCMP_SYS(munmap), 0, {}},
	{SCMP_SYS(mremap), 0, {}},
	{SCMP_SYS(brk), 0, {}},
	{SCMP_SYS(madvise), 1, {ARG_IS(2, MADV_DONTNEED)}},
	{SCMP_SYS(clock_gettime), 0, {}},
	{SCMP_SYS(futex), 1, {ARG_IS(1, FUTEX_WAKE_PRIVATE)}},
	{SCMP_SYS(exit_group), 0, {}},
};

/* What a sanitizer's runtime does besides, and what it needs to print its report and abort. */
static const struct call_rule sanitizer_rules[] = {
	{SCMP_SYS(write), 1, {ARG_IS(0, 2)}},
	{SCMP_SYS(mprotect), 1, {ARG_BITS(2, PROT_EXEC, 0)}},
	{SCMP_SYS(madvise), 0, {}},
	{SCMP_SYS(futex), 0, {}},
	{SCMP_SYS(sched_yield), 0, {}},
	{SCMP_SYS(getpid), 0, {}},
	{SCMP_SYS(gettid), 0, {}},
	{SCMP_SYS(sigaltstack), 0, {}},
	{SCMP_SYS(rt_sigaction), 0, {}},
	{SCMP_SYS(rt_sigprocmask), 0, {}},
	{SCMP_SYS(rt_sigreturn), 0, {}},
};

/* And what the report asks for but can do without: these fail, where others kill. */
static const struct call_rule sanitizer_refusals[] = {
	{SCMP_SYS(open), 0, {}},
	{SCMP_SYS(openat), 0, {}},
	{SCMP_SYS(close), 0, {}},
	{SCMP_SYS(readlink), 0, {}},
	{SCMP_SYS(stat), 0, {}},
	{SCMP_SYS(newfstatat), 0, {}},
	{SCMP_SYS(ioctl), 0, {}},
	{SCMP_SYS(pipe), 0, {}},
	{SCMP_SYS(prctl), 0, {}},
};

static int add(scmp_filter_ctx filter, uint32_t action, const struct call_rule *r, size_t n)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < n; i++)
		code = seccomp_rule_add_array(filter, action, r[i].call, r[i].n_args, r[i].args);
	return code;
}

static int allow(scmp_filter_ctx filter, const struct call_rule *r, size_t n)
{
	return add(filter, SCMP_ACT_ALLOW, r, n);
}

/* Numbers that are only known now. */
static int allow_channel(scmp_filter_ctx filter, int fd)
{
	const struct call_rule abort_itself = {SCMP_SYS(tgkill), 1, {ARG_IS(0, (scmp_datum_t)getpid())}};
	const struct call_rule channel[] = {
		{SCMP_SYS(recvfrom), 2, {ARG_IS(0, (scmp_datum_t)fd), ARG_IS(4, 0)}},
		{SCMP_SYS(sendto), 2, {ARG_IS(0, (scmp_datum_t)fd), ARG_IS(4, 0)}},
	};

	int r = allow(filter, channel, N_ELEMS(channel));

	return r == 0 && OLDDOG_SANITIZED ? allow(filter, &abort_itself, 1) : r;
}

static int confine_seccomp(const struct confine_conf *c)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (!filter)
		return -ENOMEM;
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = allow(filter, rules, N_ELEMS(rules));
	if (r == 0 && OLDDOG_SANITIZED)
		r = allow(filter, sanitizer_rules, N_ELEMS(sanitizer_rules));
	if (r == 0 && OLDDOG_SANITIZED)
		r = add(filter, SCMP_ACT_ERRNO(EACCES), sanitizer_refusals, N_ELEMS(sanitizer_refusals));
	if (r == 0)
		r = allow_channel(filter, c->channel_fd);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

int confine(const struct confine_conf *c, unsigned *ret_layers, struct err *e)
{
	unsigned layers = c->layers;
	uint64_t mapped = mapped_bytes();
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;

	if (r < 0)
		return err_set(e, r, "cannot give up new privileges: %s", err_text(r));
	/* A ruleset is a descriptor, so before the limits. */
	if (layers & CONFINE_LANDLOCK)
		r = confine_landlock();
	if (r < 0)
		return err_set(e, r, "Landlock does not take: %s", err_text(r));
	if (r == 0)
		layers &= ~(unsigned)CONFINE_LANDLOCK;
	r = layers & CONFINE_LIMITS ? confine_limits(mapped, c->memory_limit_bytes) : 0;
	if (r < 0)
		return err_set(e, r, "cannot set limits: %s", err_text(r));
	r = layers & CONFINE_SECCOMP ? confine_seccomp(c) : 0;
	if (r < 0)
		return err_set(e, r, "seccomp does not take (the kernel needs CONFIG_SECCOMP_FILTER): %s", err_text(r));
	*ret_layers = layers;
	return 0;
}
