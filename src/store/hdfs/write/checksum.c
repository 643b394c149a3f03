/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/checksum.h"

#include <string.h>

#include "base/clock.h"
#include "wire/hadoop/pb.h"

#define MAX_LOCATIONS (1u << 30)
/* A DataNode reads a block's checksums from its disk, a hundredth of the block. */
#define SLOWEST (16u << 20)
/* Each replica is asked twice: a connection that ended says little of the node, which may be the only one. */
#define N_ROUNDS 2u

static void release(struct checksum *c)
{
	for (unsigned i = 0; i < c->n_asks; i++)
		ask_release(&c->asks[i].ask);
	c->n_asks = 0;
	timer_unreserve(&c->end);
	arena_release(&c->arena);
	mem_free(TAKE(c->crcs));
}

static void end(struct timer *t)
{
	struct checksum *c = container_of(t, struct checksum, end);

	release(c);
	c->done(c, c->r);
}

/* Once; what is still under way is given up. */
static void finish(struct checksum *c, int r)
{
	c->r = r;
	for (unsigned i = 0; i < c->n_asks; i++)
		ask_cancel(&c->asks[i].ask);
	timer_set(&c->end, loop_now(c->loop)); /* reserved */
}

static void join(struct checksum *c)
{
	uint32_t crc = 0;

	for (size_t i = 0; i < c->locations.n; i++)
		crc = crc_join(CRC_C, crc, c->crcs[i], c->locations.blocks[i].block.n_bytes);
	c->sum = (struct store_checksum){.length = c->locations.file_bytes, .crc32c = crc};
	finish(c, 0);
}

static void ask_next(struct checksum *c, struct checksum_block *b);

static void ask_block(struct checksum *c, struct checksum_block *b)
{
	const struct hdfs_located *at = &c->locations.blocks[b->i];

	if (b->n_asked == N_ROUNDS * at->n_nodes) {
		finish(c, err_set(&c->err, -EIO, "%s: no DataNode tells the checksum of block %llu: %s", c->path,
			(unsigned long long)at->block.id, at->n_nodes ? err_words(&b->ask.err, b->ask.r) : "none has it"));
		return;
	}
	buf_clear(&b->ask.out);
	put_op_checksum(&b->ask.out, &at->block, at->token);
	b->ask.node = &at->nodes[b->n_asked % at->n_nodes];
	b->ask.patience_ns = c->conf->socket_timeout_ms * NS_PER_MS + at->block.n_bytes / SLOWEST * NS_PER_S;
	ask_start(&b->ask);
}

static int take_sum(struct checksum *c, struct checksum_block *b)
{
	struct block_sum s;
	int r = block_sum_parse(b->ask.answer.checksum, &s);

	if (r < 0)
		return r;
	if (!s.composite)
		return err_set(&c->err, -EOPNOTSUPP, "%s: DataNodes older than Hadoop 3.1 know no composite checksums", c->path);
	if (s.kind != CRC_C)
		return err_set(&c->err, -EOPNOTSUPP, "%s has checksums of another kind than CRC-32C", c->path);
	c->crcs[b->i] = s.crc;
	return 0;
}

static void answered(struct write_ask *ask)
{
	struct checksum_block *b = ask->ctx;
	struct checksum *c = b->of;
	int r = ask->r < 0 ? ask->r : take_sum(c, b);

	if (r == -EOPNOTSUPP) {
		finish(c, r);
	} else if (r < 0) {
		b->ask.r = r;
		b->n_asked++;
		ask_block(c, b);
	} else {
		c->n_under_way--;
		ask_next(c, b);
	}
}

static void ask_next(struct checksum *c, struct checksum_block *b)
{
	if (c->n_begun == c->locations.n) {
		if (!c->n_under_way)
			join(c);
		return;
	}
	b->i = c->n_begun++;
	b->n_asked = 0;
	c->n_under_way++;
	ask_block(c, b);
}

static int asks_init(struct checksum *c)
{
	int r = 0;

	while (r == 0 && c->n_asks < MIN(c->locations.n, CHECKSUM_ASKS)) {
		struct checksum_block *b = &c->asks[c->n_asks];

		*b = (struct checksum_block){.of = c};
		b->ask.done = answered;
		b->ask.ctx = b;
		r = ask_init(&b->ask, c->loop, c->dns);
		if (r == 0)
			c->n_asks++;
	}
	c->crcs = mem_calloc(MAX(c->locations.n, 1), sizeof(*c->crcs));
	return r == 0 && c->crcs ? 0 : -ENOMEM;
}

/* What the DataNodes could not answer is refused before they are asked. */
static int locations_use(struct checksum *c)
{
	struct hdfs_locations *l = &c->locations;

	if (l->under_construction)
		return err_set(&c->err, -EOPNOTSUPP, "%s is being written", c->path);
	if (l->encrypted || l->erasure_coded)
		return err_set(&c->err, -EOPNOTSUPP, "%s is %s, which is not built yet", c->path,
			l->encrypted ? "encrypted" : "erasure-coded");
	return asks_init(c);
}

static void located(struct nn_call *call)
{
	struct checksum *c = call->ctx;
	struct str message = {0};
	int r = call->r;

	c->calling = false;
	c->err = call->err;
	message_field(call->answer, 1, &message);
	if (r == 0)
		r = hdfs_locations_parse(&c->arena, message, &c->locations);
	nn_call_release(call);
	if (r == 0)
		r = locations_use(c);
	if (r < 0) {
		finish(c, r);
		return;
	}
	if (!c->n_asks)
		join(c);
	for (unsigned i = 0; i < c->n_asks; i++)
		ask_next(c, &c->asks[i]);
}

int checksum_start(struct checksum *c)
{
	int r;

	c->err = (struct err){0};
	c->n_asks = 0;
	c->n_begun = c->n_under_way = 0;
	c->crcs = NULL;
	arena_init(&c->arena, MAX_LOCATIONS);
	timer_init(&c->end, c->loop, end);
	r = timer_reserve(&c->end);
	if (r < 0)
		return r;
	c->call = (struct nn_call){.method = "getBlockLocations", .kind = NN_READ, .done = located, .ctx = c};
	buf_init(&c->call.body, MESSAGE_MAX);
	buf_pb_str(&c->call.body, 1, c->path);
	buf_pb_u64(&c->call.body, 2, 0);
	buf_pb_u64(&c->call.body, 3, INT64_MAX);
	c->calling = true;
	nn_submit(c->nn, &c->call);
	return 0;
}

void checksum_cancel(struct checksum *c)
{
	if (c->calling)
		nn_cancel(&c->call);
	else if (!timer_armed(&c->end))
		finish(c, err_set(&c->err, -ECANCELED, "the checksum of %s was given up", c->path));
}
