/* SPDX-License-Identifier: Apache-2.0 */
/* The rig's NameNode: one file, whatever its path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "write_rig.h"

#include "wire/hadoop/crc.h"
#include "wire/hadoop/packet.h"
#include "wire/hadoop/pb.h"

#define ANSWER_MAX 65536u

static void put_node(struct buf *b, uint32_t field, unsigned i)
{
	size_t at = b->n, id;
	char uuid[16];

	snprintf(uuid, sizeof(uuid), "dn%u", i);
	id = b->n;
	buf_pb_str(b, 1, "10.0.0.1");
	buf_pb_str(b, 2, uuid);
	buf_pb_str(b, 3, uuid);
	buf_pb_u64(b, 4, 1000 + i);
	buf_pb_u64(b, 5, 1);
	buf_pb_u64(b, 6, 1);
	buf_pb_delimit(b, 1, id);
	buf_pb_delimit(b, field, at);
}

/* All blocks before it are full. */
static uint64_t offset_of(unsigned id)
{
	for (unsigned i = 0; i < rig->n_listed; i++)
		if (rig->listed[i] == id)
			return i * rig->conf.block_bytes;
	return 0;
}

static void put_located(struct buf *b, uint32_t field, unsigned id, uint64_t stamp, unsigned n, const unsigned *nodes)
{
	struct hdfs_block block = {RIG_POOL, id, stamp, rig->blocks[id].n_bytes};
	size_t at = b->n, token;

	buf_hdfs_block(b, 1, &block);
	buf_pb_u64(b, 2, offset_of(id));
	for (unsigned i = 0; i < n; i++)
		put_node(b, 3, nodes[i]);
	buf_pb_u64(b, 4, 0);
	token = b->n;
	buf_pb_str(b, 1, "id");
	buf_pb_u64(b, 9, stamp); /* for us alone */
	buf_pb_delimit(b, 5, token);
	for (unsigned i = 0; i < n; i++)
		buf_pb_u64(b, 7, 1);
	for (unsigned i = 0; i < n; i++)
		buf_pb_str(b, 8, "DS-1");
	buf_pb_delimit(b, field, at);
}

struct fields {
	struct rig_ref block[3];
	bool has_block[3];
	unsigned n_nodes, nodes[RIG_NODES];
	bool excluded[RIG_NODES];
	uint64_t number[12];
};

/* The blocks among the fields 1 to 3; nodes of field `nodes`, excluded ones of field `excluded`. */
static struct fields fields_of(const struct buf *body, uint32_t first_block, uint32_t second_block, uint32_t nodes,
	uint32_t excluded)
{
	struct pb p = pb_of(body->ptr, body->n);
	struct fields f = {0};

	while (pb_next(&p)) {
		if (p.field < 12 && p.type == PB_VARINT)
			f.number[p.field] = p.value;
		for (unsigned i = 0; i < 2; i++)
			if (p.field == (i ? second_block : first_block) && p.type == PB_BYTES) {
				f.block[i] = rig_ref_of(p.bytes);
				f.has_block[i] = true;
			}
		if (p.field == nodes && nodes && f.n_nodes < RIG_NODES)
			f.nodes[f.n_nodes++] = rig_node_of(p.bytes);
		if (p.field == excluded && excluded)
			f.excluded[rig_node_of(p.bytes)] = true;
	}
	assert_false(p.rd.bad);
	return f;
}

static bool is_reported(struct rig_block *b, unsigned id)
{
	for (unsigned i = 0; i < b->n_nodes; i++) {
		struct rig_replica *r = &rig->nodes[b->nodes[i]].replicas[id];

		if (r->is && r->finalized && r->stamp == b->stamp)
			return true;
	}
	return b->n_nodes == 0;
}

/* Commits what the client says of its last block. */
static int commit(const struct fields *f)
{
	struct rig_block *b;

	if (!f->has_block[0])
		return rig->n_listed ? -EIO : 0;
	if (!rig->n_listed || rig->listed[rig->n_listed - 1] != f->block[0].id)
		return -EIO;
	b = &rig->blocks[f->block[0].id];
	if (b->stamp != f->block[0].stamp)
		return -EIO;
	if (!is_reported(b, (unsigned)f->block[0].id) || rig_happens(rig, rig->faults.not_yet_ppm))
		return -EAGAIN;
	b->n_bytes = f->block[0].n_bytes;
	return 0;
}

