/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what NameNodes say: the input is a frame's bytes without the length; its body, or all of it when it is no frame,
 * is read as a status, a listing, locations, and as messages by protoc-c's code in a small arena. What is read by hand lies
 * inside the input.
 */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "wire/hadoop/located.h"
#include "wire/hadoop/message.h"
#include "wire/hadoop/rpc.h"
#include "wire/hadoop/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void inside(struct str s, struct str all)
{
	assert(s.n == 0 || (s.p >= all.p && s.n <= all.n && s.p + s.n <= all.p + all.n));
}

static void status_check(const struct hdfs_status *s, struct str all)
{
	assert(s->type >= HDFS_DIR && s->type <= HDFS_SYMLINK && s->mode <= 01777);
	inside(s->name, all);
	inside(s->owner, all);
	inside(s->group, all);
	inside(s->symlink, all);
	inside(s->locations, all);
}

static void listing_read(struct str body)
{
	struct hdfs_listing l;
	struct hdfs_status s;
	int r = hdfs_listing_begin(body, &l);
	size_t n = 0;

	while (r == 0 && hdfs_listing_next(&l, &s) > 0) {
		status_check(&s, body);
		assert(!s.name.n || !memchr(s.name.p, '/', s.name.n));
		assert(++n <= body.n);
	}
}

static void located_check(const struct hdfs_located *l)
{
	assert(l->n_nodes <= LOCATED_MAX_NODES && l->block.pool);
	for (unsigned i = 0; i < l->n_nodes; i++) {
		assert(strlen(l->nodes[i].uuid) + strlen(l->nodes[i].ip) <= l->nodes[i].message.n && l->nodes[i].xfer_port);
		assert(!l->storage_ids || l->storage_ids[i]);
	}
}

static void locations_read(struct str body)
{
	AUTO_ARENA struct arena a;
	struct hdfs_locations l;
	struct hdfs_located one;

	arena_init(&a, 1 << 20);
	if (hdfs_locations_parse(&a, body, &l) == 0)
		for (size_t i = 0; i < l.n; i++) {
			located_check(&l.blocks[i]);
			assert(i == 0 || l.blocks[i].offset >= l.blocks[i - 1].offset);
		}
	if (hdfs_located_parse(&a, body, &one) == 0)
		located_check(&one);
}

static void messages_read(struct str body)
{
	static const ProtobufCMessageDescriptor *const kinds[] = {
		&hdfs__get_listing_response__descriptor, &hdfs__add_block_response__descriptor,
		&hdfs__get_datanode_report_response__descriptor, &hdfs__get_content_summary_response__descriptor,
		&hdfs__get_xattrs_response__descriptor, &hdfs__block_op_response__descriptor, &hdfs__pipeline_ack__descriptor,
		&hdfs__get_acl_status_response__descriptor, &hdfs__rpc_sasl__descriptor,
	};

	for (unsigned i = 0; i < N_ELEMS(kinds); i++) {
		AUTO_ARENA struct arena a;
		AUTO_BUF struct buf again;
		ProtobufCMessage *m;

		arena_init(&a, 1 << 18);
		buf_init(&again, 1 << 18);
		m = message_unpack(&a, kinds[i], body);
		if (m)
			message_pack(&again, m);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct str all = {(const char *)p, n}, body = all;
	struct rpc_answer answer;
	struct hdfs_status s;

	if (rpc_frame_bytes(p, n) < 0)
		assert(rpc_frame_bytes(p, n) == E_PROTOCOL);
	if (rpc_parse(p, n, &answer) == 0) {
		inside(answer.exception, all);
		inside(answer.words, all);
		inside(answer.body, all);
		body = answer.body;
	}
	if (hdfs_status_parse(body, &s) == 0)
		status_check(&s, body);
	listing_read(body);
	locations_read(body);
	messages_read(body);
	return 0;
}
