/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/write_policy.h"

#include "base/clock.h"
#include "base/scope.h"

/* Java gives up after 0.4 + 0.8 + 1.6 + 3.2 + 6.4 s. */
#define POLL_FIRST_NS (5 * NS_PER_MS)
#define POLL_COUNT 13u
#define POLL_MAX_NS (10 * NS_PER_S)
#define BACKOFF_MEAN_NS (5 * NS_PER_S)
#define BACKOFF_MAX_NS (10 * BACKOFF_MEAN_NS)

/* Hadoop's DEFAULT: below three replicas never; else when half are gone, or when somebody relies on those there are. */
static bool wants_another(const struct write_break *b, unsigned n_left)
{
	if (!b->replace || b->replication < 3 || n_left == 0 || n_left >= b->replication)
		return false;
	return n_left <= b->replication / 2 || b->appended || b->flushed;
}

static struct write_verdict give_up(const struct write_break *b, const char *words)
{
	return (struct write_verdict){.fate = WRITE_GIVE_UP, .bad = b->n_nodes, .words = words};
}

static struct write_verdict decide_setup(const struct write_break *b, struct write_verdict v)
{
	if (b->n_setups > b->max_setups)
		return give_up(b, "no block could be set up on any DataNode that the NameNode named; see"
			" dfs.client.block.write.retries");
	v.fate = WRITE_NEW_BLOCK;
	return v;
}

struct write_verdict write_decide(const struct write_break *b)
{
	bool named = b->bad >= 0 && (unsigned)b->bad < b->n_nodes;
	/* Who talks to us is the first suspect. */
	struct write_verdict v = {.fate = WRITE_ON, .bad = named ? (unsigned)b->bad : 0, .suspected = !named};

	if (b->stage == WRITE_SETUP)
		return decide_setup(b, v);
	if (b->n_breaks > WRITE_MAX_BREAKS)
		return give_up(b, "the pipeline broke five times without an acknowledgement between");
	if (b->restarts && b->n_nodes == 1 && b->waited_ns < WRITE_RESTART_NS)
		return (struct write_verdict){.fate = WRITE_WAIT, .bad = b->n_nodes};
	if (b->n_nodes <= 1 && !b->n_aside)
		return give_up(b, "the last DataNode of the pipeline failed");
	if (b->n_nodes <= 1)
		v.fate = WRITE_BACK;
	else if (wants_another(b, b->n_nodes - 1))
		v.fate = WRITE_ADD;
	return v;
}

bool write_goes_on_without(unsigned n_nodes, bool best_effort, unsigned enough)
{
	return n_nodes && (best_effort || (enough && n_nodes >= enough));
}

enum write_wire_stage write_wire_stage(enum write_stage stage, bool recovery)
{
	switch (stage) {
	case WRITE_SETUP:
		return WIRE_SETUP_CREATE;
	case WRITE_REOPEN:
		return recovery ? WIRE_APPEND_RECOVERY : WIRE_SETUP_APPEND;
	case WRITE_ENDING:
		return WIRE_CLOSE_RECOVERY;
	default:
		return WIRE_STREAMING_RECOVERY;
	}
}

/* A block whose bytes are all acknowledged is finished by those who have it; the NameNode makes more replicas. */
bool write_needs_copy(enum write_stage stage)
{
	return stage == WRITE_REOPEN || stage == WRITE_STREAM;
}

uint64_t write_poll_ns(unsigned n)
{
	return n < POLL_COUNT ? MIN(POLL_FIRST_NS << n, POLL_MAX_NS) : 0;
}

/* Decorrelated jitter, as Java's: grows while it goes on, and nobody waits in step with another. */
uint64_t write_backoff_ns(uint64_t before_ns, uint32_t u)
{
	uint64_t grown = 3 * MIN(before_ns, BACKOFF_MAX_NS), base = MIN(grown, BACKOFF_MEAN_NS);
	uint64_t range = grown > BACKOFF_MEAN_NS ? grown - BACKOFF_MEAN_NS : BACKOFF_MEAN_NS - grown;

	return MIN(base + (uint64_t)(((unsigned __int128)u * range) >> 32) + NS_PER_MS, BACKOFF_MAX_NS);
}
