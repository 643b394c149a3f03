/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor of an HDFS, on virtual time before NameNodes and DataNodes that answer, refuse, hang or are not there: what is
 * said of each, that everything ends in time, and that no answer and no failing allocation breaks it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "fake_nn.h"
#include "store/hdfs/doctor/doctor.h"
#include "wire/hadoop/pb.h"

#define PORT 8020
#define SUPERUSER "org.apache.hadoop.security.AccessControlException"

struct world {
	struct loop *loop;
	struct fake_net *net;
	struct fake_nn *nns[2], *dn_ipc;
	struct hdfs_conf conf;
	struct doctor doctor;
	unsigned n_dn_connects;
	/* What the NameNode answers. */
	bool safe_mode, never, garbage;
	const char *denied;	/* a method */
};

static void answer_version(struct fake_answer *a)
{
	Hdfs__NamespaceInfo info = HDFS__NAMESPACE_INFO__INIT;
	Hdfs__VersionResponse m = HDFS__VERSION_RESPONSE__INIT;

	info.build_version = info.block_pool_id = (char *)"x";
	info.software_version = (char *)"3.9.9";
	m.info = &info;
	message_pack(&a->body, &m.base);
}

static void answer_status(struct fake_answer *a)
{
	Hdfs__FsPermission mode = HDFS__FS_PERMISSION__INIT;
	Hdfs__FileStatus st = HDFS__FILE_STATUS__INIT;
	Hdfs__GetFileInfoResponse m = HDFS__GET_FILE_INFO_RESPONSE__INIT;

	mode.perm = 0640;
	st.file_type = HDFS__FILE_STATUS__TYPE__FILE;
	st.length = 12345;
	st.permission = &mode;
	st.owner = (char *)"bob\033[31m";
	st.group = (char *)"staff";
	m.fs = &st;
	message_pack(&a->body, &m.base);
}

static void answer_locations(struct fake_answer *a)
{
	Hdfs__DatanodeId id = HDFS__DATANODE_ID__INIT;
	Hdfs__DatanodeInfo node = HDFS__DATANODE_INFO__INIT, *nodes[] = {&node, &node};
	Hdfs__ExtendedBlock b = HDFS__EXTENDED_BLOCK__INIT;
	Hdfs__Token token = HDFS__TOKEN__INIT;
	Hdfs__LocatedBlock block = HDFS__LOCATED_BLOCK__INIT, *blocks[] = {&block};
	Hdfs__LocatedBlocks all = HDFS__LOCATED_BLOCKS__INIT;
	Hdfs__GetBlockLocationsResponse m = HDFS__GET_BLOCK_LOCATIONS_RESPONSE__INIT;

	id.ip_addr = (char *)"10.0.0.1";
	id.host_name = (char *)"dn1";
	id.datanode_uuid = (char *)"u1";
	id.xfer_port = 9866;
	id.ipc_port = 9867;
	node.id = &id;
	b.pool_id = (char *)"BP-1";
	token.kind = token.service = (char *)"";
	block.b = &b;
	block.block_token = &token;
	block.n_locs = 2;
	block.locs = nodes;
	all.n_blocks = 1;
	all.blocks = blocks;
	m.locations = &all;
	message_pack(&a->body, &m.base);
}

static void answer_stats(struct fake_answer *a)
{
	Hdfs__GetFsStatsResponse m = HDFS__GET_FS_STATS_RESPONSE__INIT;

	m.capacity = 1000000000000;
	m.remaining = 10000000000;
	m.missing_blocks = 7;
	message_pack(&a->body, &m.base);
}

static void answer_defaults(struct fake_answer *a)
{
	Hdfs__ServerDefaults s = HDFS__SERVER_DEFAULTS__INIT;
	Hdfs__GetServerDefaultsResponse m = HDFS__GET_SERVER_DEFAULTS_RESPONSE__INIT;

	s.block_size = 128u << 20;
	s.bytes_per_checksum = 512;
	s.replication = 3;
	m.server_defaults = &s;
	message_pack(&a->body, &m.base);
}

/* Four heartbeats, one of them long ago. */
static void answer_report(const struct fake_call *call, struct fake_answer *a)
{
	Hdfs__DatanodeId id = HDFS__DATANODE_ID__INIT;
	Hdfs__DatanodeInfo nodes[4], *list[4];
	Hdfs__GetDatanodeReportResponse m = HDFS__GET_DATANODE_REPORT_RESPONSE__INIT;
	struct pb p = pb_of(call->body.p, call->body.n);

	id.ip_addr = id.host_name = id.datanode_uuid = (char *)"x";
	for (unsigned i = 0; i < 4; i++) {
		hdfs__datanode_info__init(&nodes[i]);
		nodes[i].id = &id;
		nodes[i].has_last_update = true;
		nodes[i].last_update = i ? 100000 : 60000;
		list[i] = &nodes[i];
	}
	m.di = list;
	m.n_di = pb_next(&p) && p.value == HDFS__REPORT_TYPE__REPORT_LIVE ? 4 : 0;
	message_pack(&a->body, &m.base);
}

