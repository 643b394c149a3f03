/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of a source's data: path, pattern or directory -> files, appended to a struct data. */
#ifndef OLDDOG_PLAN_DATA_WALK_H
#define OLDDOG_PLAN_DATA_WALK_H

#include "plan/data.h"

/* Names that begin with a dot are no data, unless the entry writes the dot. -ENOENT with words when nothing is there. */
int data_walk(struct data *d, const char *entry, struct err *e);

#endif
