/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/write_message.h"

#include "base/err.h"
#include "wire/hadoop/pb.h"

enum { CREATE_FLAG_CREATE = 1, CREATE_FLAG_OVERWRITE = 2, CREATE_FLAG_APPEND = 4 };
enum { COMPOSITE_CRC = 2 };

static void put_permission(struct buf *b, uint32_t field, uint16_t mode)
{
	size_t at = b->n;

	buf_pb_u64(b, 1, mode);
	buf_pb_delimit(b, field, at);
}

void put_create(struct buf *b, const struct write_name *name, const struct create_call *c)
{
	buf_pb_str(b, 1, name->path);
	put_permission(b, 2, c->mode);
	buf_pb_str(b, 3, name->client);
	buf_pb_u64(b, 4, CREATE_FLAG_CREATE | (c->overwrite ? CREATE_FLAG_OVERWRITE : 0));
	buf_pb_u64(b, 5, 1);
	buf_pb_u64(b, 6, c->replication);
	buf_pb_u64(b, 7, c->block_bytes);
	/* Unmasked: with ACLs a parent's default applies in place of the umask, which is the NameNode's to decide. */
	put_permission(b, 9, c->unmasked);
}

void put_append(struct buf *b, const struct write_name *name)
{
	buf_pb_str(b, 1, name->path);
	buf_pb_str(b, 2, name->client);
	buf_pb_u64(b, 3, CREATE_FLAG_APPEND);
}

void put_add_block(struct buf *b, const struct write_name *name, const struct hdfs_block *previous, const struct node_set *exclude)
{
	buf_pb_str(b, 1, name->path);
	buf_pb_str(b, 2, name->client);
	if (previous)
		buf_hdfs_block(b, 3, previous);
	buf_node_set(b, 4, exclude);
	buf_pb_u64(b, 5, name->file_id);
}

void put_abandon(struct buf *b, const struct write_name *name, const struct hdfs_block *block)
{
	buf_hdfs_block(b, 1, block);
	buf_pb_str(b, 2, name->path);
	buf_pb_str(b, 3, name->client);
	buf_pb_u64(b, 4, name->file_id);
}

void put_complete(struct buf *b, const struct write_name *name, const struct hdfs_block *last)
{
	buf_pb_str(b, 1, name->path);
	buf_pb_str(b, 2, name->client);
	if (last)
		buf_hdfs_block(b, 3, last);
	buf_pb_u64(b, 4, name->file_id);
}

void put_fsync(struct buf *b, const struct write_name *name, uint64_t last_bytes)
{
	buf_pb_str(b, 1, name->path);
	buf_pb_str(b, 2, name->client);
	buf_pb_sint(b, 3, (int64_t)last_bytes);
	buf_pb_u64(b, 4, name->file_id);
}

void put_renew(struct buf *b, const char *client)
{
	buf_pb_str(b, 1, client);
}

void put_recover_lease(struct buf *b, const struct write_name *name)
{
	buf_pb_str(b, 1, name->path);
	buf_pb_str(b, 2, name->client);
}

void put_additional(struct buf *b, const struct write_name *name, const struct hdfs_block *block, const struct hdfs_located *at,
	const struct node_set *exclude)
{
	buf_pb_str(b, 1, name->path);
	buf_hdfs_block(b, 2, block);
	for (unsigned i = 0; i < at->n_nodes; i++)
		buf_pb_bytes(b, 3, at->nodes[i].message.p, at->nodes[i].message.n);
	buf_node_set(b, 4, exclude);
	buf_pb_u64(b, 5, 1);
	buf_pb_str(b, 6, name->client);
	for (unsigned i = 0; at->storage_ids && i < at->n_nodes; i++)
		buf_pb_str(b, 7, at->storage_ids[i]);
	buf_pb_u64(b, 8, name->file_id);
}

void put_block_for_pipeline(struct buf *b, const struct write_name *name, const struct hdfs_block *block)
{
	buf_hdfs_block(b, 1, block);
	buf_pb_str(b, 2, name->client);
}