static int add_block(const struct buf *body, struct buf *out)
{
	struct fields f = fields_of(body, 3, 0, 0, 4);
	unsigned id = rig->n_blocks, first = rig_below(rig, RIG_NODES);
	struct rig_block *b = &rig->blocks[id];
	int r = commit(&f);

	if (r < 0)
		return r;
	*b = (struct rig_block){.stamp = ++rig->stamp};
	for (unsigned i = 0; i < RIG_NODES && b->n_nodes < rig->conf.replication; i++)
		if (!f.excluded[(first + i) % RIG_NODES])
			b->nodes[b->n_nodes++] = (first + i) % RIG_NODES;
	if (!b->n_nodes)
		return -ENOSPC;
	assert_true(++rig->n_blocks < RIG_BLOCKS);
	rig->listed[rig->n_listed++] = id;
	put_located(out, 1, id, b->stamp, b->n_nodes, b->nodes);
	return 0;
}

static int abandon(const struct buf *body)
{
	struct fields f = fields_of(body, 1, 0, 0, 0);

	if (!rig->n_listed || rig->listed[rig->n_listed - 1] != f.block[0].id)
		return -EIO;
	rig->n_listed--;
	rig->blocks[f.block[0].id].abandoned = true;
	return 0;
}

static int complete(const struct buf *body, struct buf *out)
{
	struct fields f = fields_of(body, 3, 0, 0, 0);
	int r = commit(&f);

	if (r < 0 && r != -EAGAIN)
		return r;
	if (r == 0)
		rig->open = false;
	buf_pb_u64(out, 1, r == 0);
	return 0;
}

static int new_stamp(const struct buf *body, struct buf *out)
{
	struct fields f = fields_of(body, 1, 0, 0, 0);

	if (rig->blocks[f.block[0].id].stamp != f.block[0].stamp)
		return -EIO;
	put_located(out, 1, (unsigned)f.block[0].id, ++rig->stamp, 0, NULL);
	return 0;
}

/* newNodes are DatanodeIDs, which our rig_node_of() does not read: by their port. */
static int update_pipeline(const struct buf *body)
{
	struct fields f = fields_of(body, 2, 3, 0, 0);
	struct pb p = pb_of(body->ptr, body->n);
	struct rig_block *b = &rig->blocks[f.block[1].id];

	if (b->stamp != f.block[0].stamp || f.block[1].stamp <= b->stamp)
		return -EIO;
	b->stamp = f.block[1].stamp;
	b->n_nodes = 0;
	while (pb_next(&p))
		if (p.field == 4) {
			struct pb id = pb_of(p.bytes.p, p.bytes.n);

			while (pb_next(&id))
				if (id.field == 4)
					b->nodes[b->n_nodes++] = (unsigned)id.value - 1000;
		}
	assert_true(b->n_nodes > 0);
	return 0;
}

static int additional(const struct buf *body, struct buf *out)
{
	struct fields f = fields_of(body, 2, 0, 3, 4);
	unsigned first = rig_below(rig, RIG_NODES);
	bool has[RIG_NODES];

	memcpy(has, f.excluded, sizeof(has));
	for (unsigned i = 0; i < f.n_nodes; i++)
		has[f.nodes[i]] = true;
	for (unsigned i = 0; i < RIG_NODES; i++) {
		unsigned n = (first + i) % RIG_NODES;

		if (has[n])
			continue;
		f.nodes[f.n_nodes++] = n;
		break;
	}
	put_located(out, 1, (unsigned)f.block[0].id, f.block[0].stamp, f.n_nodes, f.nodes);
	return 0;
}

static void put_file(struct buf *out, uint32_t field)
{
	size_t at = out->n, mode;

	buf_pb_u64(out, 1, 2);
	buf_pb_str(out, 2, "");
	buf_pb_u64(out, 3, 0);
	mode = out->n;
	buf_pb_u64(out, 1, 0644);
	buf_pb_delimit(out, 4, mode);
	buf_pb_str(out, 5, "u");
	buf_pb_str(out, 6, "g");
	buf_pb_u64(out, 7, 1);
	buf_pb_u64(out, 8, 1);
	buf_pb_u64(out, 10, rig->conf.replication);
	buf_pb_u64(out, 11, rig->conf.block_bytes);
	buf_pb_u64(out, 13, 77);
	if (rig->encrypted)
		buf_pb_str(out, 15, "");
	buf_pb_delimit(out, field, at);
}

