/* SPDX-License-Identifier: Apache-2.0 */
/* HdfsFileStatusProto and lists of it, by hand: a listing of a million entries is read at a million a CPU second. */
#ifndef OLDDOG_WIRE_HADOOP_STATUS_H
#define OLDDOG_WIRE_HADOOP_STATUS_H

#include <stdbool.h>

#include "base/str.h"

enum hdfs_type { HDFS_DIR = 1, HDFS_FILE = 2, HDFS_SYMLINK = 3 };
enum hdfs_flag { HDFS_HAS_ACL = 1, HDFS_HAS_CRYPT = 2, HDFS_HAS_EC = 4, HDFS_SNAPSHOT_ENABLED = 8 };

/* All strings lie in the message. */
struct hdfs_status {
	enum hdfs_type type;
	struct str name;		/* the last part of the path; "" of the path that was asked for */
	uint64_t length, mtime_ms, atime_ms, block_bytes, file_id;
	uint32_t mode;			/* 0777 and the sticky bit 01000 */
	uint32_t replication;		/* 0 of a directory */
	struct str owner, group, symlink;
	int32_t n_children;		/* -1: not told */
	uint32_t policy, flags;
	bool encrypted, erasure_coded;	/* fields 15 and 17 are there */
	struct str locations;		/* a LocatedBlocksProto, or "" */
};

/* E_PROTOCOL when it is none. */
int hdfs_status_parse(struct str message, struct hdfs_status *ret);

/* The entries of a GetListingResponseProto's dirList, in place. */
struct hdfs_listing {
	struct str message;
	size_t at;
	uint32_t remaining;	/* behind these entries; known after the last */
	bool told;		/* remaining was there */
};

/* -ENOENT when the answer has no dirList: there is no such path. */
int hdfs_listing_begin(struct str response, struct hdfs_listing *ret);
/* 1 and the next entry, 0 at the end, E_PROTOCOL (also for a name that is no part of a path, such as "a/b" or ".."). */
int hdfs_listing_next(struct hdfs_listing *l, struct hdfs_status *ret);

#endif
