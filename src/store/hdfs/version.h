/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of a file (struct store_file): its id, which no other file of the cluster ever has, its length and its time
 * of change, "ID-LENGTH-MS". What stats say and what reads check. By hand, since a listing makes a million a second.
 * Of a file that somebody writes only the id stays, "ID+": what was there is not changed by what comes behind it.
 */
#ifndef OLDDOG_STORE_HDFS_VERSION_H
#define OLDDOG_STORE_HDFS_VERSION_H

#include <string.h>

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

/* Whether it is of the file with this id; 0 is no file's. */
static inline bool hdfs_version_is_of(const char version[STORE_VERSION_MAX], uint64_t file_id)
{
	char id[STORE_VERSION_MAX];
	char *end = hdfs_put_number(id, file_id);

	*end = '-';
	return file_id && strncmp(version, id, (size_t)(end + 1 - id)) == 0;
}

static inline void hdfs_version_growing(uint64_t file_id, char ret[STORE_VERSION_MAX])
{
	memcpy(hdfs_put_number(ret, file_id), "+", 2);
}

/* Whether a file of this status may be read as the version that was named. */
static inline bool hdfs_version_fits(const char *version, const struct hdfs_status *st)
{
	char now[STORE_VERSION_MAX];

	hdfs_version_growing(st->file_id, now);
	if (strcmp(version, now) == 0)
		return true;
	hdfs_version_of(st, now);
	return strcmp(version, now) == 0;
}

#endif
