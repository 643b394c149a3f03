/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests on their way: each goes to the engine's loop as a message, begins there what its operation is (read.h, names.h,
 * put.h, checksum.h), and comes back as a message to the loop of who asked, where it ends.
 */
#ifndef OLDDOG_STORE_HDFS_HDFS_REQ_H
#define OLDDOG_STORE_HDFS_HDFS_REQ_H

#include "store/hdfs/hdfs_engine.h"
#include "store/store.h"

/* As submit() and cancel() of store/engine.h. */
void hdfs_req_submit(struct hdfs_engine *e, struct store_req *req);
void hdfs_req_cancel(struct store_req *req);

#endif
