/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_CPU_SETS] = {
	[CPU_SCALAR] = "scalar",
	[CPU_AVX2] = "avx2",
	[CPU_AVX512] = "avx512",
};

const char *cpu_set_name(enum cpu_set set)
{
	return names[set];
}

enum cpu_set cpu_has(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
		__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("bmi2"))
		return CPU_AVX512;
	if (__builtin_cpu_supports("avx2"))
		return CPU_AVX2;
#endif
	return CPU_SCALAR;
}

int cpu_choose(const char *name, enum cpu_set *ret, struct err *e)
{
	enum cpu_set has = cpu_has();

	if (!name) {
		*ret = has;
		return 0;
	}
	for (enum cpu_set set = CPU_SCALAR; set < N_CPU_SETS; set++) {
		if (strcmp(name, names[set]) != 0)
			continue;
		if (set > has)
			return err_set(e, -EINVAL, CPU_VARIABLE "=%s: this processor has only %s; leave it out", name, names[has]);
		*ret = set;
		return 0;
	}
	return err_set(e, -EINVAL, CPU_VARIABLE "=%.40s is not one of scalar, avx2, avx512", name);
}

enum cpu_set cpu_set(void)
{
	static atomic_int known = -1; /* threads that ask at once find the same */
	int set = atomic_load_explicit(&known, memory_order_relaxed);
	struct err e = {0};
	enum cpu_set chosen;

	if (set >= 0)
		return (enum cpu_set)set;
	if (cpu_choose(getenv(CPU_VARIABLE), &chosen, &e) < 0)
		chosen = cpu_has();
	atomic_store_explicit(&known, (int)chosen, memory_order_relaxed);
	return chosen;
}
