/* SPDX-License-Identifier: Apache-2.0 */
/* What indexing of archives and of folders share; for index_make.c, index_files.c and index_shard.c only. */
#ifndef OLDDOG_PLAN_INDEX_FILES_H
#define OLDDOG_PLAN_INDEX_FILES_H

#include "net/pool.h"
#include "plan/counts.h"
#include "plan/data.h"
#include "plan/index.h"

struct index_making {
	struct index *index;
	struct data *data;
	const struct plan_conf *conf;
	uint64_t n_done, n_all, n_bytes;	/* files; bytes of those done */
	void (*scan_done)(struct job *job);
	struct err *e;
};

/* Words to conf.warn. */
void index_tell(struct index_making *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One more file is done. */
void index_progress(struct index_making *m, uint64_t length, uint64_t n_read);
/* SHA-256 of n files' bases, names, lengths and versions: what a segment was made from. */
int index_origin(const struct data *d, const struct data_file *files, size_t n, uint8_t ret[SHA256_BYTES]);
/* Adds a shard whose segment has been written; fills in what the segment tells. */
int index_shard_add(struct index_making *m, struct shard *shard, const char *name, const struct buf *segment,
	const struct counts *counts);
/* After the last shard: classes and bases become the index's, the most frequent extensions its stats. */
int index_settle(struct index_making *m);

/* Shards of a folder's files. */
int files_index(struct index_making *m, const struct data_source *source);

#endif
