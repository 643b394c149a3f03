/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's clocks. Only net/loop.c and programs read them: everything else asks loop_now(). */
#ifndef OLDDOG_BASE_CLOCK_H
#define OLDDOG_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

/* CLOCK_MONOTONIC. */
uint64_t clock_monotonic_ns(void);
/* CPU time of this process (CLOCK_PROCESS_CPUTIME_ID). */
uint64_t clock_cpu_ns(void);

#endif
