/* SPDX-License-Identifier: Apache-2.0 */
/* What a NameNode answers to the doctor, put into words: the first byte is the question, the rest is the answer. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/scope.h"
#include "store/hdfs/doctor/doctor_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define AT(member) offsetof(struct doctor_facts, member)

static const struct {
	const ProtobufCMessageDescriptor *descriptor;
	size_t to;
} QUESTIONS[] = {
	{&hdfs__ha_service_state_response__descriptor, AT(nns[0].state)},
	{&hdfs__set_safe_mode_response__descriptor, AT(nns[0].safe_mode)},
	{&hdfs__version_response__descriptor, AT(nns[0].version)},
	{&hdfs__get_groups_for_user_response__descriptor, AT(groups)},
	{&hdfs__get_file_info_response__descriptor, AT(status)},
	{&hdfs__get_fs_stats_response__descriptor, AT(stats)},
	{&hdfs__get_datanode_report_response__descriptor, AT(live)},
	{&hdfs__get_server_defaults_response__descriptor, AT(defaults)},
	{&hdfs__get_quota_usage_response__descriptor, AT(quota)},
	{&hdfs__get_ez_for_path_response__descriptor, AT(zone)},
	{&hdfs__get_erasure_coding_policy_response__descriptor, AT(ec)},
	{&hdfs__get_block_locations_response__descriptor, AT(sample_locations)},
	{&hdfs__get_datanode_info_response__descriptor, AT(dns[0].version)},
};

/* The sample's DataNodes: every other one connects. */
static void find_nodes(struct doctor_facts *f)
{
	const Hdfs__GetBlockLocationsResponse *m = f->sample_locations.message;
	const Hdfs__DatanodeInfo *nodes[DOCTOR_MAX_DNS];

	f->n_dns = m && m->locations ? doctor_nodes_of(m->locations, nodes, DOCTOR_MAX_DNS) : 0;
	assert(f->n_dns <= DOCTOR_MAX_DNS);
	for (unsigned i = 0; i < f->n_dns; i++) {
		f->dns[i].info = nodes[i];
		f->dns[i].connect.r = i % 2 ? -ECONNREFUSED : 0;
	}
}

static void tell(const struct doctor_facts *f, struct doctor *d)
{
	doctor_tell_namenodes(f, d);
	doctor_tell_login(f, d);
	doctor_tell_path(f, d);
	doctor_tell_cluster(f, d);
	doctor_tell_datanodes(f, d);
	doctor_tell_tricks(f, d);
	assert(d->r == 0);
	for (size_t i = 0; i < d->lines.n; i++)
		for (const char *at = d->lines.ptr[i].words; *at; at++)
			assert((unsigned char)*at >= ' ' && *at != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct hdfs_namenode nn = {.id = (char *)"nn1", .rpc = {.host = (char *)"one", .port = 8020}};
	static const struct hdfs_conf conf = {.authority = (char *)"train", .nameservice = (char *)"train",
		.user = (char *)"alice"};
	AUTO_ARENA struct arena a = {.max = 64u << 20};
	AUTO_FREE struct doctor_facts *f = mem_zalloc(sizeof(*f));
	AUTO_DOCTOR struct doctor d;
	Hdfs__FsPermission mode = HDFS__FS_PERMISSION__INIT;
	Hdfs__FileStatus folder = HDFS__FILE_STATUS__INIT;
	Hdfs__GetFileInfoResponse info = HDFS__GET_FILE_INFO_RESPONSE__INIT;
	struct doctor_answer *to;
	size_t i;

	doctor_init(&d);
	if (n == 0 || !f)
		return 0;
	*f = (struct doctor_facts){.conf = &conf, .process_user = "", .path = "/a", .sample = "/a/b", .n_nns = 1};
	f->site.dir = "";
	f->nns[0].at = &nn;
	f->quota.asked = f->sample_write.asked = true;
	/* What the path is, unless the answer says otherwise. */
	folder.file_type = HDFS__FILE_STATUS__TYPE__DIR;
	folder.permission = &mode;
	folder.owner = folder.group = (char *)"x";
	info.fs = &folder;
	f->status.message = &info;
	i = p[0] % N_ELEMS(QUESTIONS);
	to = (void *)((char *)f + QUESTIONS[i].to);
	to->message = message_unpack(&a, QUESTIONS[i].descriptor, (struct str){(const char *)p + 1, n - 1});
	to->r = to->message ? 0 : E_PROTOCOL;
	find_nodes(f);
	tell(f, &d);
	return 0;
}
