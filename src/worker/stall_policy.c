/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stall_policy.h"

#define GAP_NS (4 * STALL_LOOK_NS)

/* It got on, or it cannot be told whether it did. */
static bool is_first(const struct stall *s, const struct stall_look *look)
{
	return s->last.now_ns == 0 || look->now_ns - s->last.now_ns > GAP_NS || look->cpu_ns != s->last.cpu_ns;
}

enum stall_verdict stall_look(struct stall *s, const struct stall_look *look)
{
	if (is_first(s, look)) {
		*s = (struct stall){.last = *look};
		return STALL_NONE;
	}
	if (look->now_ns - s->last.now_ns < STALL_LOOK_NS)
		return STALL_NONE;
	s->last = *look;
	s->n_stopped = look->state == STALL_STOPPED ? s->n_stopped + 1 : 0;
	/* Without its processor time nobody knows what it does between looks. */
	s->n_idle = look->cpu_ns && (look->state == STALL_STOPPED || look->state == STALL_SLEEPS) ? s->n_idle + 1 : 0;
	if (s->n_stopped >= STALL_STOPPED_LOOKS)
		return STALL_IS_STOPPED;
	return s->n_idle >= STALL_IDLE_LOOKS ? STALL_IS_IDLE : STALL_NONE;
}
