/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that an owner shares with its workers: a memfd, mapped here, of a size that nobody can change any more (a worker
 * that could shrink it would kill its owner by SIGBUS).
 */
#ifndef OLDDOG_WORKER_SHARED_H
#define OLDDOG_WORKER_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct shared {
	int fd;		/* above the numbers that a worker gets; O_CLOEXEC. -1: none */
	uint8_t *p;
	size_t n;
};

enum shared_use {
	SHARED_IN,	/* writable through this mapping only, made before the seal */
	SHARED_OUT,	/* writable by both sides */
};

int shared_new(enum shared_use use, size_t n, struct shared *ret, struct err *e);
/* A copy of n bytes that nobody can change; p is NULL. */
int shared_copy(const void *p, size_t n, struct shared *ret, struct err *e);
void shared_release(struct shared *s);

/* fd under a number that no file action of a launch can overwrite; takes fd. -errno. */
int fd_above(int fd);

#endif
