/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hdfs: stores. What asks from any thread goes to the loop of the cluster's engine as a message and comes back as one
 * (doc/design/0019-hdfs.md).
 */
#ifndef OLDDOG_STORE_HDFS_HDFS_H
#define OLDDOG_STORE_HDFS_HDFS_H

#include "net/dial.h"
#include "store/hdfs/conf/conf.h"
#include "store/store.h"

/*
 * For tests: an engine of its own that lives on the loop of who asks, without a thread, and dials by dialer (which must
 * outlive it). conf is the store's from here on, also when this fails.
 */
int hdfs_open_with(struct loop *loop, struct hdfs_conf *conf, struct dialer *dialer, struct store **ret);

#endif
