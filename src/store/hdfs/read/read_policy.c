/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/read/read_policy.h"

#include "base/clock.h"
#include "base/scope.h"

#define LATENCY_UNKNOWN_NS (1 * NS_PER_MS)	/* so that a node that nobody asked is soon tried */
#define HEDGE_MIN_NS (200 * NS_PER_MS)
#define HEDGE_MAX_NS (3 * NS_PER_S)
#define AT_ONCE_NEAR 8u
#define AT_ONCE_FAR 32u
#define HEDGE_LATENCIES 20u

static uint64_t expected_ns(const struct read_choice *c)
{
	return (c->latency_ns ? c->latency_ns : LATENCY_UNKNOWN_NS) * (c->n_reads + 1);
}

static bool is_better(const struct read_choice *a, const struct read_choice *b)
{
	if (a->dead != b->dead)
		return b->dead;
	if (a->distance != b->distance)
		return a->distance < b->distance;
	return expected_ns(a) < expected_ns(b);
}

int read_policy_choose(const struct read_choice *c, unsigned n)
{
	int best = READ_NOBODY;
	bool living_full = false;

	for (unsigned i = 0; i < n; i++)
		living_full |= !c[i].failed && c[i].full && !c[i].dead;
	for (unsigned i = 0; i < n; i++) {
		if (c[i].failed)
			continue;
		/* One that is dead is not worth trying while a living one is only busy. */
		if (c[i].full || (c[i].dead && living_full)) {
			if (best == READ_NOBODY)
				best = READ_LATER;
			continue;
		}
		if (best < 0 || is_better(&c[i], &c[best]))
			best = (int)i;
	}
	return best;
}

unsigned read_policy_at_once(uint64_t rtt_ns)
{
	uint64_t more = rtt_ns / (NS_PER_MS / 2);

	return (unsigned)MIN(AT_ONCE_NEAR + more, AT_ONCE_FAR);
}

uint64_t read_policy_hedge_ns(uint64_t latency_ns, uint64_t configured_ms)
{
	uint64_t ns = latency_ns * HEDGE_LATENCIES;

	if (configured_ms)
		return configured_ms * NS_PER_MS;
	return MIN(MAX(ns, HEDGE_MIN_NS), HEDGE_MAX_NS);
}

bool read_policy_open(bool is_owner, unsigned mode, bool has_acl)
{
	return is_owner ? mode & 0400 : (mode & 0444) == 0444 && !has_acl;
}

bool read_policy_refetch(unsigned n_before, unsigned max, uint64_t window_ms, double chance, uint64_t *ret_ns)
{
	uint64_t window_ns = window_ms * NS_PER_MS;

	if (n_before >= max)
		return false;
	*ret_ns = window_ns * n_before + (uint64_t)((double)(window_ns * (n_before + 1)) * chance);
	return true;
}
