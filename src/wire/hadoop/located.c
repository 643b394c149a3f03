/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hadoop/located.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "wire/hadoop/pb.h"

/*
 * The nodes of a file are few and its blocks many, and an answer says everything of each node with each block: a node that
 * was read before, byte for byte the same, is not read again.
 */
#define N_KNOWN 64u

struct reading {
	struct arena *arena;
	struct hdfs_node known[N_KNOWN];	/* by hash of the message; empty: message.n is 0 */
	const char *pool;			/* of the block before */
};

/* A copy with a NUL behind it; a NUL inside would make it another string. */
static int text_copy(struct arena *a, struct str s, const char **ret)
{
	if (s.n && memchr(s.p, 0, s.n))
		return E_PROTOCOL;
	*ret = arena_strndup(a, s.p, s.n);
	return *ret ? 0 : -ENOMEM;
}

static int bytes_copy(struct arena *a, struct str s, struct str *ret)
{
	const char *copy = arena_strndup(a, s.p, s.n);

	*ret = (struct str){copy, s.n};
	return copy ? 0 : -ENOMEM;
}

static int node_id_parse(struct arena *a, struct str message, struct hdfs_node *ret)
{
	struct pb p = pb_of(message.p, message.n);
	int r = 0;

	while (r == 0 && pb_next(&p))
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_BYTES):
			r = text_copy(a, p.bytes, &ret->ip);
			break;
		case PB_TAG(2, PB_BYTES):
			r = text_copy(a, p.bytes, &ret->host);
			break;
		case PB_TAG(3, PB_BYTES):
			r = text_copy(a, p.bytes, &ret->uuid);
			break;
		case PB_TAG(4, PB_VARINT):
			r = p.value > UINT16_MAX ? E_PROTOCOL : 0;
			ret->xfer_port = (uint16_t)p.value;
			break;
		case PB_TAG(6, PB_VARINT):
			r = p.value > UINT16_MAX ? E_PROTOCOL : 0;
			ret->ipc_port = (uint16_t)p.value;
			break;
		}
	if (r < 0)
		return r;
	return p.rd.bad || !ret->ip || !ret->host || !ret->uuid || !ret->xfer_port ? E_PROTOCOL : 0;
}

int hdfs_node_parse(struct arena *a, struct str message, struct hdfs_node *ret)
{
	struct pb p = pb_of(message.p, message.n);
	struct hdfs_node node = {.rack = ""};
	int r = 0;

	while (r == 0 && pb_next(&p))
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_BYTES):
			r = node_id_parse(a, p.bytes, &node);
			break;
		case PB_TAG(7, PB_VARINT):
			node.n_xceivers = (uint32_t)p.value;
			break;
		case PB_TAG(8, PB_BYTES):
			r = text_copy(a, p.bytes, &node.rack);
			break;
		case PB_TAG(10, PB_VARINT):
			node.admin_state = (uint32_t)p.value;
			break;
		}
	if (r == 0 && (p.rd.bad || !node.uuid))
		r = E_PROTOCOL;
	if (r == 0)
		r = bytes_copy(a, message, &node.message);
	if (r == 0)
		*ret = node;
	return r;
}

static int node_read(struct reading *rd, struct str message, struct hdfs_node *ret)
{
	struct hdfs_node *known = &rd->known[xxh3_of(message.p, message.n) % N_KNOWN];
	int r;

	if (known->message.n == 0 || !str_equal(known->message, message)) {
		r = hdfs_node_parse(rd->arena, message, known);
		if (r < 0)
			return r;
	}
	*ret = *known;
	return 0;
}

static int block_read(struct reading *rd, struct str message, struct hdfs_block *ret)
{
	enum { HAS_POOL = 1, HAS_ID = 2, HAS_STAMP = 4, HAS_ALL = 7 };
	struct pb p = pb_of(message.p, message.n);
	unsigned has = 0;
	int r = 0;

	while (r == 0 && pb_next(&p))
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_BYTES):
			if (!rd->pool || !str_eq(p.bytes, rd->pool))
				r = text_copy(rd->arena, p.bytes, &rd->pool);
			ret->pool = rd->pool;
			has |= HAS_POOL;
			break;
		case PB_TAG(2, PB_VARINT):
			ret->id = p.value;
			has |= HAS_ID;
			break;
		case PB_TAG(3, PB_VARINT):
			ret->stamp = p.value;
			has |= HAS_STAMP;
			break;
		case PB_TAG(4, PB_VARINT):
			ret->n_bytes = p.value;
			break;
		}
	if (r < 0)
		return r;
	return p.rd.bad || has != HAS_ALL ? E_PROTOCOL : 0;
}

