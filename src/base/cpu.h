/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the inner loops that exist in several forms run here: the widest instruction set that this processor (and
 * its kernel) has, or a lesser one that OLDDOG_KERNEL=scalar|avx2|avx512 asks for. All forms give the same bytes, so
 * this decides time only; tests compare them.
 */
#ifndef OLDDOG_BASE_CPU_H
#define OLDDOG_BASE_CPU_H

#include "base/err.h"

/* Each has all that those before it have. AVX-512 means F, BW, DQ, VL, VBMI and VNNI, and BMI2. */
enum cpu_set { CPU_SCALAR, CPU_AVX2, CPU_AVX512, N_CPU_SETS };

#define CPU_VARIABLE "OLDDOG_KERNEL"

/* "scalar", "avx2", "avx512". */
const char *cpu_set_name(enum cpu_set set);
/* The widest that this processor has, whatever was asked for. */
enum cpu_set cpu_has(void);
/* name: CPU_VARIABLE's value, or NULL. The set to use; -EINVAL with words: unknown, or not to be had here. */
int cpu_choose(const char *name, enum cpu_set *ret, struct err *e);
/* By the environment, asked once; a value that cannot be had counts as not given (programs refuse it when they start). */
enum cpu_set cpu_set(void);

#endif
