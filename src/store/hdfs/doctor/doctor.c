/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked, in which order: the NameNodes; then one of them for everything else; then the DataNodes of a sample. */
#include "store/hdfs/doctor/doctor.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "store/hdfs/dn/local.h"
#include "store/path.h"
#include "store/store.h"
#include "wire/hadoop/rpc.h"

#define ARENA_MAX_BYTES (256u << 20)	/* a report of 100,000 DataNodes */
#define SAMPLE_DEPTH 8u
#define SAMPLE_BLOCKS 16u

/* NameNodes. */

static void ask_namenode(struct doctor_run *run, struct doctor_nn *nn)
{
	Hdfs__HaServiceStateRequest state = HDFS__HA_SERVICE_STATE_REQUEST__INIT;
	Hdfs__SetSafeModeRequest safe = HDFS__SET_SAFE_MODE_REQUEST__INIT;
	Hdfs__VersionRequest version = HDFS__VERSION_REQUEST__INIT;
	const struct hdfs_address *at = &nn->at->rpc;

	safe.action = HDFS__SAFE_MODE_ACTION__SAFEMODE_GET;
	doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getHAServiceState", &state.base, &hdfs__ha_service_state_response__descriptor,
		&nn->state);
	doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "setSafeMode", &safe.base, &hdfs__set_safe_mode_response__descriptor,
		&nn->safe_mode);
	doctor_ask(run, at, RPC_NAMENODE_PROTOCOL, "versionRequest", &version.base, &hdfs__version_response__descriptor,
		&nn->version);
}

static void ask_namenodes(struct doctor_run *run)
{
	struct doctor_facts *f = &run->facts;

	f->n_nns = run->conf->n_namenodes;
	for (unsigned i = 0; i < f->n_nns; i++) {
		f->nns[i].at = &run->conf->namenodes[i];
		ask_namenode(run, &f->nns[i]);
	}
	doctor_wait(run);
}

/* The one NameNode. */

static void ask_cluster(struct doctor_run *run, const struct hdfs_address *at)
{
	static const struct {
		Hdfs__ReportType type;
		size_t to;
	} reports[] = {
		{HDFS__REPORT_TYPE__REPORT_LIVE, offsetof(struct doctor_facts, live)},
		{HDFS__REPORT_TYPE__REPORT_DEAD, offsetof(struct doctor_facts, dead)},
		{HDFS__REPORT_TYPE__REPORT_DECOMMISSIONING, offsetof(struct doctor_facts, decommissioning)},
	};
	Hdfs__GetFsStatusRequest stats = HDFS__GET_FS_STATUS_REQUEST__INIT;
	Hdfs__GetServerDefaultsRequest defaults = HDFS__GET_SERVER_DEFAULTS_REQUEST__INIT;
	Hdfs__GetDatanodeReportRequest report = HDFS__GET_DATANODE_REPORT_REQUEST__INIT;
	struct doctor_facts *f = &run->facts;

	doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getFsStats", &stats.base, &hdfs__get_fs_stats_response__descriptor, &f->stats);
	doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getServerDefaults", &defaults.base,
		&hdfs__get_server_defaults_response__descriptor, &f->defaults);
	for (unsigned i = 0; i < N_ELEMS(reports); i++) {
		report.type = reports[i].type;
		doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getDatanodeReport", &report.base,
			&hdfs__get_datanode_report_response__descriptor, (void *)((char *)f + reports[i].to));
	}
}

static void ask_right(struct doctor_run *run, const struct hdfs_address *at, const char *path, Hdfs__FsAction action,
	struct doctor_answer *to)
{
	Hdfs__CheckAccessRequest request = HDFS__CHECK_ACCESS_REQUEST__INIT;

	request.path = (char *)path;
	request.mode = action;
	doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "checkAccess", &request.base, NULL, to);
}

