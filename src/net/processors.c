/* SPDX-License-Identifier: Apache-2.0 */
#include "net/processors.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>

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

static unsigned of_version_2(const char *mount, struct str group)
{
	char text[64];

	return quota_processors_of_max(read_of_group(mount, group, "cpu.max", text, sizeof(text)));
}

static unsigned of_version_1(const char *mount, struct str group)
{
	char quota[32], period[32];

	return quota_processors(read_of_group(mount, group, "cpu.cfs_quota_us", quota, sizeof(quota)),
		read_of_group(mount, group, "cpu.cfs_period_us", period, sizeof(period)));
}

/* Where distributions mount them. */
static const struct {
	const char *mount, *controller;
	unsigned (*limit)(const char *mount, struct str group);
} hierarchies[] = {
	{"/sys/fs/cgroup", "", of_version_2},
	{"/sys/fs/cgroup/unified", "", of_version_2},
	{"/sys/fs/cgroup/cpu", "cpu", of_version_1},
	{"/sys/fs/cgroup/cpu,cpuacct", "cpu", of_version_1},
};

/*
 * Each group above one limits it too. In a container the text may name a group of the host's, of which only the top is
 * seen, as the container's own: that is found on the way up.
 */
static unsigned limit_by_groups(unsigned n)
{
	char buf[4096];
	const struct str text = read_text("/proc/self/cgroup", buf, sizeof(buf));

	for (unsigned i = 0; i < N_ELEMS(hierarchies); i++) {
		struct str group;

		if (quota_group(text, hierarchies[i].controller, &group) < 0)
			continue;
		do {
			unsigned limit = hierarchies[i].limit(hierarchies[i].mount, group);

			n = limit ? MIN(n, limit) : n;
		} while (quota_group_up(&group));
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
	return limit_by_groups(n_may_run_on());
}
