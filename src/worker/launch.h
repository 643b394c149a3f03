/* SPDX-License-Identifier: Apache-2.0 */
/* Starting one olddog-worker, and what became of it. */
#ifndef OLDDOG_WORKER_LAUNCH_H
#define OLDDOG_WORKER_LAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "worker/stall_policy.h"

struct launch {
	const char *program;
	size_t memory_limit_bytes;
	int channel_fd, recipe_fd, in_fd, out_fd; /* the caller's; each at least CHANNEL_N_FDS */
};

/* A process in a process group of its own (so that Ctrl-C at a terminal is its owner's matter). */
int launch_start(const struct launch *l, pid_t *ret_pid, int *ret_pid_fd, struct err *e);
/* Waits for a child that was killed or has ended. Words say how it ended; CPU time, user and system. */
void launch_reap(pid_t pid, char *words, size_t n_words, uint64_t *ret_cpu_ns);
/* CPU time of a child that lives; 0 when that cannot be told. */
uint64_t launch_cpu_ns(pid_t pid);
/* What the kernel says of a child that lives, and of its processor time. */
enum stall_state launch_state(pid_t pid);
/* The path of olddog-worker beside this program; mem_free(). NULL when memory is short. */
char *launch_default_program(void);

#endif
