/* SPDX-License-Identifier: Apache-2.0 */
/* Open descriptors of this process, so that a leak is seen. */
#ifndef OLDDOG_TESTS_OPEN_FDS_H
#define OLDDOG_TESTS_OPEN_FDS_H

#include <dirent.h>

static inline unsigned n_open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

#endif