void put_pipeline(struct buf *b, const struct write_name *name, const struct hdfs_block *old, const struct hdfs_block *new,
	const struct hdfs_located *at)
{
	buf_pb_str(b, 1, name->client);
	buf_hdfs_block(b, 2, old);
	buf_hdfs_block(b, 3, new);
	for (unsigned i = 0; i < at->n_nodes; i++) {
		struct str id = {0};

		/* A DatanodeIDProto: the first field of what the NameNode told of the node. */
		message_field(at->nodes[i].message, 1, &id);
		buf_pb_bytes(b, 4, id.p, id.n);
	}
	for (unsigned i = 0; at->storage_ids && i < at->n_nodes; i++)
		buf_pb_str(b, 5, at->storage_ids[i]);
}

/* ClientOperationHeaderProto as the first field. */
static void put_head(struct buf *b, const struct hdfs_block *block, struct str token, const char *client)
{
	size_t at = b->n;

	buf_hdfs_base(b, 1, block, token);
	buf_pb_str(b, 2, client);
	buf_pb_delimit(b, 1, at);
}

static void put_checksum_kind(struct buf *b, uint32_t field, enum crc_kind kind, uint32_t bytes_per_sum)
{
	size_t at = b->n;

	buf_pb_u64(b, 1, kind);
	buf_pb_u64(b, 2, bytes_per_sum);
	buf_pb_delimit(b, field, at);
}

static int put_op(struct buf *b, enum transfer_op op, const struct buf *message)
{
	if (message->r < 0)
		return message->r;
	return transfer_put_op(b, op, message->ptr, message->n);
}

int put_op_write(struct buf *b, const struct write_setup *s)
{
	const struct hdfs_located *at = s->at;
	AUTO_BUF struct buf m;

	buf_init(&m, MESSAGE_MAX);
	put_head(&m, &s->block, s->token, s->client);
	for (unsigned i = 1; i < at->n_nodes; i++)
		buf_pb_bytes(&m, 2, at->nodes[i].message.p, at->nodes[i].message.n);
	buf_pb_u64(&m, 4, s->stage);
	buf_pb_u64(&m, 5, at->n_nodes);
	buf_pb_u64(&m, 6, s->min_bytes);
	buf_pb_u64(&m, 7, s->max_bytes);
	buf_pb_u64(&m, 8, s->stamp);
	put_checksum_kind(&m, 9, s->kind, s->bytes_per_sum);
	if (at->storage_types) {
		buf_pb_u64(&m, 11, at->storage_types[0]);
		for (unsigned i = 1; i < at->n_nodes; i++)
			buf_pb_u64(&m, 12, at->storage_types[i]);
	}
	if (at->storage_ids) {
		buf_pb_str(&m, 16, at->storage_ids[0]);
		for (unsigned i = 1; i < at->n_nodes; i++)
			buf_pb_str(&m, 17, at->storage_ids[i]);
	}
	return put_op(b, TRANSFER_WRITE_BLOCK, &m);
}

int put_op_transfer(struct buf *b, const struct hdfs_located *at, const struct hdfs_block *block, struct str token,
	const char *client, unsigned target)
{
	AUTO_BUF struct buf m;

	buf_init(&m, MESSAGE_MAX);
	put_head(&m, block, token, client);
	buf_pb_bytes(&m, 2, at->nodes[target].message.p, at->nodes[target].message.n);
	if (at->storage_types)
		buf_pb_u64(&m, 3, at->storage_types[target]);
	if (at->storage_ids)
		buf_pb_str(&m, 4, at->storage_ids[target]);
	return put_op(b, TRANSFER_TRANSFER_BLOCK, &m);
}

int put_op_checksum(struct buf *b, const struct hdfs_block *block, struct str token)
{
	AUTO_BUF struct buf m;
	size_t at;

	buf_init(&m, MESSAGE_MAX);
	buf_hdfs_base(&m, 1, block, token);
	at = m.n;
	buf_pb_u64(&m, 1, COMPOSITE_CRC);
	buf_pb_delimit(&m, 2, at);
	return put_op(b, TRANSFER_BLOCK_CHECKSUM, &m);
}

