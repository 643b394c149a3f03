/* SPDX-License-Identifier: Apache-2.0 */
#include "net/pace.h"

#include "base/clock.h"
#include "base/scope.h"

#define NAP_NS (50 * NS_PER_US)	/* the kernel's slack for ordinary threads adds as much again */
#define OFTEN_NS (40 * NS_PER_US)	/* a gap between wakes that is all cost */
#define ENOUGH 4u	/* callbacks that make a nap worth its while */
#define IDLE_NS NS_PER_MS	/* a gap that says nothing of how often */

static void count_gap(struct pace *p, uint64_t now_ns)
{
	uint64_t gap_ns = MIN(now_ns - p->last_ns, IDLE_NS);

	p->mean_gap_ns = (7 * p->mean_gap_ns + gap_ns) / 8;
}

uint64_t pace_nap(struct pace *p, uint64_t now_ns, unsigned n)
{
	if (p->napped_ns && n < ENOUGH)
		*p = (struct pace){.mean_gap_ns = IDLE_NS, .last_ns = now_ns};
	if (!p->napped_ns)
		count_gap(p, now_ns);
	p->last_ns = now_ns;
	p->napped_ns = p->mean_gap_ns < OFTEN_NS ? NAP_NS : 0;
	return p->napped_ns;
}