static int append(struct buf *out)
{
	struct rig_block *b = rig->n_listed ? &rig->blocks[rig->listed[rig->n_listed - 1]] : NULL;

	rig->open = true;
	if (b && b->n_bytes < rig->conf.block_bytes)
		put_located(out, 1, rig->listed[rig->n_listed - 1], b->stamp, b->n_nodes, b->nodes);
	put_file(out, 2);
	return 0;
}

static int locate(struct buf *out)
{
	size_t at = out->n;
	uint64_t length = 0;

	for (unsigned i = 0; i < rig->n_listed; i++) {
		struct rig_block *b = &rig->blocks[rig->listed[i]];

		put_located(out, 2, rig->listed[i], b->stamp, b->n_nodes, b->nodes);
		length += b->n_bytes;
	}
	buf_pb_u64(out, 1, length);
	buf_pb_u64(out, 3, rig->open);
	buf_pb_u64(out, 5, !rig->open);
	buf_pb_delimit(out, 1, at);
	return 0;
}

static int dispatch(const char *method, const struct buf *body, struct buf *out)
{
	if (strcmp(method, "create") == 0) {
		rig->exists = rig->open = true;
		put_file(out, 1);
		return 0;
	}
	if (strcmp(method, "append") == 0)
		return append(out);
	if (strcmp(method, "addBlock") == 0)
		return add_block(body, out);
	if (strcmp(method, "abandonBlock") == 0)
		return abandon(body);
	if (strcmp(method, "complete") == 0)
		return complete(body, out);
	if (strcmp(method, "updateBlockForPipeline") == 0)
		return new_stamp(body, out);
	if (strcmp(method, "updatePipeline") == 0)
		return update_pipeline(body);
	if (strcmp(method, "getAdditionalDatanode") == 0)
		return additional(body, out);
	if (strcmp(method, "getBlockLocations") == 0)
		return locate(out);
	if (strcmp(method, "fsync") == 0)
		rig->fsync_bytes++;
	if (strcmp(method, "renewLease") == 0)
		rig->n_renewals++;
	if (strcmp(method, "delete") == 0)
		rig->deleted = true;
	if (strcmp(method, "recoverLease") == 0)
		rig->recovered = true;
	return 0;
}

static void nn_answer(struct timer *t)
{
	struct nn_call *call = container_of(t, struct nn_call, timer);
	AUTO_BUF struct buf out;

	buf_init(&out, 1 << 20);
	assert_true(call->body.r == 0 || call->body.r == -ENOMEM);
	/* Short of memory, a call is not made; once it is, its answer comes. */
	if (call->r == 0)
		call->r = call->body.r < 0 || !buf_grow(&out, ANSWER_MAX) ? -ENOMEM : 0;
	buf_clear(&out);
	/* Nobody knows whether what was cancelled was done. */
	if (call->r == -ECANCELED && call->body.r == 0 && rig_below(rig, 2) && buf_grow(&out, ANSWER_MAX)) {
		dispatch(call->method, &call->body, &out);
		buf_clear(&out);
	}
	if (call->r == 0)
		call->r = dispatch(call->method, &call->body, &out);
	assert_true(out.n <= ANSWER_MAX);
	if (call->r < 0)
		err_set(&call->err, call->r, "%s failed", call->method);
	call->answer = (struct str){(const char *)out.ptr, out.n};
	call->done(call);
}

void nn_submit(struct nn *nn, struct nn_call *call)
{
	timer_init(&call->timer, rig->loop, nn_answer);
	rig_timer_set(&call->timer, loop_now(rig->loop) + 1 + rig_below(rig, 5 * NS_PER_MS));
}

void nn_cancel(struct nn_call *call)
{
	call->r = -ECANCELED;
	rig_timer_set(&call->timer, loop_now(rig->loop));
}

void nn_call_release(struct nn_call *call)
{
	buf_release(&call->body);
}

const char *nn_client_name(const struct nn *nn)
{
	return "DFSClient_test";
}

