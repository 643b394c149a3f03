/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster as a whole, its DataNodes as far as a sample needs them, and what could be done with all that. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/str.h"
#include "store/hdfs/doctor/doctor_policy.h"

/* The cluster. */

static void tell_blocks(const Hdfs__GetFsStatsResponse *m, struct doctor *d)
{
	bool ill = m->missing_blocks || m->corrupt_blocks;

	doctor_say(d, ill ? DOCTOR_WARN : m->under_replicated ? DOCTOR_NOTE : DOCTOR_OK, "blocks", "%" PRIu64 " missing, %" PRIu64
		" with corrupt replicas, %" PRIu64 " with too few%s", m->missing_blocks, m->corrupt_blocks, m->under_replicated,
		m->missing_blocks ? ". What is missing cannot be read: `hdfs fsck / -list-corruptfileblocks` names the files" : "");
}

static void tell_space(const Hdfs__GetFsStatsResponse *m, struct doctor *d)
{
	char room[STR_SIZE_MAX], total[STR_SIZE_MAX];
	bool tight = m->remaining < m->capacity / 20;

	doctor_say(d, !m->capacity ? DOCTOR_FAIL : tight ? DOCTOR_WARN : DOCTOR_OK, "space", "%s free of %s, counted with "
		"replicas%s", str_size((double)m->remaining, room), str_size((double)m->capacity, total),
		!m->capacity ? ": no DataNode has reported to this NameNode" : tight ? ": under a twentieth" : "");
}

/* Behind the newest heartbeat by more than the interval: two clocks are never compared. */
static unsigned n_stale(const Hdfs__GetDatanodeReportResponse *live)
{
	uint64_t newest = 0;
	unsigned n = 0;

	for (size_t i = 0; i < live->n_di; i++)
		newest = MAX(newest, live->di[i]->last_update);
	for (size_t i = 0; i < live->n_di; i++)
		n += newest - live->di[i]->last_update > DOCTOR_STALE_MS;
	return n;
}

static size_t n_of(const struct doctor_answer *a)
{
	const Hdfs__GetDatanodeReportResponse *m = a->r == 0 ? a->message : NULL;

	return m ? m->n_di : 0;
}

static void tell_reports(const struct doctor_facts *f, struct doctor *d)
{
	const Hdfs__GetDatanodeReportResponse *live = f->live.message;
	size_t n = n_of(&f->live), dead = n_of(&f->dead);
	unsigned stale;

	if (f->live.r == -EACCES) {
		doctor_say(d, DOCTOR_NOTE, "datanodes", "only the superuser may list them here: %s", f->live.words);
		return;
	}
	if (f->live.r < 0 || !live) {
		doctor_say(d, DOCTOR_WARN, "datanodes", "not told: %s", f->live.words);
		return;
	}
	stale = n_stale(live);
	doctor_say(d, !n ? DOCTOR_FAIL : dead || stale ? DOCTOR_WARN : DOCTOR_OK, "datanodes", "%zu live, %zu dead, "
		"%u silent for %u s or more, %zu being decommissioned%s", n, dead, stale, DOCTOR_STALE_MS / 1000,
		n_of(&f->decommissioning), !n ? ": nothing can be read or written" :
		dead ? ". Reads go to other replicas; `hdfs dfsadmin -report -dead` names them" : "");
}

static const char *checksum_name(Hdfs__ChecksumType type)
{
	return type == HDFS__CHECKSUM_TYPE__CHECKSUM_CRC32C ? "CRC32C" :
		type == HDFS__CHECKSUM_TYPE__CHECKSUM_CRC32 ? "CRC32" : "none";
}

/* In the unit that everybody sets it in. */
static const char *block_size(uint64_t n, char out[DOCTOR_NUMBER_MAX])
{
	snprintf(out, DOCTOR_NUMBER_MAX, n % (1u << 20) ? "%" PRIu64 " bytes" : "%" PRIu64 " MiB", n % (1u << 20) ? n : n >> 20);
	return out;
}

