/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file that one thread reads here and there, blocking: what store_pread() does, without a request for each call
 * where the engine has a descriptor to give.
 */
#ifndef OLDDOG_STORE_READER_H
#define OLDDOG_STORE_READER_H

#include "store/store.h"

struct store_reader;

/* file as in store_req; it and path must outlive the reader. */
int store_reader_open(struct store *s, const char *path, const struct store_file *file, struct store_reader **ret,
	struct err *e);
/*
 * All n bytes at offset, or an error. ret_near: they lay in this host's memory, so that a call is cheap and bytes are
 * not; false when that is not known.
 */
int store_reader_read(struct store_reader *r, void *buf, size_t n, uint64_t offset, bool *ret_near, struct err *e);
/* 0 when all that was read is of the version that file names; -ESTALE. */
int store_reader_check(struct store_reader *r, struct err *e);
void store_reader_free(struct store_reader *r);
DEFINE_AUTO(store_reader);

#endif
