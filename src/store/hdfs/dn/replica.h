/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replica as its DataNode keeps it, by descriptors of its two files: the bytes, and the meta file: be16 version 1, u8
 * kind of checksum, be32 bytes of a chunk, then be32 for each chunk. Blocking.
 */
#ifndef OLDDOG_STORE_HDFS_DN_REPLICA_H
#define OLDDOG_STORE_HDFS_DN_REPLICA_H

#include "store/hdfs/dn/block_flow.h"

#define REPLICA_META_HEAD 7u

struct replica_meta {
	enum crc_kind kind;
	uint32_t chunk_bytes;
};

/* E_PROTOCOL when it is no meta file that is known. */
int replica_meta_parse(const uint8_t head[REPLICA_META_HEAD], struct replica_meta *ret);

struct replica_read {
	int data_fd, meta_fd;
	struct replica_meta meta;
	uint64_t offset;		/* in the block */
	const struct block_seg *segs;
	unsigned n_segs;
	uint64_t n_done;		/* result: bytes from offset on that are right */
	uint64_t bad_at;		/* result of -EBADMSG: in the block */
};

/* 0, -EBADMSG, -ENODATA (the replica is shorter), -ENOMEM, what pread() said. */
int replica_read(struct replica_read *r);

#endif
