/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline broke. What was not acknowledged is sent again to those that are left, under a new generation stamp: the
 * NameNode gives the stamp, the DataNodes take it when they are set up again, the NameNode is told who has it. Replicas with
 * the old stamp are no good from then on.
 */
#include "base/clock.h"
#include "store/hdfs/write/write_file.h"

/* A copy goes at this pace at least. */
#define TRANSFER_SLOWEST (1u << 20)

static void update(struct write_file *f);
static void add_node(struct write_file *f);

/*
 * Silence may be that of a node further on, whose neighbour was about to say so. Until the NameNode has been told of a
 * pipeline without it, a suspect's replica has all that was acknowledged, and may take the place of the last one that fails.
 */
static void put_aside(struct write_file *f, unsigned i, bool suspected)
{
	struct hdfs_located *at = f->at;

	located_move(at, i, at->n_nodes - 1 + (suspected ? 0 : f->n_aside));
	at->n_nodes--;
	f->n_aside += suspected;
}

/* The one that is left goes behind those that may come back, the first of which takes its place. */
static void bring_back(struct write_file *f)
{
	f->n_aside--;
	f->at->n_nodes++;
	f->w->counters->pipeline_returns++;
}

static void leave_out(struct write_file *f, unsigned i, bool suspected)
{
	const struct hdfs_node *node = &f->at->nodes[i];
	uint64_t now_ns = loop_now(f->w->loop);
	struct dn_info *info = dn_info_of(f->w->dns, node);

	if (info)
		dn_failed(f->w->dns, info);
	/* Without memory it is asked again, and fails again. */
	f->w->counters->excluded_nodes += node_set_add(&f->exclude, node, now_ns) == 1;
	if (f->stage == WRITE_SETUP)
		return;
	node_set_add(&f->failed, node, now_ns);
	put_aside(f, i, suspected);
}

/* Another block. */

static void abandoned(struct write_file *f, int r, struct str answer)
{
	if (r < 0) {
		write_file_fail(f, r, "a block of %s cannot be given back: %s", f->path, write_file_words(f, r));
		return;
	}
	f->w->counters->blocks_abandoned++;
	f->has_block = false;
	write_file_locate(f);
}

static void abandon(struct write_file *f)
{
	f->phase = FILE_LOCATING;
	put_abandon(write_file_call(f, "abandonBlock", NN_IDEMPOTENT, abandoned), &f->name, &f->block);
	write_file_call_go(f);
}

/* What becomes of it. */

static bool was_ending(struct write_file *f)
{
	struct slot *s = packets_first(&f->packets.sent);

	return s && s->packet.last;
}

static struct write_break break_of(struct write_file *f)
{
	struct pipeline *p = &f->pipe;
	uint64_t now_ns = loop_now(f->w->loop);

	if (f->phase == FILE_STREAMING && was_ending(f))
		f->stage = WRITE_ENDING;
	if (p->acked_seqno > f->acked_at_break)
		f->n_breaks = 0;
	f->acked_at_break = p->acked_seqno;
	if (p->restarts && !f->wait_since_ns)
		f->wait_since_ns = now_ns;
	return (struct write_break){.stage = f->stage, .n_nodes = f->at->n_nodes, .n_aside = f->n_aside, .bad = p->bad,
		.restarts = f->wait_since_ns != 0, .waited_ns = f->wait_since_ns ? now_ns - f->wait_since_ns : 0,
		.replication = f->how.replication, .appended = f->how.append, .flushed = f->flushed,
		.replace = f->w->conf->replace_datanode, .n_setups = f->n_setups + (f->stage == WRITE_SETUP),
		.max_setups = f->w->conf->block_retries, .n_breaks = f->n_breaks + 1};
}

