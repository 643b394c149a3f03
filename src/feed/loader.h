/* SPDX-License-Identifier: Apache-2.0 */
/*
 * olddog-loader: one process per job and host that runs the engines of all plans that its ranks open (CONTRACTS C4).
 * Ranks that ask for the same plan and fields share an engine; each is a stream of it. It outlives any rank, and ends
 * with its last connection.
 */
#ifndef OLDDOG_FEED_LOADER_H
#define OLDDOG_FEED_LOADER_H

#include "base/err.h"

/*
 * Serves one connected socket, or those that come to a listening one, until none is left. Takes fd. Does not return
 * while there is work; what is left at its end is the process's to clear.
 */
int loader_run(int fd, int listening, struct err *e);

#endif
