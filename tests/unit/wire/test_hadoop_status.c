/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, listings and located blocks that protoc-c's code packed, read by hand: the same, or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "wire/hadoop/located.h"
#include "wire/hadoop/message.h"
#include "wire/hadoop/pb.h"
#include "wire/hadoop/status.h"

#define AUTO_BYTES(name)                                                                                     \
	AUTO_BUF struct buf name;                                                                            \
	buf_init(&name, 1 << 22)

static struct str str_of_buf(const struct buf *b)
{
	assert_int_equal(b->r, 0);
	return (struct str){(const char *)b->ptr, b->n};
}

static ProtobufCBinaryData data_of(const char *s)
{
	return (ProtobufCBinaryData){.len = strlen(s), .data = (uint8_t *)s};
}

/* The parts of a message, at addresses that stay. */
static Hdfs__FsPermission permission;
static Hdfs__FileEncryptionInfo encryption;
static Hdfs__EcPolicy ec;

static Hdfs__FileStatus status_make(const char *name)
{
	Hdfs__FileStatus s = HDFS__FILE_STATUS__INIT;

	permission = (Hdfs__FsPermission)HDFS__FS_PERMISSION__INIT;
	permission.perm = 01755;
	s.file_type = HDFS__FILE_STATUS__TYPE__FILE;
	s.path = data_of(name);
	s.length = 1ull << 40;
	s.permission = &permission;
	s.owner = (char *)"alice";
	s.group = (char *)"supergroup";
	s.modification_time = 1790000000123;
	s.access_time = 1790000000456;
	s.has_block_replication = s.has_blocksize = s.has_file_id = s.has_storage_policy = s.has_flags = true;
	s.block_replication = 3;
	s.blocksize = 128 << 20;
	s.file_id = 16386;
	s.storage_policy = 7;
	s.flags = HDFS_HAS_ACL | HDFS_SNAPSHOT_ENABLED;
	return s;
}

static Hdfs__FileStatus status_make_odd(const char *name)
{
	Hdfs__FileStatus s = status_make(name);

	encryption = (Hdfs__FileEncryptionInfo)HDFS__FILE_ENCRYPTION_INFO__INIT;
	encryption.suite = HDFS__FILE_ENCRYPTION_INFO__SUITE__AES_CTR_NOPADDING;
	encryption.crypto_protocol_version = HDFS__CRYPTO_PROTOCOL_VERSION__CRYPTO_ENCRYPTION_ZONES;
	encryption.key_name = encryption.ez_key_version_name = (char *)"k";
	ec = (Hdfs__EcPolicy)HDFS__EC_POLICY__INIT;
	ec.id = 1;
	s.file_type = HDFS__FILE_STATUS__TYPE__SYMLINK;
	s.has_symlink = true;
	s.symlink = data_of("/to");
	s.has_children_num = true;
	s.children_num = 12;
	s.file_encryption_info = &encryption;
	s.ec_policy = &ec;
	s.namespace_ = (char *)"ns";
	return s;
}

static void status_check(const struct hdfs_status *got, const Hdfs__FileStatus *s)
{
	assert_true(got->type == (enum hdfs_type)s->file_type && got->length == s->length);
	assert_true(got->name.n == s->path.len && memcmp(got->name.p, s->path.data, s->path.len) == 0);
	assert_true(got->mode == s->permission->perm && got->replication == s->block_replication);
	assert_true(str_eq(got->owner, s->owner) && str_eq(got->group, s->group));
	assert_true(got->mtime_ms == s->modification_time && got->atime_ms == s->access_time);
	assert_true(got->block_bytes == s->blocksize && got->file_id == s->file_id && got->n_children == s->children_num);
	assert_true(got->symlink.n == s->symlink.len && got->policy == s->storage_policy && got->flags == s->flags);
	assert_true(got->encrypted == !!s->file_encryption_info && got->erasure_coded == !!s->ec_policy);
}

static void statuses_are_protoc_cs(void **state)
{
	for (unsigned odd = 0; odd < 2; odd++) {
		Hdfs__FileStatus s = odd ? status_make_odd("n") : status_make("");
		struct hdfs_status got;
		AUTO_BYTES(b);

		message_pack(&b, &s.base);
		assert_int_equal(hdfs_status_parse(str_of_buf(&b), &got), 0);
		status_check(&got, &s);
		assert_int_equal(got.locations.n, 0);
	}
}

