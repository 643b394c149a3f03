/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OLDDOG_STORE_HDFS_CONF_HDFS_URL_H
#define OLDDOG_STORE_HDFS_CONF_HDFS_URL_H

#include <stdbool.h>

/*
 * What follows "hdfs:" as Hadoop reads it: "//AUTHORITY/PATH"; without an authority ("///PATH", "/PATH") it is of
 * fs.defaultFS, and a path without a slash before it is relative: to /user/USER. Gives the authority ("": the default) and
 * the path without its first slash; mem_free.
 */
int hdfs_url_parse(const char *rest, char **ret_authority, char **ret_path, bool *ret_relative);

#endif
