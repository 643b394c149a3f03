/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of a file (struct store_file): its id, which no other file of the cluster ever has, its length and its time
 * of change, "ID-LENGTH-MS". What stats say and what reads check. By hand, since a listing makes a million a second.
 */
#ifndef OLDDOG_STORE_HDFS_VERSION_H
#define OLDDOG_STORE_HDFS_VERSION_H

#include "store/store.h"
#include "wire/hadoop/status.h"

/* Writes v in decimal; returns what follows it. */
static inline char *hdfs_put_number(char *out, uint64_t v)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*out++ = digits[--n];
	return out;
}

static inline void hdfs_version_of(const struct hdfs_status *st, char ret[STORE_VERSION_MAX])
{
	char *at = hdfs_put_number(ret, st->file_id);

	*at++ = '-';
	at = hdfs_put_number(at, st->length);
	*at++ = '-';
	at = hdfs_put_number(at, st->mtime_ms);
	*at = 0;
}

#endif
