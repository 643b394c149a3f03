/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of another process. */
#ifndef OLDDOG_NET_PROCESS_H
#define OLDDOG_NET_PROCESS_H

#include <sys/types.h>

/*
 * The letter of its state in /proc/PID/stat (proc(5)): R runs or could, S and D sleep, T and t are stopped. '?': not to be
 * told, or the process has another name than this one (NULL: any; as the kernel cuts it, 15 bytes at most).
 */
char process_state(pid_t pid, const char *name);

#endif