static void ask_path(struct doctor_run *run, const struct hdfs_address *at)
{
	Hdfs__GetGroupsForUserRequest groups = HDFS__GET_GROUPS_FOR_USER_REQUEST__INIT;
	Hdfs__GetFileInfoRequest status = HDFS__GET_FILE_INFO_REQUEST__INIT;
	Hdfs__GetEzForPathRequest zone = HDFS__GET_EZ_FOR_PATH_REQUEST__INIT;
	Hdfs__GetErasureCodingPolicyRequest ec = HDFS__GET_ERASURE_CODING_POLICY_REQUEST__INIT;
	struct doctor_facts *f = &run->facts;

	groups.user = run->conf->user;
	status.src = zone.src = ec.src = (char *)f->path;
	doctor_ask(run, at, RPC_USERS_PROTOCOL, "getGroupsForUser", &groups.base, &hdfs__get_groups_for_user_response__descriptor,
		&f->groups);
	doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getFileInfo", &status.base, &hdfs__get_file_info_response__descriptor,
		&f->status);
	ask_right(run, at, f->path, HDFS__FS_ACTION__ACTION_READ, &f->may_read);
	ask_right(run, at, f->path, HDFS__FS_ACTION__ACTION_WRITE, &f->may_write);
	doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getEZForPath", &zone.base, &hdfs__get_ez_for_path_response__descriptor, &f->zone);
	doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getErasureCodingPolicy", &ec.base,
		&hdfs__get_erasure_coding_policy_response__descriptor, &f->ec);
}

/* A sample. */

static bool has_bytes(const Hdfs__FileStatus *st)
{
	return st->file_type == HDFS__FILE_STATUS__TYPE__FILE && st->length && !st->ec_policy && !st->file_encryption_info;
}

/* The first file with bytes of a page, else the first folder, else NULL. */
static const Hdfs__FileStatus *pick(const Hdfs__DirectoryListing *page)
{
	const Hdfs__FileStatus *folder = NULL;

	for (size_t i = 0; i < page->n_partial_listing; i++) {
		const Hdfs__FileStatus *st = page->partial_listing[i];

		if (has_bytes(st))
			return st;
		if (!folder && st->file_type == HDFS__FILE_STATUS__TYPE__DIR)
			folder = st;
	}
	return folder;
}

static const char *below(struct doctor_run *run, const char *folder, const Hdfs__FileStatus *st)
{
	char path[STORE_NAME_MAX];
	int n = snprintf(path, sizeof(path), "%s/%.*s", strcmp(folder, "/") == 0 ? "" : folder, (int)MIN(st->path.len,
		(size_t)STORE_NAME_MAX), (const char *)st->path.data);

	return n > 0 && n < (int)sizeof(path) ? arena_strndup(&run->arena, path, (size_t)n) : NULL;
}

/* Goes down until there is one. */
static const Hdfs__FileStatus *find_sample(struct doctor_run *run, const struct hdfs_address *at, const char **path)
{
	Hdfs__GetListingRequest request = HDFS__GET_LISTING_REQUEST__INIT;
	const Hdfs__FileStatus *st = doctor_status(&run->facts);

	for (unsigned depth = 0; st && !has_bytes(st) && depth < SAMPLE_DEPTH; depth++) {
		Hdfs__GetListingResponse *m;
		struct doctor_answer answer;

		request.src = (char *)*path;
		doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getListing", &request.base, &hdfs__get_listing_response__descriptor,
			&answer);
		doctor_wait(run);
		m = answer.r == 0 ? answer.message : NULL;
		st = m && m->dir_list ? pick(m->dir_list) : NULL;
		*path = st ? below(run, *path, st) : *path;
		st = *path ? st : NULL;
	}
	return st && has_bytes(st) ? st : NULL;
}

static void ask_sample(struct doctor_run *run, const struct hdfs_address *at)
{
	Hdfs__GetBlockLocationsRequest request = HDFS__GET_BLOCK_LOCATIONS_REQUEST__INIT;
	Hdfs__GetQuotaUsageRequest quota = HDFS__GET_QUOTA_USAGE_REQUEST__INIT;
	struct doctor_facts *f = &run->facts;
	const Hdfs__FileStatus *st = doctor_status(f);
	const char *path = f->path;

	if (st && st->file_type == HDFS__FILE_STATUS__TYPE__DIR) {
		quota.path = (char *)f->path;
		doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getQuotaUsage", &quota.base, &hdfs__get_quota_usage_response__descriptor,
			&f->quota);
	}
	st = find_sample(run, at, &path);
	if (st) {
		f->sample = path;
		request.src = (char *)path;
		request.length = st->blocksize ? MIN(st->length, SAMPLE_BLOCKS * (st->blocksize & UINT32_MAX)) : st->length;
		doctor_ask(run, at, RPC_CLIENT_PROTOCOL, "getBlockLocations", &request.base,
			&hdfs__get_block_locations_response__descriptor, &f->sample_locations);
		ask_right(run, at, path, HDFS__FS_ACTION__ACTION_WRITE, &f->sample_write);
	}
	doctor_wait(run);
}

/* DataNodes. */

static int socket_try(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	return fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
}

