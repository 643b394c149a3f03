/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of Hadoop's keys, for conf*.c: what a key is, where its value goes, what Hadoop takes without it. */
#ifndef OLDDOG_STORE_HDFS_CONF_CONF_TABLE_H
#define OLDDOG_STORE_HDFS_CONF_CONF_TABLE_H

#include "store/hdfs/conf/conf.h"

enum hdfs_key_type {
	KEY_WORDS,		/* read elsewhere (conf_names.c): only described here */
	KEY_BOOL,
	KEY_NUMBER,		/* into unsigned */
	KEY_BYTES,		/* into uint64_t */
	KEY_BYTES32,		/* into uint32_t */
	KEY_MS,			/* into uint64_t */
	KEY_MINUTES,		/* into uint64_t */
	KEY_CHECKSUM,		/* into unsigned */
	KEY_UMASK,		/* into unsigned */
	KEY_PREFETCH,		/* bytes, into blocks */
	KEY_PATH,		/* into char *; empty: NULL */
	KEY_POLICY,		/* NEVER makes a bool false */
	KEY_UNBUILT,		/* refused when it is true */
};

/* Which clusters a key is of. */
enum hdfs_key_scope { KEY_ALL, KEY_SINGLE, KEY_HA };

struct hdfs_key {
	const char *name;
	enum hdfs_key_type type;
	const char *otherwise;		/* Hadoop's default, numbers without a unit; "": none */
	uint64_t min, max;
	size_t offset;
	const char *help;
	enum hdfs_key_scope scope;
};

extern const struct hdfs_key hdfs_keys[];
extern const unsigned hdfs_n_keys;

/* conf_names.c: which NameNodes an authority stands for; sets authority to random_order, and user. */
int hdfs_conf_names(struct site *site, const char *authority, struct hdfs_conf *c, struct err *e);

#endif