static void method(void *ctx, const struct fake_call *call, struct fake_answer *a)
{
	struct world *w = ctx;
	const char *name = call->method;

	a->never = w->never;
	if (w->denied && strcmp(name, w->denied) == 0) {
		a->exception = SUPERUSER;
		a->words = "Permission denied: user=alice";
	} else if (w->garbage) {
		buf_add(&a->body, "\xff\xff\xff", 3);
	} else if (strcmp(name, "setSafeMode") == 0) {
		buf_pb_u64(&a->body, 1, w->safe_mode);
	} else if (strcmp(name, "versionRequest") == 0) {
		answer_version(a);
	} else if (strcmp(name, "getGroupsForUser") == 0) {
		buf_pb_str(&a->body, 1, "staff");
		buf_pb_str(&a->body, 1, "wheel");
	} else if (strcmp(name, "getFileInfo") == 0) {
		answer_status(a);
	} else if (strcmp(name, "getBlockLocations") == 0) {
		answer_locations(a);
	} else if (strcmp(name, "getFsStats") == 0) {
		answer_stats(a);
	} else if (strcmp(name, "getServerDefaults") == 0) {
		answer_defaults(a);
	} else if (strcmp(name, "getDatanodeReport") == 0) {
		answer_report(call, a);
	}
}

static void on_dn(void *ctx, struct conn *conn)
{
	((struct world *)ctx)->n_dn_connects++;
	conn_close(conn);
}

static struct world *world_new(unsigned n)
{
	static const char *const ids[] = {"nn1", "nn2"}, *const hosts[] = {"one", "two"};
	struct world *w = calloc(1, sizeof(*w));

	assert_int_equal(loop_new_virtual(&w->loop), 0);
	w->net = fake_net_new(w->loop);
	w->conf = (struct hdfs_conf){.authority = (char *)"train", .nameservice = (char *)"train", .user = (char *)"alice",
		.replication = 2, .block_bytes = 64u << 20, .n_namenodes = n};
	for (unsigned i = 0; i < n; i++) {
		w->conf.namenodes[i] = (struct hdfs_namenode){(char *)ids[i], {(char *)hosts[i], PORT}};
		w->nns[i] = fake_nn_new(w->loop, w->net, hosts[i], PORT, method, w);
		fake_nn_role(w->nns[i], i ? FAKE_STANDBY : FAKE_ACTIVE);
	}
	fake_net_listen(w->net, "10.0.0.1", 9866, on_dn, w);
	fake_net_listen(w->net, "10.0.0.1", 9867, on_dn, w);
	fake_net_listen(w->net, "dn1", 9866, on_dn, w);
	doctor_init(&w->doctor);
	return w;
}

static void world_free(struct world *w)
{
	doctor_release(&w->doctor);
	for (unsigned i = 0; i < w->conf.n_namenodes; i++)
		fake_nn_free(w->nns[i]);
	assert_int_equal(loop_run(w->loop), 0);
	fake_net_free(w->net);
	loop_free(w->loop);
	free(w);
}

static int examine(struct world *w)
{
	const struct doctor_site site = {.dir = "/conf", .named_by = "HADOOP_CONF_DIR", .has_core = true};

	doctor_release(&w->doctor);
	doctor_init(&w->doctor);
	return hdfs_doctor_run(w->loop, fake_net_dialer(w->net), &site, &w->conf, "/a/b", &w->doctor);
}

static void says(const struct world *w, enum doctor_grade grade, const char *topic, const char *words)
{
	const struct doctor *d = &w->doctor;

	for (size_t i = 0; i < d->lines.n; i++)
		if (d->lines.ptr[i].grade == grade && strcmp(d->lines.ptr[i].topic, topic) == 0 &&
			strstr(d->lines.ptr[i].words, words))
			return;
	for (size_t i = 0; i < d->lines.n; i++)
		print_message("%s %s: %s\n", doctor_grade_name(d->lines.ptr[i].grade), d->lines.ptr[i].topic,
			d->lines.ptr[i].words);
	fail_msg("no line says %s %s: %s", doctor_grade_name(grade), topic, words);
}