static void look_here(struct doctor_run *run, const struct local *local, struct doctor_dn *dn)
{
	const struct hdfs_node node = {.ip = dn->info->id->ip_addr, .host = dn->info->id->host_name};

	dn->is_here = local_is_here(local, &node);
	if (!dn->is_here || !run->conf->domain_socket)
		return;
	dn->socket_r = local_socket_path(run->conf->domain_socket, (uint16_t)dn->info->id->xfer_port, dn->socket_path,
		sizeof(dn->socket_path));
	if (dn->socket_r == 0)
		dn->socket_r = socket_try(dn->socket_path);
}

static void ask_datanode(struct doctor_run *run, struct doctor_dn *dn)
{
	Hdfs__GetDatanodeInfoRequest request = HDFS__GET_DATANODE_INFO_REQUEST__INIT;
	const Hdfs__DatanodeId *id = dn->info->id;
	const char *host = run->conf->use_hostnames ? id->host_name : id->ip_addr;

	dn->other_host = run->conf->use_hostnames ? id->ip_addr : id->host_name;
	doctor_connect(run, host, (uint16_t)id->xfer_port, &dn->connect);
	doctor_ask(run, &(struct hdfs_address){(char *)host, (uint16_t)id->ipc_port}, RPC_CLIENT_DATANODE_PROTOCOL,
		"getDatanodeInfo", &request.base, &hdfs__get_datanode_info_response__descriptor, &dn->version);
}

static int ask_datanodes(struct doctor_run *run)
{
	const Hdfs__GetBlockLocationsResponse *m = run->facts.sample_locations.r == 0 ? run->facts.sample_locations.message : NULL;
	const Hdfs__DatanodeInfo *nodes[DOCTOR_MAX_DNS];
	struct doctor_facts *f = &run->facts;
	AUTO(local) struct local *local = NULL;
	int r = local_new(run->loop, run->conf, &local);

	if (r < 0)
		return r;
	f->n_dns = m && m->locations ? doctor_nodes_of(m->locations, nodes, DOCTOR_MAX_DNS) : 0;
	for (unsigned i = 0; i < f->n_dns; i++) {
		f->dns[i].info = nodes[i];
		look_here(run, local, &f->dns[i]);
		ask_datanode(run, &f->dns[i]);
	}
	doctor_wait(run);
	for (unsigned i = 0; i < f->n_dns; i++)
		if (f->dns[i].connect.r < 0)
			doctor_connect(run, f->dns[i].other_host, (uint16_t)nodes[i]->id->xfer_port, &f->dns[i].by_other);
	doctor_wait(run);
	return 0;
}

/* All of it. */

static int run_all(struct doctor_run *run, struct doctor *d)
{
	struct doctor_facts *f = &run->facts;
	const struct hdfs_address *at;
	int i, r;

	ask_namenodes(run);
	doctor_tell_namenodes(f, d);
	i = doctor_namenode(f);
	if (i < 0)
		return 0;
	at = &f->nns[i].at->rpc;
	ask_cluster(run, at);
	ask_path(run, at);
	doctor_wait(run);
	ask_sample(run, at);
	r = ask_datanodes(run);
	doctor_tell_login(f, d);
	doctor_tell_path(f, d);
	doctor_tell_cluster(f, d);
	doctor_tell_datanodes(f, d);
	doctor_tell_tricks(f, d);
	return r;
}

static const char *process_user(char *space, size_t n)
{
	struct passwd pw, *found = NULL;

	return getpwuid_r(geteuid(), &pw, space, n, &found) == 0 && found ? found->pw_name : "";
}

int hdfs_doctor_run(struct loop *loop, struct dialer *dialer, const struct doctor_site *site, const struct hdfs_conf *conf,
	const char *path, struct doctor *d)
{
	AUTO_FREE struct doctor_run *run = mem_zalloc(sizeof(*run));
	struct dialer *own = NULL;
	char space[4096];
	int r = run ? 0 : -ENOMEM;

	if (r == 0 && !dialer)
		r = dialer_new_tcp(&own);
	if (r < 0)
		return r;
	run->loop = loop;
	run->dialer = dialer ? dialer : own;
	run->conf = conf;
	arena_init(&run->arena, ARENA_MAX_BYTES);
	run->facts.site = *site;
	run->facts.conf = conf;
	run->facts.path = path;
	run->facts.sample = "";
	run->facts.process_user = process_user(space, sizeof(space));
	run->facts.timeout_ns = d->timeout_ns ? d->timeout_ns : DOCTOR_TIMEOUT_NS;
	r = run_all(run, d);
	arena_release(&run->arena);
	dialer_free(own);
	return r;
}
