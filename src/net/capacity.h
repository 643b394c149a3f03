/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process may use of its host: affinity and control groups count, not only what the machine has (a container with
 * `--cpus 2 --memory 4g` on a host of 64 processors and 1 TB sees all of them).
 */
#ifndef OLDDOG_NET_CAPACITY_H
#define OLDDOG_NET_CAPACITY_H

#include <stdint.h>

/* At least 1. */
unsigned processors_available(void);
/* Bytes, all that is in use already included. */
uint64_t memory_available(void);

/* How many may be open at once. */
uint64_t descriptors_available(void);
/*
 * When memory is short the kernel ends somebody: who has the larger score (0 to 1000; most have 0) comes first, as if it had
 * so many thousandths of the memory more. Raising it takes no rights; without /proc it stays as it is.
 */
void memory_end_first(unsigned score);

#endif