static void tell_defaults(const struct doctor_facts *f, struct doctor *d)
{
	const Hdfs__GetServerDefaultsResponse *m = f->defaults.r == 0 ? f->defaults.message : NULL;
	const Hdfs__ServerDefaults *s = m ? m->server_defaults : NULL;
	char theirs[DOCTOR_NUMBER_MAX], ours[DOCTOR_NUMBER_MAX];

	if (!s) {
		doctor_say(d, DOCTOR_NOTE, "defaults", "not told: %s", f->defaults.words);
		return;
	}
	if (s->encrypt_data_transfer)
		doctor_say(d, DOCTOR_FAIL, "encryption", "the cluster encrypts transfers (dfs.encrypt.data.transfer): that is not "
			"built, so DataNodes will refuse");
	doctor_say(d, DOCTOR_OK, "defaults", "of the cluster: %u replicas, blocks of %s, checksums %s of %u bytes; of this "
		"configuration, which counts for what is written here: %u replicas, blocks of %s", s->replication,
		block_size(s->block_size, theirs), checksum_name(s->checksum_type), s->bytes_per_checksum,
		f->conf->replication, block_size(f->conf->block_bytes, ours));
}

void doctor_tell_cluster(const struct doctor_facts *f, struct doctor *d)
{
	const Hdfs__GetFsStatsResponse *stats = f->stats.r == 0 ? f->stats.message : NULL;

	if (stats) {
		tell_space(stats, d);
		tell_blocks(stats, d);
	} else {
		doctor_say(d, DOCTOR_NOTE, "space", "not told: %s", f->stats.words);
	}
	tell_reports(f, d);
	tell_defaults(f, d);
}

/* DataNodes of the sample. */

unsigned doctor_nodes_of(const Hdfs__LocatedBlocks *blocks, const Hdfs__DatanodeInfo **ret, unsigned max)
{
	unsigned n = 0, k;

	for (size_t i = 0; i < blocks->n_blocks; i++)
		for (size_t j = 0; j < blocks->blocks[i]->n_locs && n < max; j++) {
			const Hdfs__DatanodeInfo *node = blocks->blocks[i]->locs[j];

			for (k = 0; k < n && strcmp(ret[k]->id->datanode_uuid, node->id->datanode_uuid) != 0; k++)
				;
			if (k == n)
				ret[n++] = node;
		}
	return n;
}

static const Hdfs__LocatedBlocks *blocks_of(const struct doctor_facts *f)
{
	const Hdfs__GetBlockLocationsResponse *m = f->sample_locations.r == 0 ? f->sample_locations.message : NULL;

	return m ? m->locations : NULL;
}

static bool connects(const struct doctor_facts *f, const Hdfs__DatanodeInfo *node)
{
	for (unsigned i = 0; i < f->n_dns; i++)
		if (strcmp(f->dns[i].info->id->datanode_uuid, node->id->datanode_uuid) == 0)
			return f->dns[i].connect.r == 0;
	/* More than were tried: nothing speaks against it. */
	return true;
}

/* Blocks of the sample whose replicas all lie on DataNodes that do not connect. */
static size_t n_unreachable(const struct doctor_facts *f, const Hdfs__LocatedBlocks *blocks)
{
	size_t n = 0;

	for (size_t i = 0; i < blocks->n_blocks; i++) {
		bool any = false;

		for (size_t j = 0; j < blocks->blocks[i]->n_locs; j++)
			any |= connects(f, blocks->blocks[i]->locs[j]);
		n += !any;
	}
	return n;
}

static const char *used_host(const struct doctor_facts *f, const struct doctor_dn *dn)
{
	return f->conf->use_hostnames ? dn->info->id->host_name : dn->info->id->ip_addr;
}

