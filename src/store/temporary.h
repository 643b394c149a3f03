/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files that are being written: ".olddog-tmp-HOST-PID-START-RANDOM". HOST is of the running system and its
 * numbering of processes (boot, PID namespace), START is when the process began. So somebody on the same host may tell
 * that a writer is dead for sure, and remove what it left; of a writer elsewhere nobody here can say so.
 */
#ifndef OLDDOG_STORE_TEMPORARY_H
#define OLDDOG_STORE_TEMPORARY_H

#include <stdbool.h>

#define TEMPORARY_PREFIX ".olddog-tmp-"
#define TEMPORARY_NAME_BYTES 96

/* A name that nobody has, of this process. 0 or -errno. */
int temporary_name(char out[static TEMPORARY_NAME_BYTES]);
bool temporary_is(const char *name);
/* Of a process that was here and is no more. False where that cannot be told. */
bool temporary_is_abandoned(const char *name);

#endif
