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
 * How much to read at a time; pure. A call is worth SCAN_CALL_BYTES, or SCAN_NEAR_BYTES where the file's bytes lie in memory.
 * While members lie closer than that, what is between them is read along in ever larger windows. When they lie farther
 * apart only headers are read: where they are not near in shrinking windows, where they are as many bytes as were wanted
 * in one stretch lately, such as a label and the headers before and behind it.
 */
#define SCAN_WINDOW_MIN 1536u
#define SCAN_WINDOW_MAX (1u << 20)
#define SCAN_CALL_BYTES (64u << 10)
#define SCAN_NEAR_BYTES (4u << 10)
#define SCAN_NEAR_MAX (64u << 10)
#define SCAN_FIRST_BYTES (16u << 10)

struct scan_pace {
	uint32_t window;	/* of the last read */
	uint64_t window_at;
	uint32_t n_jumps;	/* of SCAN_WINDOW_MIN or more, since it */
	uint64_t begin, end;	/* of what was wanted without a jump of more than SCAN_NEAR_BYTES */
	uint32_t stretch;	/* such a one's length, lately */
};

void scan_pace_init(struct scan_pace *p);
/* n bytes at offset are wanted, behind all that was wanted before. */
void scan_pace_want(struct scan_pace *p, uint64_t offset, uint32_t n);
/* What is wanted at offset must be read: the size of the window that begins there. */
uint32_t scan_pace_read(struct scan_pace *p, uint64_t offset, bool near);

#endif