/* Every mutilation that leaves something well-formed must leave it inside the message. */
static void damage_does_no_harm(const struct buf *b, void (*parse)(struct str message))
{
	for (size_t n = 0; n < b->n; n++) {
		AUTO_FREE char *cut = mem_dup(b->ptr, n);

		parse((struct str){cut, n});
	}
	for (size_t i = 0; i < 8 * b->n; i++) {
		AUTO_FREE char *flipped = mem_dup(b->ptr, b->n);

		flipped[i / 8] ^= (char)(1u << i % 8);
		parse((struct str){flipped, b->n});
	}
}

static void parse_status(struct str message)
{
	struct hdfs_status s;
	size_t n = 0;

	if (hdfs_status_parse(message, &s) < 0)
		return;
	assert_true(s.type >= HDFS_DIR && s.type <= HDFS_SYMLINK && s.mode <= 01777);
	n = s.name.n + s.owner.n + s.group.n + s.symlink.n + s.locations.n;
	assert_true(n <= message.n);
}

static void parse_listing(struct str message)
{
	struct hdfs_listing l;
	struct hdfs_status s;
	unsigned n = 0;

	if (hdfs_listing_begin(message, &l) < 0)
		return;
	while (hdfs_listing_next(&l, &s) > 0)
		n++;
	assert_true(n <= message.n);
}

static void a_broken_status_does_no_harm(void **state)
{
	Hdfs__FileStatus s = status_make_odd("name");
	AUTO_BYTES(b);

	message_pack(&b, &s.base);
	damage_does_no_harm(&b, parse_status);
}

static void a_status_needs_its_first_eight_fields(void **state)
{
	Hdfs__FileStatus s = status_make("name");
	struct hdfs_status got;
	struct pb p;
	AUTO_BYTES(b);

	message_pack(&b, &s.base);
	p = pb_of(b.ptr, b.n);
	for (const uint8_t *at = p.rd.at; pb_next(&p); at = p.rd.at) {
		AUTO_BYTES(without);

		buf_add(&without, b.ptr, (size_t)(at - b.ptr));
		buf_add(&without, p.rd.at, rd_left(&p.rd));
		assert_int_equal(hdfs_status_parse(str_of_buf(&without), &got), p.field <= 8 ? E_PROTOCOL : 0);
	}
}

static void listing_make(struct buf *b, const char *const *names, unsigned n, uint32_t remaining)
{
	Hdfs__FileStatus statuses[8], *each[8];
	Hdfs__DirectoryListing list = HDFS__DIRECTORY_LISTING__INIT;
	Hdfs__GetListingResponse res = HDFS__GET_LISTING_RESPONSE__INIT;

	for (unsigned i = 0; i < n; i++) {
		statuses[i] = status_make(names[i]);
		each[i] = &statuses[i];
	}
	list.n_partial_listing = n;
	list.partial_listing = each;
	list.remaining_entries = remaining;
	res.dir_list = &list;
	message_pack(b, &res.base);
}

static void listings_are_read_to_their_end(void **state)
{
	static const char *const names[] = {"a", "b.tar", "\xc3\xa9"};
	struct hdfs_listing l;
	struct hdfs_status s;
	AUTO_BYTES(b);
	AUTO_BYTES(none);

	listing_make(&b, names, 3, 1234567);
	assert_int_equal(hdfs_listing_begin(str_of_buf(&b), &l), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(hdfs_listing_next(&l, &s), 1);
		assert_true(str_eq(s.name, names[i]));
	}
	assert_int_equal(hdfs_listing_next(&l, &s), 0);
	assert_int_equal(hdfs_listing_next(&l, &s), 0);
	assert_int_equal(l.remaining, 1234567);
	damage_does_no_harm(&b, parse_listing);
	listing_make(&none, NULL, 0, 0);
	assert_int_equal(hdfs_listing_begin(str_of_buf(&none), &l), 0);
	assert_int_equal(hdfs_listing_next(&l, &s), 0);
	assert_int_equal(hdfs_listing_begin((struct str){"", 0}, &l), -ENOENT);
	/* A list that does not say how much is left. */
	assert_int_equal(hdfs_listing_begin((struct str){"\x0a\0", 2}, &l), 0);
	assert_int_equal(hdfs_listing_next(&l, &s), E_PROTOCOL);
}