/* Reading. */

bool message_field(struct str message, uint32_t field, struct str *ret)
{
	struct pb p = pb_of(message.p, message.n);

	while (pb_next(&p))
		if (p.field == field && p.type == PB_BYTES) {
			*ret = p.bytes;
			return true;
		}
	return false;
}

uint64_t message_number(struct str message, uint32_t field, uint64_t otherwise)
{
	struct pb p = pb_of(message.p, message.n);

	while (pb_next(&p))
		if (p.field == field && p.type == PB_VARINT)
			return p.value;
	return otherwise;
}

int op_answer_parse(struct str message, struct op_answer *ret)
{
	struct pb p = pb_of(message.p, message.n);
	struct op_answer a = {.status = UINT32_MAX};

	while (pb_next(&p)) {
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_VARINT):
			a.status = (uint32_t)p.value;
			break;
		case PB_TAG(2, PB_BYTES):
			a.bad_link = p.bytes;
			break;
		case PB_TAG(3, PB_BYTES):
			a.checksum = p.bytes;
			break;
		case PB_TAG(5, PB_BYTES):
			a.words = p.bytes;
			break;
		}
	}
	if (p.rd.bad || a.status == UINT32_MAX)
		return E_PROTOCOL;
	*ret = a;
	return 0;
}

static void ack_status(struct write_ack *a, unsigned i, uint32_t status)
{
	if (status == TRANSFER_SUCCESS)
		return;
	a->bad = (int)i;
	a->status = status;
}

/* A flag is a node's status with what it says of its load: it stands in place of the reply. */
static void ack_flag(struct write_ack *a, unsigned i, uint32_t flag)
{
	if (i == 0) {
		a->bad = -1;
		a->status = TRANSFER_SUCCESS;
	}
	ack_status(a, i, flag & 15);
	a->congested |= (flag >> 5 & 3) == 3;
}

int write_ack_parse(struct str message, struct write_ack *ret)
{
	struct pb p = pb_of(message.p, message.n);
	struct write_ack a = {.seqno = INT64_MIN, .bad = -1};
	unsigned n_flags = 0;

	while (pb_next(&p)) {
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_VARINT):
			a.seqno = pb_zigzag(p.value);
			break;
		case PB_TAG(2, PB_VARINT):
			/* Fields come in their order: replies before flags. */
			if (!n_flags)
				ack_status(&a, a.n_replies, (uint32_t)p.value);
			a.n_replies++;
			break;
		case PB_TAG(4, PB_VARINT):
			ack_flag(&a, n_flags++, (uint32_t)p.value);
			break;
		case PB_TAG(4, PB_BYTES): {
			struct rd r = rd_of(p.bytes.p, p.bytes.n);

			while (rd_left(&r) && !r.bad)
				ack_flag(&a, n_flags++, (uint32_t)rd_varint(&r));
			if (r.bad)
				return E_PROTOCOL;
			break;
		}
		}
	}
	if (p.rd.bad || a.seqno == INT64_MIN || a.n_replies > ACK_MAX_NODES || n_flags > a.n_replies)
		return E_PROTOCOL;
	*ret = a;
	return 0;
}

int block_sum_parse(struct str message, struct block_sum *ret)
{
	struct pb p = pb_of(message.p, message.n);
	struct block_sum s = {0};
	struct str sum = {0}, options = {0};

	while (pb_next(&p)) {
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_VARINT):
			s.bytes_per_sum = (uint32_t)p.value;
			break;
		case PB_TAG(3, PB_BYTES):
			sum = p.bytes;
			break;
		case PB_TAG(4, PB_VARINT):
			s.kind = (uint32_t)p.value;
			break;
		case PB_TAG(5, PB_BYTES):
			options = p.bytes;
			break;
		}
	}
	if (p.rd.bad)
		return E_PROTOCOL;
	s.composite = message_number(options, 1, 1) == COMPOSITE_CRC && sum.n == 4;
	if (s.composite) {
		struct rd r = rd_of(sum.p, sum.n);

		s.crc = rd_be32(&r);
	}
	*ret = s;
	return 0;
}
