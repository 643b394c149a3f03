/* SPDX-License-Identifier: Apache-2.0 */
/* How much there is: of the cluster, of a tree; and where the bytes of a file are. */
#include <errno.h>
#include <string.h>

#include "store/hdfs/names/names_int.h"
#include "wire/hadoop/located.h"

#define MAX_LOCATED_BYTES (256u << 20)

static void put_nothing(struct names_op *op, struct buf *b)
{
}

/* The varints of a message by number, those that are not there left as they are. */
static int take_numbers(struct str message, uint64_t *ret, uint32_t n)
{
	struct pb p = pb_of(message.p, message.n);

	while (pb_next(&p))
		if (p.type == PB_VARINT && p.field < n)
			ret[p.field] = p.value;
	return p.rd.bad ? E_PROTOCOL : 0;
}

/* GetFsStatsResponseProto: 1 capacity, 2 used, 3 remaining. */
static int space_take(struct names_op *op, struct str answer)
{
	uint64_t n[4] = {0};
	int r = take_numbers(answer, n, N_ELEMS(n));

	op->req->space = (struct store_space){.total_bytes = n[1], .used_bytes = n[2], .free_bytes = n[3]};
	return r;
}

const struct names_verb names_space = {"getFsStats", NN_IDEMPOTENT, put_nothing, space_take, NULL};

/* ContentSummaryProto: 1 length, 2 fileCount, 3 directoryCount, 4 quota, 5 spaceConsumed, 6 spaceQuota (-1: none). */
static int summary_take(struct names_op *op, struct str answer)
{
	uint64_t n[7] = {[4] = STORE_NO_QUOTA, [6] = STORE_NO_QUOTA};
	bool has;
	int r;
	struct str message = names_take_bytes(answer, &has, &r);

	if (r == 0)
		r = has ? take_numbers(message, n, N_ELEMS(n)) : E_PROTOCOL;
	op->req->summary = (struct store_summary){
		.n_bytes = n[1],
		.n_files = n[2],
		.n_dirs = n[3],
		.quota_names = n[4],
		.space_bytes = n[5],
		.quota_bytes = n[6],
	};
	return r;
}

const struct names_verb names_summary = {"getContentSummary", NN_READ, names_put_path, summary_take, NULL};

/* GetBlockLocationsRequestProto: 1 src, 2 offset, 3 length. */
static void locate_put(struct names_op *op, struct buf *b)
{
	names_put_path(op, b);
	buf_pb_u64(b, 2, op->req->ranges[0].offset);
	buf_pb_u64(b, 3, MIN(op->req->ranges[0].length, (uint64_t)INT64_MAX));
}

static int place_add(struct store_place *place, const struct hdfs_located *block)
{
	place->hosts = mem_calloc(MAX(block->n_nodes, 1u), sizeof(char *));
	if (!place->hosts)
		return -ENOMEM;
	for (unsigned i = 0; i < block->n_nodes; i++) {
		place->hosts[i] = mem_strdup(block->nodes[i].host);
		if (!place->hosts[i])
			return -ENOMEM;
		place->n_hosts++;
	}
	return 0;
}

/* Blocks that the range meets, cut to it. */
static int places_of(struct store_req *req, const struct hdfs_locations *l)
{
	uint64_t from = req->ranges[0].offset, length = req->ranges[0].length;
	uint64_t end = length > UINT64_MAX - from ? UINT64_MAX : from + length;
	int r = 0;

	req->places.ptr = mem_calloc(MAX(l->n, (size_t)1), sizeof(struct store_place));
	if (!req->places.ptr)
		return -ENOMEM;
	for (size_t i = 0; i < l->n && r == 0; i++) {
		const struct hdfs_located *b = &l->blocks[i];
		uint64_t begin = MAX(b->offset, from), stop = MIN(b->offset + b->block.n_bytes, end);

		if (begin >= stop)
			continue;
		req->places.ptr[req->places.n] = (struct store_place){.offset = begin, .length = stop - begin};
		r = place_add(&req->places.ptr[req->places.n++], b);
	}
	return r;
}

static int locate_take(struct names_op *op, struct str answer)
{
	AUTO_ARENA struct arena a = {.max = MAX_LOCATED_BYTES};
	struct hdfs_locations l;
	bool has;
	int r;
	struct str message = names_take_bytes(answer, &has, &r);

	if (r == 0)
		r = has ? hdfs_locations_parse(&a, message, &l) : -ENOENT;
	if (r == 0)
		r = places_of(op->req, &l);
	if (r < 0)
		store_places_release(&op->req->places);
	return r;
}

const struct names_verb names_locate = {"getBlockLocations", NN_READ, locate_put, locate_take, NULL};
