/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where olddog's other programs are. Looked for in $OLDDOG_LIBEXEC (and nowhere else when that is set), beside the
 * program or library that this code is in, in the folder above that (a build tree), and in the installed libexec folder.
 */
#ifndef OLDDOG_FEED_PROGRAM_H
#define OLDDOG_FEED_PROGRAM_H

#include "base/err.h"

/* The path of an executable (mem_free), or -ENOENT with words that say where it was looked for. */
int program_find(const char *name, char **ret_path, struct err *e);

#endif
