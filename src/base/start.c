/* SPDX-License-Identifier: Apache-2.0 */
#include "base/start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* The lowest free descriptor is what open() gives. Not to be read or written: a closed stdout stays an error. */
static void take_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(1);
}

static void raise_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

void start_program(void)
{
	take_closed();
	signal(SIGXFSZ, SIG_IGN);
	raise_descriptors();
}
