/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel allows, out of its files. */
#include "net/capacity.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/scope.h"
#include "net/quota.h"

/* A kernel's file, as far as it fits; empty when there is none. */
static struct str read_text(const char *path, char *to, size_t n)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, to, n);

	return (struct str){to, (size_t)MAX(got, 0)};
}

static struct str read_of_group(const char *mount, struct str group, const char *name, char *to, size_t n)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%.*s/%s", mount, STR_ARG(group), name) >= (int)sizeof(path))
		return (struct str){to, 0};
	return read_text(path, to, n);
}

/* Limits of one group; UINT64_MAX: none. */

static uint64_t processors_or_none(unsigned n)
{
	return n ? n : UINT64_MAX;
}

static uint64_t processors_of_version_2(const char *mount, struct str group)
{
	char text[64];

	return processors_or_none(quota_processors_of_max(read_of_group(mount, group, "cpu.max", text, sizeof(text))));
}

static uint64_t processors_of_version_1(const char *mount, struct str group)
{
	char quota[32], period[32];

	return processors_or_none(quota_processors(read_of_group(mount, group, "cpu.cfs_quota_us", quota, sizeof(quota)),
		read_of_group(mount, group, "cpu.cfs_period_us", period, sizeof(period))));
}

/* "max", or a number; version 1 says a very large one. */
static uint64_t bytes_of(const char *mount, struct str group, const char *name)
{
	char text[32];
	uint64_t n;

	return str_to_u64(str_trim(read_of_group(mount, group, name, text, sizeof(text))), &n) < 0 ? UINT64_MAX : n;
}

static uint64_t memory_of_version_2(const char *mount, struct str group)
{
	return MIN(bytes_of(mount, group, "memory.max"), bytes_of(mount, group, "memory.high"));
}

static uint64_t memory_of_version_1(const char *mount, struct str group)
{
	return bytes_of(mount, group, "memory.limit_in_bytes");
}

/* Where distributions mount them. */
struct hierarchy {
	const char *mount, *controller;
	uint64_t (*limit)(const char *mount, struct str group);
};

static const struct hierarchy of_processors[] = {
	{"/sys/fs/cgroup", "", processors_of_version_2},
	{"/sys/fs/cgroup/unified", "", processors_of_version_2},
	{"/sys/fs/cgroup/cpu", "cpu", processors_of_version_1},
	{"/sys/fs/cgroup/cpu,cpuacct", "cpu", processors_of_version_1},
};

static const struct hierarchy of_memory[] = {
	{"/sys/fs/cgroup", "", memory_of_version_2},
	{"/sys/fs/cgroup/unified", "", memory_of_version_2},
	{"/sys/fs/cgroup/memory", "memory", memory_of_version_1},
};

/*
 * Each group above one limits it too. In a container the text may name a group of the host's, of which only the top is
 * seen, as the container's own: that is found on the way up.
 */
static uint64_t limit_by_groups(uint64_t n, const struct hierarchy *hierarchies, unsigned n_hierarchies)
{
	char buf[4096];
	const struct str text = read_text("/proc/self/cgroup", buf, sizeof(buf));

	for (unsigned i = 0; i < n_hierarchies; i++) {
		const struct hierarchy *h = &hierarchies[i];
		struct str group;

		if (quota_group(text, h->controller, &group) < 0)
			continue;
		do
			n = MIN(n, h->limit(h->mount, group));
		while (quota_group_up(&group));
	}
	return n;
}

static unsigned n_may_run_on(void)
{
	/* One set is too small for a kernel of more than 1,024 processors. */
	cpu_set_t sets[64];
	int n = sched_getaffinity(0, sizeof(sets), sets) < 0 ? 1 : CPU_COUNT_S(sizeof(sets), sets);

	return (unsigned)MAX(n, 1);
}

unsigned processors_available(void)
{
	return (unsigned)limit_by_groups(n_may_run_on(), of_processors, N_ELEMS(of_processors));
}

uint64_t memory_available(void)
{
	uint64_t n = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return limit_by_groups(n, of_memory, N_ELEMS(of_memory));
}

uint64_t descriptors_available(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 1024 : limit.rlim_cur;
}

void memory_end_first(unsigned score)
{
	AUTO_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		dprintf(fd, "%u", score);
}
