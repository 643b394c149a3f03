/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of the kernel's texts: in which control group a process is, and how many processors' time such a group may use
 * (Documentation/admin-guide/cgroup-v2.rst, cpu.max; Documentation/scheduler/sched-bwc.rst). Pure functions.
 */
#ifndef OLDDOG_NET_QUOTA_H
#define OLDDOG_NET_QUOTA_H

#include "base/str.h"

/*
 * The group of /proc/PID/cgroup's text in the hierarchy that has this controller ("cpu"), or in the one of version 2 (""): a
 * path from "/" on, which points into text. 0; -ENOENT: there is none.
 */
int quota_group(struct str text, const char *controller, struct str *ret_path);
/* The group above: cuts the last component off; false at "/" or when nothing is left. */
bool quota_group_up(struct str *path);
/* Processors, rounded up, of microseconds in each period. 0: no limit, or not a text of the kernel's. */
unsigned quota_processors(struct str quota_us, struct str period_us);
/* The same of a text "QUOTA PERIOD", where "max" is no limit. */
unsigned quota_processors_of_max(struct str text);

#endif