/* What there is how often, so that arrays are made once, of the right length. */
struct tally {
	unsigned n_nodes, n_types, n_ids;
};

static int tally_of(struct str message, struct tally *ret)
{
	struct pb p = pb_of(message.p, message.n);
	struct tally t = {0};

	while (pb_next(&p))
		switch (pb_tag(&p)) {
		case PB_TAG(3, PB_BYTES):
			t.n_nodes++;
			break;
		case PB_TAG(7, PB_VARINT):
			t.n_types++;
			break;
		case PB_TAG(8, PB_BYTES):
			t.n_ids++;
			break;
		}
	if (p.rd.bad)
		return E_PROTOCOL;
	if (t.n_nodes > LOCATED_MAX_NODES)
		return E_LIMIT;
	*ret = t;
	return 0;
}

/* Storages are told of each node or not at all: what has another count cannot be matched to nodes, and is left out. */
static int located_arrays(struct arena *a, const struct tally *t, struct hdfs_located *ret)
{
	ret->nodes = arena_alloc(a, t->n_nodes * sizeof(*ret->nodes));
	if (t->n_nodes > 0 && t->n_ids == t->n_nodes)
		ret->storage_ids = arena_alloc(a, t->n_nodes * sizeof(*ret->storage_ids));
	if (t->n_nodes > 0 && t->n_types == t->n_nodes)
		ret->storage_types = arena_alloc(a, t->n_nodes * sizeof(*ret->storage_types));
	if (!ret->nodes || (t->n_nodes > 0 && t->n_ids == t->n_nodes && !ret->storage_ids) ||
		(t->n_nodes > 0 && t->n_types == t->n_nodes && !ret->storage_types))
		return -ENOMEM;
	return 0;
}

enum { HAS_BLOCK = 1, HAS_OFFSET = 2, HAS_CORRUPT = 4, HAS_TOKEN = 8, HAS_ALL = 15 };

static int located_field(struct reading *rd, const struct pb *p, struct tally *at, unsigned *has, struct hdfs_located *ret)
{
	switch (pb_tag(p)) {
	case PB_TAG(1, PB_BYTES):
		*has |= HAS_BLOCK;
		return block_read(rd, p->bytes, &ret->block);
	case PB_TAG(2, PB_VARINT):
		*has |= HAS_OFFSET;
		ret->offset = p->value;
		return 0;
	case PB_TAG(3, PB_BYTES):
		return node_read(rd, p->bytes, &ret->nodes[at->n_nodes++]);
	case PB_TAG(4, PB_VARINT):
		*has |= HAS_CORRUPT;
		ret->corrupt = p->value != 0;
		return 0;
	case PB_TAG(5, PB_BYTES):
		*has |= HAS_TOKEN;
		return bytes_copy(rd->arena, p->bytes, &ret->token);
	case PB_TAG(7, PB_VARINT):
		if (ret->storage_types)
			ret->storage_types[at->n_types++] = (uint32_t)p->value;
		return 0;
	case PB_TAG(8, PB_BYTES):
		return ret->storage_ids ? text_copy(rd->arena, p->bytes, &ret->storage_ids[at->n_ids++]) : 0;
	case PB_TAG(9, PB_BYTES):
		ret->is_group = true;
		return 0;
	}
	return 0;
}

static int located_read(struct reading *rd, struct str message, struct hdfs_located *ret)
{
	struct pb p = pb_of(message.p, message.n);
	struct tally count, at = {0};
	unsigned has = 0;
	int r = tally_of(message, &count);

	*ret = (struct hdfs_located){.n_nodes = r < 0 ? 0 : count.n_nodes};
	if (r == 0)
		r = located_arrays(rd->arena, &count, ret);
	while (r == 0 && pb_next(&p))
		r = located_field(rd, &p, &at, &has, ret);
	if (r == 0 && (p.rd.bad || has != HAS_ALL))
		r = E_PROTOCOL;
	return r;
}

int hdfs_located_parse(struct arena *a, struct str message, struct hdfs_located *ret)
{
	struct reading rd = {.arena = a};
	struct hdfs_located located;
	int r = located_read(&rd, message, &located);

	if (r == 0)
		*ret = located;
	return r;
}