static const char *why(const struct doctor_facts *f, const struct doctor_answer *a, char *out, size_t n)
{
	char limit[DOCTOR_NUMBER_MAX];

	if (a->r == -ENOENT)
		snprintf(out, n, "the name does not resolve here");
	else if (a->r == -ECONNREFUSED)
		snprintf(out, n, "nobody listens there: the DataNode is down");
	else if (a->r == -ETIMEDOUT)
		snprintf(out, n, "no connection in %s: it is off or hangs, or a firewall drops what is sent to that port",
			doctor_time(f->timeout_ns, limit));
	else
		snprintf(out, n, "%s", err_text(a->r));
	return out;
}

static void tell_unreachable(const struct doctor_facts *f, const struct doctor_dn *dn, struct doctor *d)
{
	char words[200];

	doctor_say(d, DOCTOR_WARN, "datanode", "%s:%u: %s%s%s%s", used_host(f, dn), dn->info->id->xfer_port,
		why(f, &dn->connect, words, sizeof(words)),
		dn->by_other.asked && dn->by_other.r == 0 ? ". It connects as " : "",
		dn->by_other.asked && dn->by_other.r == 0 ? dn->other_host : "",
		dn->by_other.asked && dn->by_other.r == 0 ? f->conf->use_hostnames ?
		": dfs.client.use.datanode.hostname should be false here" : ": set dfs.client.use.datanode.hostname to true" : "");
}

/* The versions of those that told one, each once. */
static void put_versions(const struct doctor_facts *f, struct buf *b)
{
	const char *seen[8];
	unsigned n = 0, k;

	for (unsigned i = 0; i < f->n_dns; i++) {
		const Hdfs__GetDatanodeInfoResponse *m = f->dns[i].version.r == 0 ? f->dns[i].version.message : NULL;
		const char *version = m ? m->local_info->software_version : NULL;

		for (k = 0; version && k < n && strcmp(seen[k], version) != 0; k++)
			;
		if (!version || k < n || n == N_ELEMS(seen))
			continue;
		seen[n++] = version;
		buf_printf(b, "%s %s", n > 1 ? "," : "; Hadoop", version);
	}
}

static void tell_reachable(const struct doctor_facts *f, unsigned n_connect, struct doctor *d)
{
	AUTO_BUF struct buf versions = {.max = 4096};
	char shortest[DOCTOR_NUMBER_MAX], longest[DOCTOR_NUMBER_MAX];
	uint64_t least = UINT64_MAX, most = 0;

	for (unsigned i = 0; i < f->n_dns; i++) {
		if (f->dns[i].connect.r < 0)
			continue;
		least = MIN(least, f->dns[i].connect.ns);
		most = MAX(most, f->dns[i].connect.ns);
	}
	put_versions(f, &versions);
	doctor_say(d, DOCTOR_OK, "datanode", "%u of %u that have blocks of %s connect by %s, in %s to %s%s", n_connect, f->n_dns,
		f->sample, f->conf->use_hostnames ? "name" : "address", doctor_time(least, shortest), doctor_time(most, longest),
		versions.ptr ? (const char *)versions.ptr : "");
}

void doctor_tell_datanodes(const struct doctor_facts *f, struct doctor *d)
{
	const Hdfs__LocatedBlocks *blocks = blocks_of(f);
	unsigned n_connect = 0;
	size_t n_lost;

	if (!*f->sample) {
		doctor_say(d, DOCTOR_NOTE, "datanode", "none was tried: no file with bytes was found at %s or in the first folders "
			"below it", f->path);
		return;
	}
	if (!blocks) {
		doctor_say(d, DOCTOR_WARN, "datanode", "where %s lies is not told: %s", f->sample, f->sample_locations.words);
		return;
	}
	for (unsigned i = 0; i < f->n_dns; i++)
		n_connect += f->dns[i].connect.r == 0;
	if (n_connect)
		tell_reachable(f, n_connect, d);
	for (unsigned i = 0; i < f->n_dns; i++)
		if (f->dns[i].connect.r < 0)
			tell_unreachable(f, &f->dns[i], d);
	n_lost = n_unreachable(f, blocks);
	if (n_lost)
		doctor_say(d, DOCTOR_FAIL, "replicas", "%zu of %zu blocks of %s have no replica on a DataNode that can be reached "
			"from here", n_lost, blocks->n_blocks, f->sample);
}

