/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker gives up before it reads a stranger's first byte. Three layers, each of which holds by itself:
 *
 *	limits		no more memory than allowed, no new descriptor, no file grows, no core; no new privileges, no ptrace
 *	Landlock	(Linux 5.13) no file, no TCP port, no other process's abstract socket or signals
 *	seccomp		memory, one socket's messages, the clock and the end; any other system call kills the process
 *
 * doc/design/0006-worker.md says why, and what differs under a sanitizer.
 */
#ifndef OLDDOG_WORKER_CONFINE_H
#define OLDDOG_WORKER_CONFINE_H

#include <stddef.h>

#include "base/err.h"

enum confine_layer { CONFINE_LIMITS = 1, CONFINE_LANDLOCK = 2, CONFINE_SECCOMP = 4, CONFINE_ALL = 7 };

struct confine_conf {
	unsigned layers;		/* CONFINE_ALL but in tests of one layer */
	size_t memory_limit_bytes;	/* of address space, beyond what is mapped now; without /proc: of data */
	int channel_fd;			/* the one socket */
};

/* Cannot be undone. A kernel without Landlock is no error; then *ret_layers lacks it. */
int confine(const struct confine_conf *c, unsigned *ret_layers, struct err *e);

#endif
