/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hadoop's configuration as the site keeps it: core-site.xml and hdfs-site.xml of HADOOP_CONF_DIR, with XInclude,
 * <final>, ${variables} (properties, then ${env.NAME}, ${env.NAME:-default}, ${user.name}), deprecated names, and units
 * ("10s", "128m"), so that hdfs://cluster/path works wherever `hdfs dfs` works. What no file says has Hadoop's default.
 */
#ifndef OLDDOG_STORE_HDFS_CONF_SITE_H
#define OLDDOG_STORE_HDFS_CONF_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scope.h"

#define SITE_MAX_BYTES (16u << 20)	/* of one file */
#define SITE_MAX_DEPTH 20u		/* of includes; and variables replaced in one value, as Hadoop has it */
#define SITE_MAX_FILES 256u		/* included ones too */
#define SITE_MAX_PROPERTIES 65536u
#define SITE_MAX_VALUE 65536u		/* bytes, before and after its variables are replaced */

struct site;

/*
 * dir NULL: HADOOP_CONF_DIR, else HADOOP_HOME/etc/hadoop, else /etc/hadoop/conf, else none, which is no error: then
 * there are only defaults. Words name the file and the line.
 */
int site_load(const char *dir, struct site **ret, struct err *e);
/* From text, as one file would give it. For tests and fuzzing. */
int site_parse(const char *xml, size_t n, struct site **ret, struct err *e);
void site_free(struct site *s);
DEFINE_AUTO(site);
/* Where it was read, "" for nowhere. */
const char *site_dir(const struct site *s);
/* Later than the files, as -D does. */
int site_set(struct site *s, const char *key, const char *value);

/*
 * The value with its variables replaced, without white space around it; NULL: not set. Good until the next site_set(). A
 * variable that nothing sets stays as it is written, and so does a value whose variables lead back to it.
 */
const char *site_get(struct site *s, const char *key);
/* The same of a key that is put together. */
const char *site_getf(struct site *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * What site_get() could not say since the last call: -ENOMEM, or -EINVAL with words that name a key with more variables
 * than SITE_MAX_DEPTH or a value that grows too long.
 */
int site_failure(struct site *s, struct err *e);
/* -EINVAL with words that name key and value; otherwise is returned when it is not set. */
int site_u64(struct site *s, const char *key, uint64_t otherwise, uint64_t *ret, struct err *e);
int site_bool(struct site *s, const char *key, bool otherwise, bool *ret, struct err *e);
int site_bytes(struct site *s, const char *key, uint64_t otherwise, uint64_t *ret, struct err *e);
/* ns, us, ms, s, m, h, d; a bare number is of `unit_ms` milliseconds. */
int site_ms(struct site *s, const char *key, uint64_t otherwise_ms, uint64_t unit_ms, uint64_t *ret_ms, struct err *e);

#endif