static void what_is_found_is_told(void **state)
{
	struct world *w = world_new(2);

	assert_int_equal(examine(w), 0);
	assert_int_equal(doctor_worst(&w->doctor), DOCTOR_WARN);
	says(w, DOCTOR_OK, "cluster", "nameservice train, 2 NameNodes, of /conf");
	says(w, DOCTOR_OK, "namenode", "nn1 (one:8020): answers, active, in ");
	says(w, DOCTOR_OK, "namenode", "safe mode off; Hadoop 3.9.9");
	says(w, DOCTOR_OK, "namenode", "nn2 (two:8020): answers, standby, in ");
	says(w, DOCTOR_OK, "login", "; groups staff, wheel");
	says(w, DOCTOR_OK, "path", "/a/b is a file of 12.3 kB, rw-r-----, of bob?[31m:staff");
	says(w, DOCTOR_OK, "read", "alice may");
	says(w, DOCTOR_WARN, "space", "10.0 GB free of 1.0 TB");
	says(w, DOCTOR_WARN, "blocks", "7 missing");
	says(w, DOCTOR_WARN, "datanodes", "4 live, 0 dead, 1 silent for 30 s or more");
	says(w, DOCTOR_OK, "defaults", "3 replicas, blocks of 128 MiB, checksums CRC32 of 512 bytes");
	says(w, DOCTOR_OK, "datanode", "1 of 1 that have blocks of /a/b connect by address");
	says(w, DOCTOR_NOTE, "local reads", "cannot: none");
	says(w, DOCTOR_OK, "more replicas", "can: ");
	world_free(w);
}

static void what_may_not_be_done_is_told(void **state)
{
	struct world *w = world_new(1);

	w->denied = "checkAccess";
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_FAIL, "read", "alice may not: /a/b is rw-r-----, of bob");
	says(w, DOCTOR_NOTE, "write", "alice may not");
	says(w, DOCTOR_NOTE, "more replicas", "cannot: alice may not");
	w->denied = "getFileInfo";
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_FAIL, "path", "alice may not look at /a/b: Permission denied");
	w->denied = "getDatanodeReport";
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_NOTE, "datanodes", "only the superuser");
	world_free(w);
}

static void namenodes_that_do_not_serve_are_told_apart(void **state)
{
	struct world *w = world_new(2);

	fake_nn_kill(w->nns[0]);
	fake_nn_role(w->nns[1], FAKE_ACTIVE);
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_WARN, "namenode", "nn1 (one:8020): nobody listens there");
	says(w, DOCTOR_WARN, "ha", "1 of 2 NameNodes answer");
	says(w, DOCTOR_OK, "datanode", "1 of 1");
	fake_nn_role(w->nns[1], FAKE_STANDBY);
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_FAIL, "ha", "no NameNode is active");
	fake_nn_stop(w->nns[1], true);
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_FAIL, "namenode", "nn2 (two:8020): it takes the connection and does not answer in 5000 ms");
	says(w, DOCTOR_FAIL, "ha", "no NameNode answers");
	fake_nn_stop(w->nns[1], false);
	fake_net_set(w->net, "two", PORT, FAKE_IS_SILENT);
	w->conf.namenodes[0].rpc.host = (char *)"nowhere";
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_FAIL, "namenode", "the name nowhere does not resolve on this host");
	says(w, DOCTOR_FAIL, "namenode", "no connection in 5000 ms");
	world_free(w);
}

static void two_active_ones_are_one_too_many(void **state)
{
	struct world *w = world_new(2);

	fake_nn_role(w->nns[1], FAKE_ACTIVE);
	w->safe_mode = true;
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_FAIL, "ha", "2 NameNodes say that they are active");
	says(w, DOCTOR_WARN, "namenode", "safe mode on; Hadoop 3.9.9. Nothing can be written");
	world_free(w);
}

static void datanodes_out_of_reach_are_told(void **state)
{
	struct world *w = world_new(1);

	fake_net_set(w->net, "10.0.0.1", 9866, FAKE_REFUSES);
	assert_int_equal(examine(w), 0);
	says(w, DOCTOR_WARN, "datanode", "10.0.0.1:9866: nobody listens there: the DataNode is down. It connects as dn1: set "
		"dfs.client.use.datanode.hostname to true");
	says(w, DOCTOR_FAIL, "replicas", "1 of 1 blocks of /a/b have no replica");
	world_free(w);
}

static void whatever_is_answered_it_ends_in_time(void **state)
{
	struct world *w = world_new(1);
	uint64_t began_ns;

	w->garbage = true;
	assert_int_equal(examine(w), 0);
	w->garbage = false;
	w->never = true;
	began_ns = loop_now(w->loop);
	assert_int_equal(examine(w), 0);
	/* State is answered by the fake itself; then three rounds of silence. */
	assert_true(loop_now(w->loop) - began_ns <= 4 * DOCTOR_TIMEOUT_NS);
	says(w, DOCTOR_FAIL, "path", "/a/b: ");
	world_free(w);
}

static void no_failing_allocation_breaks_it(void **state)
{
	struct world *w = world_new(1);
	bool failed = true;

	for (unsigned nth = 1; failed && nth < 20000; nth += 1 + nth / 50) {
		mem_fail_nth(nth);
		examine(w);
		failed = mem_failed();
		mem_fail_nth(0);
	}
	assert_false(failed);
	world_free(w);
}

