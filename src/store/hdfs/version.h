/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of a file (struct store_file): its id, which no other file of the cluster ever has, its length and its time
 * of change. What stats say and what reads check.
 */
#ifndef OLDDOG_STORE_HDFS_VERSION_H
#define OLDDOG_STORE_HDFS_VERSION_H

#include <inttypes.h>
#include <stdio.h>

#include "store/store.h"
#include "wire/hadoop/status.h"

static inline void hdfs_version_of(const struct hdfs_status *st, char ret[STORE_VERSION_MAX])
{
	snprintf(ret, STORE_VERSION_MAX, "%" PRIu64 "-%" PRIu64 "-%" PRIu64, st->file_id, st->length, st->mtime_ms);
}

#endif
