/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was asked about a site, its NameNodes, a path and the DataNodes of a sample, and what is said of it: pure functions of
 * the facts, which doctor.c gathers. Messages are those of hadoop.proto, in the arena of who gathered.
 */
#ifndef OLDDOG_STORE_HDFS_DOCTOR_DOCTOR_POLICY_H
#define OLDDOG_STORE_HDFS_DOCTOR_DOCTOR_POLICY_H

#include "store/doctor.h"
#include "store/hdfs/conf/conf.h"
#include "wire/hadoop/message.h"

#define DOCTOR_MAX_DNS 64u	/* of the sample's blocks, that are connected to */
#define DOCTOR_STALE_MS 30000u	/* dfs.namenode.stale.datanode.interval */

/* One question. */
struct doctor_answer {
	bool asked;
	bool connected;		/* somebody took the connection, whatever became of the question */
	int r;			/* 0, or as rpc_ask() has it */
	uint64_t ns;		/* from the beginning of the connection to the answer */
	void *message;		/* when r is 0, unless nothing was to be read */
	char words[256];	/* when r < 0: the server's first line, or the text of r */
};

struct doctor_site {
	const char *dir;	/* "": none was found */
	const char *named_by;	/* "HADOOP_CONF_DIR", ..; what gave dir */
	bool has_core, has_hdfs;	/* core-site.xml, hdfs-site.xml */
};

struct doctor_nn {
	const struct hdfs_namenode *at;
	struct doctor_answer state, safe_mode, version;
};

struct doctor_dn {
	const Hdfs__DatanodeInfo *info;
	bool is_here;
	const char *other_host;		/* by its name when conf says address, and the reverse */
	struct doctor_answer connect, by_other, version;
	int socket_r;			/* here only: of connecting to its domain socket */
	char socket_path[108];
};

struct doctor_facts {
	struct doctor_site site;
	const struct hdfs_conf *conf;
	const char *process_user;	/* "" when it has no name */
	uint64_t timeout_ns;
	unsigned n_nns;
	struct doctor_nn nns[HDFS_MAX_NAMENODES];
	const char *path;		/* absolute */
	/* Asked of one NameNode: of doctor_namenode(). */
	struct doctor_answer groups, status, may_read, may_write;
	struct doctor_answer stats, live, dead, decommissioning, defaults, quota, zone, ec;
	/* A file at or below path that has bytes; "" when none was found. */
	const char *sample;
	struct doctor_answer sample_locations, sample_write;
	unsigned n_dns;
	struct doctor_dn dns[DOCTOR_MAX_DNS];
};

/* The NameNode to ask everything else: the active one, else one that answers and is not known to be another. -1: none. */
int doctor_namenode(const struct doctor_facts *f);
/* Of GetFileInfoResponse; NULL: there is nothing at the path, or that was not told. */
const Hdfs__FileStatus *doctor_status(const struct doctor_facts *f);
/* Which DataNodes of the sample's blocks are to be looked at: the number of those put into ret, each once. */
unsigned doctor_nodes_of(const Hdfs__LocatedBlocks *blocks, const Hdfs__DatanodeInfo **ret, unsigned max);

void doctor_tell_site(const struct doctor_site *s, struct doctor *d);
void doctor_tell_namenodes(const struct doctor_facts *f, struct doctor *d);
/* Only when there is a doctor_namenode(). */
void doctor_tell_login(const struct doctor_facts *f, struct doctor *d);
void doctor_tell_path(const struct doctor_facts *f, struct doctor *d);
void doctor_tell_cluster(const struct doctor_facts *f, struct doctor *d);
void doctor_tell_datanodes(const struct doctor_facts *f, struct doctor *d);
void doctor_tell_tricks(const struct doctor_facts *f, struct doctor *d);

#endif
