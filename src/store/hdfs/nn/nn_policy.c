/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/nn/nn_policy.h"

#include "base/clock.h"
#include "base/scope.h"

/* ipc.client.connect.retry.interval. */
#define CONNECT_PAUSE_NS NS_PER_S
/* A host that does not even refuse costs the whole timeout each time: Java's 45 times are a quarter of an hour. */
#define MAX_CONNECT_TIMEOUTS 3u
/* On an active NameNode that drops connections there is no point in more: the next may be better. */
#define MAX_CUTS_BEFORE_FAILOVER 2u
/* Enough for a lost SYN (sent again after 1 s) and a round trip around the world. */
#define FIRST_CONNECT_NS (2 * NS_PER_S)

static const struct nn_verdict END = {NN_END, 0};

/* base doubled n times, half to one and a half of it, max at most. */
static uint64_t pause_of(const struct nn_limits *l, unsigned n, uint32_t random)
{
	uint64_t ns = n < 32 ? MIN(l->base_ns, UINT64_MAX >> 33) << n : l->max_ns;

	ns = MIN(ns, l->max_ns);
	return MIN(ns / 2 + (uint64_t)((double)ns * ((double)random / 4294967296.0)), l->max_ns);
}

static bool may_have_run(enum nn_fault fault)
{
	return fault == NN_CUT || fault == NN_SILENT;
}

/* All NameNodes in turn at once, then a pause, and again. */
static struct nn_verdict fail_over(const struct nn_limits *l, const struct nn_tries *tries, uint32_t random)
{
	unsigned n = tries->n_failovers + 1;

	if (tries->n_failovers >= l->max_failovers)
		return END;
	if (n % l->n_namenodes)
		return (struct nn_verdict){NN_FAIL_OVER, 0};
	return (struct nn_verdict){NN_FAIL_OVER, pause_of(l, n / l->n_namenodes - 1, random)};
}

static struct nn_verdict repeat(const struct nn_limits *l, const struct nn_tries *tries, uint32_t random)
{
	if (tries->n_repeats >= l->max_repeats)
		return END;
	return (struct nn_verdict){NN_REPEAT, pause_of(l, tries->n_repeats, random)};
}

static struct nn_verdict not_connected(const struct nn_limits *l, enum nn_fault fault, const struct nn_tries *tries)
{
	unsigned limit = fault == NN_CONNECT_TIMEOUT ? MIN(l->connect_retries, MAX_CONNECT_TIMEOUTS) : l->connect_retries;

	if (fault == NN_NO_NAME || tries->n_connects >= limit)
		return END;
	return (struct nn_verdict){NN_REPEAT, fault == NN_CONNECT_TIMEOUT ? 0 : CONNECT_PAUSE_NS};
}

/* The same NameNode at once: a connection that ends says little of it. One that is dead will refuse the next. */
static struct nn_verdict cut(const struct nn_limits *l, const struct nn_tries *tries, uint32_t random)
{
	if (tries->n_cuts == 0 && tries->n_repeats < l->max_repeats)
		return (struct nn_verdict){NN_REPEAT, 0};
	if (l->n_namenodes > 1 && tries->n_cuts >= MAX_CUTS_BEFORE_FAILOVER)
		return fail_over(l, tries, random);
	return repeat(l, tries, random);
}

struct nn_verdict nn_decide(const struct nn_limits *l, enum nn_kind kind, enum nn_fault fault, bool on_observer,
	const struct nn_tries *tries, uint32_t random)
{
	if (fault == NN_ANSWERED || (kind == NN_ONCE && may_have_run(fault)))
		return END;
	if (on_observer)
		return (struct nn_verdict){NN_TO_ACTIVE, 0};
	switch (fault) {
	case NN_RETRIABLE:
	case NN_BUSY:
	case NN_SAFE_MODE:
		return repeat(l, tries, random);
	case NN_CUT:
	case NN_CUT_UNSENT:
		return cut(l, tries, random);
	default:
		break;
	}
	if (l->n_namenodes > 1)
		return fail_over(l, tries, random);
	if (fault == NN_SILENT)
		return END;
	return fault == NN_STANDBY || fault == NN_TRY_ACTIVE ? repeat(l, tries, random) : not_connected(l, fault, tries);
}

uint64_t nn_connect_ns(const struct nn_limits *l, unsigned n_failed)
{
	if (l->n_namenodes < 2 || n_failed > 16)
		return l->connect_timeout_ns;
	return MIN(FIRST_CONNECT_NS << n_failed, l->connect_timeout_ns);
}
