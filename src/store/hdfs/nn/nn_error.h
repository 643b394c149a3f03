/* SPDX-License-Identifier: Apache-2.0 */
/* What a server's exception is to us: one table of class names, and of the few that only their words tell apart. */
#ifndef OLDDOG_STORE_HDFS_NN_NN_ERROR_H
#define OLDDOG_STORE_HDFS_NN_NN_ERROR_H

#include "base/err.h"
#include "store/hdfs/nn/nn_policy.h"
#include "wire/hadoop/rpc.h"

struct nn_error {
	int r;			/* negative errno, or a code of base/err.h */
	enum nn_fault fault;
};

/* a is an answer that is no success. What nobody has heard of is -EIO. */
struct nn_error nn_error_of(const struct rpc_answer *a);
/* The first line of the words, for people; for want of words the class. In out, of n bytes (8 or more). */
const char *nn_error_line(const struct rpc_answer *a, char *out, size_t n);

#endif