static int count_blocks(struct str message, size_t *ret)
{
	struct pb p = pb_of(message.p, message.n);
	size_t n = 0;

	while (pb_next(&p))
		n += pb_tag(&p) == PB_TAG(2, PB_BYTES);
	if (p.rd.bad)
		return E_PROTOCOL;
	*ret = n;
	return n > LOCATED_MAX_BLOCKS ? E_LIMIT : 0;
}

/* The next block, which must begin where the one before it ended. */
static int blocks_add(struct reading *rd, struct str message, struct hdfs_locations *ret)
{
	struct hdfs_located *block = &ret->blocks[ret->n], *before = ret->n ? block - 1 : NULL;
	int r = located_read(rd, message, block);

	if (r < 0)
		return r;
	if (block->block.n_bytes > INT64_MAX || block->offset > INT64_MAX - block->block.n_bytes)
		return E_PROTOCOL;
	if (before && block->offset != before->offset + before->block.n_bytes)
		return E_PROTOCOL;
	ret->n++;
	return 0;
}

static int locations_read(struct reading *rd, struct str message, struct hdfs_locations *ret, struct str *ret_last)
{
	enum { HAS_LENGTH = 1, HAS_GROWING = 2, HAS_COMPLETE = 4, HAS_EACH = 7 };
	struct pb p = pb_of(message.p, message.n);
	unsigned has_fields = 0;
	int r = 0;

	while (r == 0 && pb_next(&p))
		switch (pb_tag(&p)) {
		case PB_TAG(1, PB_VARINT):
			ret->file_bytes = p.value;
			r = p.value > INT64_MAX ? E_PROTOCOL : 0;
			has_fields |= HAS_LENGTH;
			break;
		case PB_TAG(2, PB_BYTES):
			r = blocks_add(rd, p.bytes, ret);
			break;
		case PB_TAG(3, PB_VARINT):
			ret->under_construction = p.value != 0;
			has_fields |= HAS_GROWING;
			break;
		case PB_TAG(4, PB_BYTES):
			*ret_last = p.bytes;
			break;
		case PB_TAG(5, PB_VARINT):
			ret->last_complete = p.value != 0;
			has_fields |= HAS_COMPLETE;
			break;
		case PB_TAG(6, PB_BYTES):
			ret->encrypted = true;
			break;
		case PB_TAG(7, PB_BYTES):
			ret->erasure_coded = true;
			break;
		}
	if (r < 0)
		return r;
	return p.rd.bad || has_fields != HAS_EACH ? E_PROTOCOL : 0;
}

/* Every file that is not empty has a last block there, but only of one that grows does it say what blocks do not. */
static int last_read(struct reading *rd, struct str message, struct hdfs_locations *ret)
{
	if (!message.p || !ret->under_construction)
		return 0;
	ret->last = arena_alloc(rd->arena, sizeof(*ret->last));
	return ret->last ? located_read(rd, message, ret->last) : -ENOMEM;
}

int hdfs_locations_parse(struct arena *a, struct str message, struct hdfs_locations *ret)
{
	struct reading rd = {.arena = a};
	struct hdfs_locations l = {0};
	struct str last = {0};
	size_t n = 0;
	int r = count_blocks(message, &n);

	if (r < 0)
		return r;
	l.blocks = arena_alloc(a, n * sizeof(*l.blocks));
	if (!l.blocks)
		return -ENOMEM;
	r = locations_read(&rd, message, &l, &last);
	if (r == 0)
		r = last_read(&rd, last, &l);
	if (r == 0)
		*ret = l;
	return r;
}

int buf_hdfs_block(struct buf *b, uint32_t field, const struct hdfs_block *block)
{
	size_t at = b->n;

	buf_pb_str(b, 1, block->pool);
	buf_pb_u64(b, 2, block->id);
	buf_pb_u64(b, 3, block->stamp);
	buf_pb_u64(b, 4, block->n_bytes);
	return buf_pb_delimit(b, field, at);
}

int buf_hdfs_base(struct buf *b, uint32_t field, const struct hdfs_block *block, struct str token)
{
	size_t at = b->n;

	buf_hdfs_block(b, 1, block);
	if (token.n)
		buf_pb_bytes(b, 2, token.p, token.n);
	return buf_pb_delimit(b, field, at);
}