/* What could be done. */

static void tell_local(const struct doctor_facts *f, struct doctor *d)
{
	const struct doctor_dn *here = NULL;
	unsigned n_here = 0;

	for (unsigned i = 0; i < f->n_dns; i++) {
		n_here += f->dns[i].is_here;
		here = f->dns[i].is_here && (!here || f->dns[i].socket_r == 0) ? &f->dns[i] : here;
	}
	if (!here)
		doctor_say(d, DOCTOR_NOTE, "local reads", "cannot: none of the sample's DataNodes is this host");
	else if (!f->conf->short_circuit || !f->conf->domain_socket)
		doctor_say(d, DOCTOR_NOTE, "local reads", "cannot, though %u of the DataNodes %s this host: %s is not set here; "
			"replicas are read through the DataNode", n_here, n_here > 1 ? "are" : "is", f->conf->short_circuit ?
			"dfs.domain.socket.path" : "dfs.client.read.shortcircuit");
	else if (here->socket_r < 0)
		doctor_say(d, DOCTOR_WARN, "local reads", "cannot: %s (dfs.domain.socket.path): %s; replicas are read through the "
			"DataNode", here->socket_path, err_text(here->socket_r));
	else
		doctor_say(d, DOCTOR_OK, "local reads", "can: replicas of this host are asked for as descriptors, by %s",
			here->socket_path);
}

static void tell_raise(const struct doctor_facts *f, struct doctor *d)
{
	if (!f->sample_write.asked)
		return;
	if (f->sample_write.r == 0)
		doctor_say(d, DOCTOR_OK, "more replicas", "can: %s may set the replication of %s", f->conf->user, f->sample);
	else
		doctor_say(d, DOCTOR_NOTE, "more replicas", "cannot: %s may not set the replication of %s: %s", f->conf->user,
			f->sample, f->sample_write.words);
}

static void tell_observers(const struct doctor_facts *f, struct doctor *d)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n_nns; i++) {
		const Hdfs__HaServiceStateResponse *m = f->nns[i].state.r == 0 ? f->nns[i].state.message : NULL;

		n += m && m->state == HDFS__HA_STATE__HA_OBSERVER;
	}
	if (n && f->conf->observer_reads)
		doctor_say(d, DOCTOR_OK, "observers", "can: names are read from %u observer%s", n, n > 1 ? "s" : "");
	else if (n)
		doctor_say(d, DOCTOR_NOTE, "observers", "cannot, though there are %u: dfs.client.failover.proxy.provider.%s is not "
			"ObserverReadProxyProvider here", n, f->conf->nameservice);
	else if (f->conf->observer_reads)
		doctor_say(d, DOCTOR_NOTE, "observers", "cannot: the configuration asks for observers, and no NameNode is one");
}

static void tell_trash(const struct doctor_facts *f, struct doctor *d)
{
	const Hdfs__GetServerDefaultsResponse *m = f->defaults.r == 0 ? f->defaults.message : NULL;
	uint64_t minutes = m && m->server_defaults->trash_interval ? m->server_defaults->trash_interval : f->conf->trash_minutes;

	if (minutes)
		doctor_say(d, DOCTOR_OK, "trash", "can: what `olddog rm` removes is kept for %" PRIu64 " minutes", minutes);
	else
		doctor_say(d, DOCTOR_NOTE, "trash", "cannot: fs.trash.interval is 0 there and here, so what is removed is gone");
}

void doctor_tell_tricks(const struct doctor_facts *f, struct doctor *d)
{
	if (*f->sample) {
		tell_local(f, d);
		tell_raise(f, d);
	}
	tell_observers(f, d);
	tell_trash(f, d);
}