/* Without anybody to ask: what only sites with keys, codes and quotas have. */

static void refusals_of_a_connection_say_what_to_do(void **state)
{
	static const struct {
		int r;
		bool connected;
		const char *said, *words;
	} cases[] = {
		{-EACCES, true, "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]", "does not take SIMPLE"},
		{-EACCES, true, "User bob is not allowed", "refuses the question: User bob"},
		{E_PROTOCOL, true, "", "speaks no Hadoop RPC"},
		{-ECONNRESET, true, "", "closes it without an answer"},
		{-ETIMEDOUT, true, "", "does not answer in 5000 ms"},
		{-ETIMEDOUT, false, "", "no connection in 5000 ms"},
		{-EAGAIN, false, "", "the name service does not answer"},
		{-ENETUNREACH, false, "", "Network is unreachable"},
	};
	struct world *w = world_new(1);
	struct doctor_facts *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*f = (struct doctor_facts){.site.dir = "", .conf = &w->conf, .timeout_ns = DOCTOR_TIMEOUT_NS, .n_nns = 1};
	f->nns[0].at = &w->conf.namenodes[0];
	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		f->nns[0].state = (struct doctor_answer){.asked = true, .r = cases[i].r, .connected = cases[i].connected};
		snprintf(f->nns[0].state.words, sizeof(f->nns[0].state.words), "%s", cases[i].said);
		doctor_tell_namenodes(f, &w->doctor);
		says(w, DOCTOR_FAIL, "namenode", cases[i].words);
	}
	free(f);
	world_free(w);
}

static void zones_codes_and_quotas_are_told(void **state)
{
	struct world *w = world_new(1);
	struct doctor_facts *f = calloc(1, sizeof(*f));
	Hdfs__FsPermission mode = HDFS__FS_PERMISSION__INIT;
	Hdfs__FileStatus st = HDFS__FILE_STATUS__INIT;
	Hdfs__GetFileInfoResponse info = HDFS__GET_FILE_INFO_RESPONSE__INIT;
	Hdfs__EncryptionZone zone = HDFS__ENCRYPTION_ZONE__INIT;
	Hdfs__GetEzForPathResponse zones = HDFS__GET_EZ_FOR_PATH_RESPONSE__INIT;
	Hdfs__EcPolicy ec = HDFS__EC_POLICY__INIT;
	Hdfs__GetErasureCodingPolicyResponse codes = HDFS__GET_ERASURE_CODING_POLICY_RESPONSE__INIT;
	Hdfs__QuotaUsage usage = HDFS__QUOTA_USAGE__INIT;
	Hdfs__GetQuotaUsageResponse quota = HDFS__GET_QUOTA_USAGE_RESPONSE__INIT;

	assert_non_null(f);
	*f = (struct doctor_facts){.site.dir = "", .conf = &w->conf, .path = "/a", .sample = ""};
	st.file_type = HDFS__FILE_STATUS__TYPE__DIR;
	st.permission = &mode;
	st.owner = st.group = (char *)"x";
	info.fs = &st;
	zone.path = (char *)"/";
	zone.key_name = (char *)"k1";
	zones.zone = &zone;
	ec.id = 1;
	codes.ec_policy = &ec;
	usage.quota = 10;
	usage.file_and_directory_count = 9;
	usage.space_quota = UINT64_MAX;
	quota.usage = &usage;
	f->status.message = &info;
	f->zone.message = &zones;
	f->ec.message = &codes;
	f->quota = (struct doctor_answer){.asked = true, .message = &quota};
	doctor_tell_path(f, &w->doctor);
	says(w, DOCTOR_FAIL, "zone", "/a is in the encryption zone / (key k1)");
	says(w, DOCTOR_WARN, "erasure code", "/a has the policy RS-6-3-1024k: files written under it are refused");
	says(w, DOCTOR_WARN, "quota", "9 of 10 names used");
	ec.id = 63;
	usage.quota = UINT64_MAX;
	doctor_tell_path(f, &w->doctor);
	says(w, DOCTOR_OK, "erasure code", "none: files are replicated");
	says(w, DOCTOR_OK, "quota", "none on this folder itself");
	free(f);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_is_told),
		cmocka_unit_test(what_may_not_be_done_is_told),
		cmocka_unit_test(namenodes_that_do_not_serve_are_told_apart),
		cmocka_unit_test(two_active_ones_are_one_too_many),
		cmocka_unit_test(datanodes_out_of_reach_are_told),
		cmocka_unit_test(whatever_is_answered_it_ends_in_time),
		cmocka_unit_test(refusals_of_a_connection_say_what_to_do),
		cmocka_unit_test(zones_codes_and_quotas_are_told),
		cmocka_unit_test(no_failing_allocation_breaks_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