static void act(struct write_file *f, const struct write_verdict *v)
{
	if (v->bad < f->at->n_nodes)
		leave_out(f, v->bad, v->suspected && v->fate != WRITE_BACK);
	switch (v->fate) {
	case WRITE_NEW_BLOCK:
		f->n_setups++;
		abandon(f);
		break;
	case WRITE_ADD:
		f->n_additions = 0;
		if (write_needs_copy(f->stage))
			add_node(f);
		else
			update(f);
		break;
	case WRITE_BACK:
		bring_back(f);
		update(f);
		break;
	case WRITE_WAIT:
		write_file_pause(f, WRITE_RESTART_POLL_NS, update);
		break;
	default:
		update(f);
	}
}

void write_file_broke(struct write_file *f)
{
	struct write_break b = break_of(f);
	struct write_verdict v = write_decide(&b);

	f->broken = false;
	packets_replay(&f->packets);
	if (v.fate == WRITE_GIVE_UP) {
		write_file_fail(f, f->pipe.r, "%s: %s (%s: %s)", f->path, v.words,
			f->at->nodes[b.bad < 0 || (unsigned)b.bad >= b.n_nodes ? 0 : b.bad].host,
			err_words(&f->pipe.err, f->pipe.r));
		return;
	}
	if (v.fate != WRITE_WAIT)
		f->n_breaks++;
	f->phase = FILE_MENDING;
	act(f, &v);
}

/* One node more. */

/* Not a node of the wire's, but ours to fail by: as if the pipeline had broken without anybody to blame. */
static void addition_failed(struct write_file *f, int r)
{
	const struct hdfs_conf *c = f->w->conf;

	if (++f->n_additions < WRITE_MAX_ADDITIONS) {
		add_node(f);
		return;
	}
	if (write_goes_on_without(f->at->n_nodes, c->replace_best_effort, c->replace_enough)) {
		update(f);
		return;
	}
	write_file_fail(f, r, "%s: no DataNode could be added in place of one that failed (%s); see"
		" dfs.client.block.write.replace-datanode-on-failure.policy", f->path, write_file_words(f, r));
}

static void copied(struct write_ask *ask)
{
	struct write_file *f = ask->ctx;

	if (ask->r < 0) {
		f->err = ask->err;
		node_set_add(&f->failed, &f->more->nodes[f->i_added], loop_now(f->w->loop));
		addition_failed(f, ask->r);
		return;
	}
	f->w->counters->pipeline_additions++;
	arena_release(&f->arena);
	f->arena = f->more_arena;
	arena_init(&f->more_arena, MESSAGE_MAX);
	f->at = TAKE(f->more);
	f->n_aside = 0;
	update(f);
}

/* Who has the bytes already gives them to the new one; another of them each time. */
static void copy(struct write_file *f)
{
	struct write_ask *ask = &f->ask;
	struct hdfs_block block = f->block;
	unsigned source = f->n_additions % f->at->n_nodes;

	block.n_bytes = f->pipe.acked_bytes;
	buf_clear(&ask->out);
	put_op_transfer(&ask->out, f->more, &block, f->more->token, f->name.client, f->i_added);
	ask->node = &f->at->nodes[source];
	ask->patience_ns = (2 * f->w->conf->socket_timeout_ms * NS_PER_MS) + block.n_bytes / TRANSFER_SLOWEST * NS_PER_S;
	ask->done = copied;
	ask->ctx = f;
	ask_start(ask);
}

static void more_found(struct write_file *f, int r, struct str answer)
{
	struct str located = {0};
	int i = -1;

	arena_release(&f->more_arena);
	f->more = arena_alloc(&f->more_arena, sizeof(*f->more));
	message_field(answer, 1, &located);
	if (r == 0)
		r = f->more ? hdfs_located_parse(&f->more_arena, located, f->more) : -ENOMEM;
	if (r == 0)
		i = located_find_new(f->more, f->at);
	if (r == 0 && i < 0)
		r = err_set(&f->err, -ENOSPC, "the NameNode knows no other DataNode");
	if (r < 0) {
		f->n_additions = WRITE_MAX_ADDITIONS;
		addition_failed(f, r);
		return;
	}
	f->i_added = (unsigned)i;
	copy(f);
}

