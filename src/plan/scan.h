/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a tar archive's headers through the store and gives its member table. Blocking; one call per thread at a time.
 */
#ifndef OLDDOG_PLAN_SCAN_H
#define OLDDOG_PLAN_SCAN_H

#include "plan/oddity.h"
#include "plan/table.h"
#include "store/store.h"

/*
 * table is initialised by the caller. E_FORMAT with words ("ends inside a header at 318767104"): the archive is bad.
 * E_CHANGED: another version than file's. Other codes are the store's. ret_read: bytes that were read.
 */
int scan_tar(struct store *store, const char *path, const struct store_file *file, struct table *table,
	struct oddities *odd, uint64_t *ret_read, struct err *e);

/*
 * How much to read at a time. A call is worth SCAN_CALL_BYTES, or SCAN_NEAR_BYTES where the file's bytes lie in memory:
 * while members lie closer than that, what is between them is read along in ever larger windows; when they lie farther
 * apart, only headers are read. Pure: since the last read, of `window` bytes, the parser went on by advance bytes in
 * n_jumps jumps of SCAN_WINDOW_MIN or more. Gives the next window.
 */
#define SCAN_WINDOW_MIN 1536u
#define SCAN_WINDOW_MAX (1u << 20)
#define SCAN_CALL_BYTES (64u << 10)
#define SCAN_NEAR_BYTES (4u << 10)
#define SCAN_NEAR_MAX (64u << 10)
#define SCAN_FIRST_BYTES (16u << 10)
uint32_t scan_window(uint32_t window, uint64_t advance, uint32_t n_jumps, bool near);

#endif