static void names_that_are_no_part_of_a_path_are_refused(void **state)
{
	static const char *const names[] = {"a/b", "..", ".", "/"};
	struct hdfs_listing l;
	struct hdfs_status s;

	for (unsigned i = 0; i < N_ELEMS(names); i++) {
		AUTO_BYTES(b);

		listing_make(&b, &names[i], 1, 0);
		assert_int_equal(hdfs_listing_begin(str_of_buf(&b), &l), 0);
		assert_int_equal(hdfs_listing_next(&l, &s), E_PROTOCOL);
	}
}

#define N_NODES 3
#define N_BLOCKS 4
#define BLOCK_BYTES 1000u

/* A file of four blocks on three nodes, each time in another order. */
static struct file {
	Hdfs__DatanodeId ids[N_NODES];
	Hdfs__DatanodeInfo nodes[N_NODES], *locs[N_BLOCKS][N_NODES];
	Hdfs__ExtendedBlock blocks[N_BLOCKS];
	Hdfs__LocatedBlock located[N_BLOCKS], *each[N_BLOCKS];
	Hdfs__StorageType types[N_NODES];
	Hdfs__Token token;
	Hdfs__LocatedBlocks all;
	char *storages[N_NODES];
} file;

static const char *const ips[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};
static const char *const uuids[] = {"u1", "u2", "u3"};
static const char *const racks[] = {"/dc1/r1", "/dc1/r2", "/dc2/r1"};

static void node_make(unsigned i)
{
	file.ids[i] = (Hdfs__DatanodeId)HDFS__DATANODE_ID__INIT;
	file.ids[i].ip_addr = (char *)ips[i];
	file.ids[i].host_name = (char *)"h";
	file.ids[i].datanode_uuid = (char *)uuids[i];
	file.ids[i].xfer_port = 9866 + i;
	file.ids[i].ipc_port = 9867;
	file.nodes[i] = (Hdfs__DatanodeInfo)HDFS__DATANODE_INFO__INIT;
	file.nodes[i].id = &file.ids[i];
	file.nodes[i].has_xceiver_count = file.nodes[i].has_admin_state = true;
	file.nodes[i].xceiver_count = 10 + i;
	file.nodes[i].admin_state = (Hdfs__DatanodeInfo__AdminState)i;
	file.nodes[i].location = (char *)racks[i];
	file.types[i] = HDFS__STORAGE_TYPE__STORAGE_SSD;
	file.storages[i] = (char *)"DS-1";
}

static void block_make(unsigned i)
{
	Hdfs__LocatedBlock *l = &file.located[i];

	file.blocks[i] = (Hdfs__ExtendedBlock)HDFS__EXTENDED_BLOCK__INIT;
	file.blocks[i].pool_id = (char *)"BP-1";
	file.blocks[i].block_id = 1ull << 30 | i;
	file.blocks[i].generation_stamp = 1000 + i;
	file.blocks[i].has_num_bytes = true;
	file.blocks[i].num_bytes = BLOCK_BYTES;
	*l = (Hdfs__LocatedBlock)HDFS__LOCATED_BLOCK__INIT;
	l->b = &file.blocks[i];
	l->offset = i * BLOCK_BYTES;
	l->n_locs = l->n_storage_types = l->n_storage_ids = N_NODES;
	l->locs = file.locs[i];
	for (unsigned k = 0; k < N_NODES; k++)
		file.locs[i][k] = &file.nodes[(i + k) % N_NODES];
	l->storage_types = file.types;
	l->storage_ids = file.storages;
	l->corrupt = i == 1;
	l->block_token = &file.token;
	file.each[i] = l;
}

static void file_make(void)
{
	for (unsigned i = 0; i < N_NODES; i++)
		node_make(i);
	file.token = (Hdfs__Token)HDFS__TOKEN__INIT;
	file.token.kind = file.token.service = (char *)"k";
	for (unsigned i = 0; i < N_BLOCKS; i++)
		block_make(i);
	file.all = (Hdfs__LocatedBlocks)HDFS__LOCATED_BLOCKS__INIT;
	file.all.file_length = N_BLOCKS * BLOCK_BYTES;
	file.all.n_blocks = N_BLOCKS;
	file.all.blocks = file.each;
	file.all.is_last_block_complete = true;
	file.all.last_block = file.each[N_BLOCKS - 1];
}