static void add_node(struct write_file *f)
{
	struct hdfs_block block = f->block;

	block.n_bytes = f->pipe.acked_bytes;
	put_additional(write_file_call(f, "getAdditionalDatanode", NN_IDEMPOTENT, more_found), &f->name, &block, f->at, &f->failed);
	write_file_call_go(f);
}

/* A new stamp, and with it the pipeline again. */

static void set_up_again(struct write_file *f)
{
	struct write_setup s = {.at = f->at, .block = f->block, .token = {(const char *)f->token.ptr, f->token.n},
		.client = f->name.client, .stage = write_wire_stage(f->stage, f->again), .min_bytes = f->pipe.acked_bytes,
		.max_bytes = f->pipe.sent_bytes, .stamp = f->new_stamp, .kind = f->packets.kind,
		.bytes_per_sum = f->packets.bytes_per_sum};

	s.block.n_bytes = f->how.block_bytes;
	f->again = true;
	pipeline_start(&f->pipe, &s);
}

static void stamped(struct write_file *f, int r, struct str answer)
{
	struct str message = {0};
	struct hdfs_located at;
	AUTO_ARENA struct arena a;

	arena_init(&a, MESSAGE_MAX);
	message_field(answer, 1, &message);
	if (r == 0)
		r = hdfs_located_parse(&a, message, &at);
	if (r == 0) {
		f->new_stamp = at.block.stamp;
		buf_clear(&f->token);
		r = buf_add(&f->token, at.token.p, at.token.n);
	}
	if (r < 0)
		write_file_fail(f, r, "%s: the block gets no new generation stamp: %s", f->path, write_file_words(f, r));
	else
		set_up_again(f);
}

static void update(struct write_file *f)
{
	struct hdfs_block block = f->block;

	block.n_bytes = f->pipe.acked_bytes;
	put_block_for_pipeline(write_file_call(f, "updateBlockForPipeline", NN_IDEMPOTENT, stamped), &f->name, &block);
	write_file_call_go(f);
}

void write_file_reopen(struct write_file *f)
{
	f->phase = FILE_MENDING;
	f->stage = WRITE_REOPEN;
	f->again = false;
	update(f);
}

/* The replicas were finished as they were set up: the last packet need not go. */
static void ended(struct write_file *f)
{
	struct slot *s = packets_first(&f->packets.to_send);

	f->pipe.acked_seqno = s->packet.seqno;
	packets_were_sent(&f->packets);
	packets_were_acked(&f->packets);
	write_file_block_ended(f);
}

static void updated(struct write_file *f, int r, struct str answer)
{
	if (r < 0) {
		write_file_fail(f, r, "%s: the NameNode did not take the block's new nodes: %s", f->path, write_file_words(f, r));
		return;
	}
	f->w->counters->pipeline_updates++;
	f->block.stamp = f->new_stamp;
	f->n_aside = 0;
	f->again = false;
	f->wait_since_ns = 0;
	if (f->stage == WRITE_ENDING) {
		ended(f);
		return;
	}
	f->stage = WRITE_STREAM;
	if (f->broken) {
		write_file_broke(f);
		return;
	}
	f->phase = FILE_STREAMING;
	write_file_advance(f);
}

void write_file_mended(struct write_file *f)
{
	struct hdfs_block old = f->block, new = f->block;

	if (f->stage == WRITE_ENDING)
		pipeline_stop(&f->pipe);
	old.n_bytes = new.n_bytes = f->pipe.acked_bytes;
	new.stamp = f->new_stamp;
	put_pipeline(write_file_call(f, "updatePipeline", NN_AT_MOST_ONCE, updated), &f->name, &old, &new, f->at);
	write_file_call_go(f);
}
