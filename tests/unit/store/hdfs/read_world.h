/* SPDX-License-Identifier: Apache-2.0 */
/* A file on three DataNodes and a NameNode, all in one thread, for tests of reading. */
#ifndef OLDDOG_TESTS_READ_WORLD_H
#define OLDDOG_TESTS_READ_WORLD_H

#include "base/rand.h"
#include "fake_dn.h"
#include "fake_nn.h"
#include "store/hdfs/read/read.h"

#define N_NODES 3u
#define MAX_BLOCKS 16u
#define MAX_RANGES 192u
#define XFER_PORT 9866
#define IPC_PORT 9867

struct dice {
	struct philox_key key;
	uint64_t n;
};

/* One file, as the NameNode knows it. */
struct file {
	uint64_t id, mtime_ms, length, block_bytes;
	unsigned n_blocks;
	uint64_t ids[MAX_BLOCKS];
	unsigned nodes[MAX_BLOCKS];	/* bits: who has a replica */
	uint8_t *bytes;
	bool growing, gone;
	uint32_t mode;			/* 0: 0644 */
	bool denied;			/* checkAccess refuses */
	const char *pool_of_later;	/* blocks behind the first are of this pool; NULL: of the same */
};

struct world {
	struct loop *loop;
	struct fake_net *net;
	struct fake_nn *fake, *ipc[N_NODES];
	struct fake_dn *dn[N_NODES];
	struct hdfs_conf conf;
	struct hdfs_counters counters;
	struct nn *nn;
	struct dn_pool *dns;
	struct reads *reads;
	struct file file;
	uint64_t visible;		/* DataNodes say of the last block of a file that grows; 0: what is right */
	uint64_t first_says;		/* the same, of the one that is asked first; 0: what all say */
	bool none_has;			/* the same: no DataNode has a replica of it */
	unsigned n_files, n_lookups, n_checks, n_reports;
	bool done;
	int r;
};

struct call {
	struct read_job job;
	struct store_file file;
	struct store_range ranges[MAX_RANGES];
	struct err err;
};

uint32_t below(struct dice *d, uint32_t n);
/* Three DataNodes, and a NameNode that knows one file, /f. */
struct world *world_new(void);
void world_free(struct world *w);
/* The same on a loop of the test's, which nothing runs on any more. */
struct world *world_new_on(struct loop *loop);
void world_free_on(struct world *w);
/* Of the file's block; bad_at as in struct fake_replica. */
void put_replica(struct world *w, unsigned node, unsigned block, uint64_t n, int64_t bad_at);
void world_file(struct world *w, uint64_t length, uint64_t block_bytes, unsigned n_replicas);
/* Ranges get memory; versioned: the file is named by its version. */
void call_prepare(struct world *w, struct call *c, unsigned n, bool versioned);
/* What was prepared, to its end. */
int call_run(struct world *w, struct call *c);
/* The same, begun. */
void call_start(struct world *w, struct call *c, unsigned n, bool versioned);
/* What is done is right; what is not has a reason. Bytes done in all. */
uint64_t call_check(struct world *w, struct call *c);
int read_once(struct world *w, struct call *c, unsigned n, bool versioned);
/* The whole file. */
int read_all(struct world *w, bool versioned);
uint64_t block_length(const struct file *f, unsigned i);

#endif