static void located_check(const struct hdfs_located *l, unsigned i)
{
	assert_true(l->block.id == (1ull << 30 | i) && l->block.stamp == 1000 + i && l->block.n_bytes == BLOCK_BYTES);
	assert_string_equal(l->block.pool, "BP-1");
	assert_true(l->offset == i * BLOCK_BYTES && l->corrupt == (i == 1) && l->n_nodes == N_NODES && !l->is_group);
	assert_int_equal(l->token.n, 10);
	for (unsigned k = 0; k < N_NODES; k++) {
		const struct hdfs_node *node = &l->nodes[k];
		unsigned of = (i + k) % N_NODES;
		AUTO_BYTES(b);

		assert_string_equal(node->ip, ips[of]);
		assert_string_equal(node->uuid, uuids[of]);
		assert_string_equal(node->rack, racks[of]);
		assert_true(node->xfer_port == 9866 + of && node->ipc_port == 9867 && node->n_xceivers == 10 + of);
		assert_int_equal(node->admin_state, of);
		assert_true(l->storage_types[k] == HDFS__STORAGE_TYPE__STORAGE_SSD);
		assert_string_equal(l->storage_ids[k], "DS-1");
		message_pack(&b, &file.nodes[of].base);
		assert_true(str_equal(node->message, str_of_buf(&b)));
	}
}

static int parse_all(struct str message, struct arena *a, struct hdfs_locations *ret)
{
	arena_init(a, 1 << 20);
	return hdfs_locations_parse(a, message, ret);
}

static void locations_are_protoc_cs(void **state)
{
	AUTO_ARENA struct arena a;
	struct hdfs_locations l;
	AUTO_BYTES(b);

	file_make();
	message_pack(&b, &file.all.base);
	assert_int_equal(parse_all(str_of_buf(&b), &a, &l), 0);
	assert_true(l.n == N_BLOCKS && l.file_bytes == N_BLOCKS * BLOCK_BYTES && !l.under_construction && l.last_complete);
	assert_true(!l.last && !l.encrypted && !l.erasure_coded);
	for (unsigned i = 0; i < N_BLOCKS; i++)
		located_check(&l.blocks[i], i);
	/* The nodes are three, however many blocks there are. */
	assert_ptr_equal(l.blocks[0].nodes[1].uuid, l.blocks[3].nodes[1].uuid);
}

static void a_file_that_grows_has_a_last_block(void **state)
{
	AUTO_ARENA struct arena a;
	struct hdfs_locations l;
	AUTO_BYTES(b);

	file_make();
	file.all.under_construction = true;
	file.all.is_last_block_complete = false;
	file.all.n_blocks = N_BLOCKS - 1;
	message_pack(&b, &file.all.base);
	assert_int_equal(parse_all(str_of_buf(&b), &a, &l), 0);
	assert_true(l.n == N_BLOCKS - 1 && l.under_construction && !l.last_complete);
	assert_non_null(l.last);
	located_check(l.last, N_BLOCKS - 1);
}

static void an_empty_file_and_a_block_without_nodes_are_read(void **state)
{
	AUTO_ARENA struct arena a;
	AUTO_ARENA struct arena a2;
	struct hdfs_locations l;
	AUTO_BYTES(b);
	AUTO_BYTES(b2);

	file_make();
	file.all.n_blocks = 0;
	file.all.last_block = NULL;
	file.all.file_length = 0;
	message_pack(&b, &file.all.base);
	assert_int_equal(parse_all(str_of_buf(&b), &a, &l), 0);
	assert_int_equal(l.n, 0);
	file_make();
	file.located[0].n_locs = file.located[0].n_storage_ids = 0;
	message_pack(&b2, &file.all.base);
	assert_int_equal(parse_all(str_of_buf(&b2), &a2, &l), 0);
	assert_true(l.blocks[0].n_nodes == 0 && !l.blocks[0].storage_ids && !l.blocks[0].storage_types);
}

