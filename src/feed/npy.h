/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample's field as a .npy file: numpy's format, version 1.0 (numpy/lib/format.py). bfloat16 is written as uint16
 * holding the bits; text, JSON and bytes as uint8.
 */
#ifndef OLDDOG_FEED_NPY_H
#define OLDDOG_FEED_NPY_H

#include "base/buf.h"
#include "feed/digest.h"

/* Appends the whole file. */
int npy_write(const struct sample_view *v, struct buf *to);

#endif
