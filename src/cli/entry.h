/* SPDX-License-Identifier: Apache-2.0 */
/* What ls and stat print of a file or directory. */
#ifndef OLDDOG_CLI_ENTRY_H
#define OLDDOG_CLI_ENTRY_H

#include "cli/cmd.h"
#include "store/store.h"

#define ENTRY_TIME_MAX 32
#define ENTRY_MODE_MAX 12

/* "file", "dir", "other". */
const char *entry_kind(const struct store_stat *stat);
/* Local time, or "-" when the store does not know. */
const char *entry_time(const struct store_stat *stat, char out[ENTRY_TIME_MAX]);
/* "drwxr-xr-t", or "d?" when the store does not know. */
const char *entry_mode(const struct store_stat *stat, char out[ENTRY_MODE_MAX]);
/*
 * An object {name, kind, length, version, mtime_ns, atime_ns, mode, owner, group, replication, block_bytes, growing}, what
 * is not known left out. A name that is not UTF-8 is printed with '?', and its bytes are the
 * hexadecimal member name_hex. NULL when memory is short.
 */
json_t *entry_json(const char *name, const struct store_stat *stat);

#endif
