/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of a piece: which one is asked, and what the NameNode is told of a bad one. */
#include "store/hdfs/read/read_int.h"

#include <string.h>

#include "base/clock.h"
#include "store/hdfs/read/read_policy.h"
#include "wire/hadoop/pb.h"

#define REPORT_NS (3 * NS_PER_S)
#define REQUEST_MAX_BYTES (1u << 20)

unsigned piece_n_nodes(const struct piece *p)
{
	return MIN(p->at->n_nodes, PIECE_MAX_NODES);
}

/* How far a node is: the NameNode puts the nearest first, so whoever shares the first one's rack is as near. */
static unsigned distance(const struct reads *r, const struct piece *p, unsigned i)
{
	const struct hdfs_node *node = &p->at->nodes[i];

	if (node->admin_state)
		return 3;
	if (local_is_here(r->local, node))
		return 0;
	return strcmp(node->rack, p->at->nodes[0].rack) == 0 ? 1 : 2;
}

static void choice_of(struct reads *r, const struct piece *p, unsigned i, struct read_choice *ret)
{
	struct dn_info *info = dn_info_of(r->dns, &p->at->nodes[i]);

	*ret = (struct read_choice){.distance = distance(r, p, i), .failed = !info || p->failed >> i & 1};
	if (!info)
		return;
	ret->full = info->n_reads >= read_policy_at_once(info->rtt_ns);
	ret->dead = dn_is_dead(r->dns, info);
	ret->latency_ns = info->latency_ns;
	ret->n_reads = info->n_reads;
}

int piece_choose(struct reads *r, const struct piece *p, uint64_t not_these)
{
	struct read_choice choices[PIECE_MAX_NODES];
	unsigned n = piece_n_nodes(p);

	for (unsigned i = 0; i < n; i++) {
		choice_of(r, p, i, &choices[i]);
		choices[i].failed |= not_these >> i & 1;
	}
	return read_policy_choose(choices, n);
}

struct report {
	struct list list;
	struct nn_call call;
};

static int put_bad_block(struct buf *b, const struct hdfs_located *at, unsigned node)
{
	AUTO_BUF struct buf block;

	buf_init(&block, REQUEST_MAX_BYTES);
	buf_hdfs_block(&block, 1, &at->block);
	buf_pb_u64(&block, 2, at->offset);
	buf_pb_bytes(&block, 3, at->nodes[node].message.p, at->nodes[node].message.n);
	buf_pb_u64(&block, 4, 0);
	buf_pb_bytes(&block, 5, at->token.p, at->token.n);
	if (at->storage_types)
		buf_pb_u64(&block, 7, at->storage_types[node]);
	if (at->storage_ids)
		buf_pb_str(&block, 8, at->storage_ids[node]);
	return block.r < 0 ? block.r : buf_pb_bytes(b, 1, block.ptr, block.n);
}

static void report_free(struct report *report)
{
	list_del(&report->list);
	nn_call_release(&report->call);
	mem_free(report);
}

static void report_done(struct nn_call *call)
{
	report_free(container_of(call, struct report, call));
}

void reports_forget(struct reads *r)
{
	LIST_EACH (e, &r->reports) {
		struct report *report = container_of(e, struct report, list);

		nn_forget(&report->call);
		report_free(report);
	}
}

static void report_bad(struct reads *r, const struct hdfs_located *at, unsigned node)
{
	struct report *report = mem_zalloc(sizeof(*report));

	if (!report)
		return;
	report->call = (struct nn_call){.method = "reportBadBlocks", .kind = NN_IDEMPOTENT, .done = report_done,
		.deadline_ns = loop_now(r->loop) + REPORT_NS};
	list_add(&r->reports, &report->list);
	buf_init(&report->call.body, REQUEST_MAX_BYTES);
	if (put_bad_block(&report->call.body, at, node) < 0)
		report_done(&report->call);
	else
		nn_submit(r->nn, &report->call);
}

void piece_report_bad(struct reads *r, struct piece *p)
{
	uint64_t bad = p->bad;

	for (unsigned i = 0; i < piece_n_nodes(p); i++)
		if (bad >> i & 1)
			report_bad(r, p->at, i);
	p->bad = 0;
}