static void blocks_with_gaps_and_nodes_without_ports_are_refused(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		AUTO_ARENA struct arena a;
		struct hdfs_locations l;
		AUTO_BYTES(b);

		file_make();
		if (i == 0)
			file.located[2].offset++;
		if (i == 1)
			file.ids[1].xfer_port = 0;
		if (i == 2)
			file.ids[1].ipc_port = 65536;
		if (i == 3)
			file.blocks[3].num_bytes = UINT64_MAX;
		message_pack(&b, &file.all.base);
		assert_int_equal(parse_all(str_of_buf(&b), &a, &l), E_PROTOCOL);
	}
}

static void too_many_nodes_are_a_limit(void **state)
{
	static Hdfs__DatanodeInfo *many[LOCATED_MAX_NODES + 1];
	AUTO_ARENA struct arena a;
	struct hdfs_locations l;
	AUTO_BYTES(b);

	file_make();
	for (unsigned i = 0; i < N_ELEMS(many); i++)
		many[i] = &file.nodes[0];
	file.located[0].locs = many;
	file.located[0].n_locs = N_ELEMS(many);
	message_pack(&b, &file.all.base);
	assert_int_equal(parse_all(str_of_buf(&b), &a, &l), E_LIMIT);
}

static void parse_locations(struct str message)
{
	AUTO_ARENA struct arena a;
	struct hdfs_locations l;

	if (parse_all(message, &a, &l) < 0)
		return;
	for (size_t i = 0; i < l.n; i++)
		for (unsigned k = 0; k < l.blocks[i].n_nodes; k++)
			assert_true(strlen(l.blocks[i].nodes[k].uuid) + strlen(l.blocks[i].nodes[k].rack) < message.n);
}

static void broken_locations_do_no_harm(void **state)
{
	AUTO_BYTES(b);

	file_make();
	file.all.n_blocks = 2;
	message_pack(&b, &file.all.base);
	damage_does_no_harm(&b, parse_locations);
}

static void an_allocation_that_fails_is_said(void **state)
{
	AUTO_BYTES(b);
	unsigned nth = 0;
	int r;

	file_make();
	message_pack(&b, &file.all.base);
	for (size_t max = 64;; max += 64) {
		AUTO_ARENA struct arena a;
		struct hdfs_locations l;

		arena_init(&a, max);
		r = hdfs_locations_parse(&a, str_of_buf(&b), &l);
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
	}
	do {
		AUTO_ARENA struct arena a;
		struct hdfs_locations l;

		mem_fail_nth(++nth);
		r = parse_all(str_of_buf(&b), &a, &l);
		assert_int_equal(r, mem_failed() ? -ENOMEM : 0);
	} while (r < 0);
	mem_fail_nth(0);
	assert_true(nth > 1);
}

static void a_block_is_put_as_protoc_c_packs_it(void **state)
{
	struct hdfs_block block = {.pool = "BP-1", .id = 1ull << 30, .stamp = 1000, .n_bytes = BLOCK_BYTES};
	Hdfs__AddBlockRequest req = HDFS__ADD_BLOCK_REQUEST__INIT;
	AUTO_BYTES(ours);
	AUTO_BYTES(theirs);

	file_make();
	req.src = (char *)"/a";
	req.client_name = (char *)"c";
	req.previous = &file.blocks[0];
	message_pack(&theirs, &req.base);
	buf_pb_str(&ours, 1, "/a");
	buf_pb_str(&ours, 2, "c");
	buf_hdfs_block(&ours, 3, &block);
	assert_true(str_equal(str_of_buf(&ours), str_of_buf(&theirs)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_are_protoc_cs),
		cmocka_unit_test(a_broken_status_does_no_harm),
		cmocka_unit_test(a_status_needs_its_first_eight_fields),
		cmocka_unit_test(listings_are_read_to_their_end),
		cmocka_unit_test(names_that_are_no_part_of_a_path_are_refused),
		cmocka_unit_test(locations_are_protoc_cs),
		cmocka_unit_test(a_file_that_grows_has_a_last_block),
		cmocka_unit_test(an_empty_file_and_a_block_without_nodes_are_read),
		cmocka_unit_test(blocks_with_gaps_and_nodes_without_ports_are_refused),
		cmocka_unit_test(too_many_nodes_are_a_limit),
		cmocka_unit_test(broken_locations_do_no_harm),
		cmocka_unit_test(an_allocation_that_fails_is_said),
		cmocka_unit_test(a_block_is_put_as_protoc_c_packs_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
