/* SPDX-License-Identifier: Apache-2.0 */
#include "store/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/str.h"

#define TEXT_BYTES 1024
#define HOST_BYTES 17
/* Of /proc/PID/stat, behind the command's name. */
#define START_FIELD 20u

/* The text of a file of /proc, "" when there is none. */
static struct str proc_text(const char *path, char out[static TEXT_BYTES])
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, TEXT_BYTES - 1);

	out[n < 0 ? 0 : n] = 0;
	return str_of(out);
}

/* 0: not known, or there is no such process. */
static uint64_t start_of(uint64_t pid)
{
	char path[64], text[TEXT_BYTES];
	const char *end;
	struct str rest, field = {0};
	uint64_t start;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	proc_text(path, text);
	end = strrchr(text, ')');
	if (!end || end[1] != ' ')
		return 0;
	rest = str_of(end + 2);
	for (unsigned i = 0; i < START_FIELD; i++)
		field = str_split(&rest, ' ');
	return str_to_u64(field, &start) < 0 ? 0 : start;
}

/* The same of all processes that know each other by their numbers; "" when that cannot be told. */
static void host_of(char out[static HOST_BYTES])
{
	char text[TEXT_BYTES], space[64] = "";
	struct str boot = proc_text("/proc/sys/kernel/random/boot_id", text);
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);
	uint64_t hash;

	out[0] = 0;
	if (boot.n == 0 || n <= 0)
		return;
	space[n] = 0;
	hash = xxh3_of(boot.p, boot.n) ^ xxh3_of(space, (size_t)n);
	snprintf(out, HOST_BYTES, "%016llx", (unsigned long long)hash);
}

/* Of this process, which is asked of /proc once for each thread, and again in a child. */
static const char *own_prefix(void)
{
	static _Thread_local struct {
		uint64_t pid;
		char text[TEMPORARY_NAME_BYTES - 17];
	} own;
	uint64_t pid = (uint64_t)getpid();
	char host[HOST_BYTES];

	if (own.pid == pid)
		return own.text;
	host_of(host);
	snprintf(own.text, sizeof(own.text), TEMPORARY_PREFIX "%s-%llu-%llu", host[0] ? host : "0", (unsigned long long)pid,
		(unsigned long long)start_of(pid));
	own.pid = pid;
	return own.text;
}

int temporary_name(char out[static TEMPORARY_NAME_BYTES])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(out, TEMPORARY_NAME_BYTES, "%s-%016llx", own_prefix(), (unsigned long long)random);
	return 0;
}

bool temporary_is(const char *name)
{
	return str_starts(str_of(name), TEMPORARY_PREFIX);
}

/* /proc may hide other users' processes; a signal tells of them too. */
static bool is_gone(uint64_t pid, uint64_t start)
{
	uint64_t now = start_of(pid);

	if (now)
		return now != start;
	return pid > 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

bool temporary_is_abandoned(const char *name)
{
	char host[HOST_BYTES];
	struct str rest, of_host, of_pid, of_start;
	uint64_t pid, start;

	if (!temporary_is(name))
		return false;
	rest = str_of(name + strlen(TEMPORARY_PREFIX));
	of_host = str_split(&rest, '-');
	of_pid = str_split(&rest, '-');
	of_start = str_split(&rest, '-');
	host_of(host);
	if (!host[0] || !str_eq(of_host, host) || str_to_u64(of_pid, &pid) < 0 || str_to_u64(of_start, &start) < 0)
		return false;
	return start && is_gone(pid, start);
}
