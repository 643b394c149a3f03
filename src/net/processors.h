/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OLDDOG_NET_PROCESSORS_H
#define OLDDOG_NET_PROCESSORS_H

/*
 * How many processors this process may use: those it may run on, and no more than the time that its control groups are given
 * (a container's `--cpus 2` on a host of 64 leaves it all 64 to run on). At least 1.
 */
unsigned processors_available(void);

#endif
