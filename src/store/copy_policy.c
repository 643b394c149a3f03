/* SPDX-License-Identifier: Apache-2.0 */
#include "store/copy_policy.h"

enum copy_action copy_decide(bool overwrite, const struct store_stat *from, const struct store_stat *at)
{
	if (!at)
		return COPY_NEW;
	/* A directory is never replaced by a file: too much would be gone. */
	if (at->kind != STORE_FILE)
		return COPY_REFUSE;
	if (at->file.length == from->file.length)
		return COPY_COMPARE;
	return overwrite ? COPY_REPLACE : COPY_REFUSE;
}

enum copy_action copy_decide_compared(bool overwrite, bool equal)
{
	if (equal)
		return COPY_SKIP;
	return overwrite ? COPY_REPLACE : COPY_REFUSE;
}

bool copy_again(int r, unsigned n_tries)
{
	switch (r) {
	case -EIO:
	case -ETIMEDOUT:
	case -ECONNRESET:
	case -ECONNREFUSED:
	case -ECONNABORTED:
	case -EPIPE:
	case -EAGAIN:
	case -EBUSY:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ESTALE:	/* the source changed: its new version is copied */
	case -EEXIST:	/* a commit whose answer was lost, or another copy's: look again at what is there */
		return n_tries < COPY_MAX_TRIES;
	default:
		return false;
	}
}

unsigned copy_parts(uint64_t length, uint64_t part_bytes, uint64_t *ret_part_bytes)
{
	uint64_t n;

	if (part_bytes == 0 || length / 2 < part_bytes) {
		*ret_part_bytes = length;
		return 1;
	}
	/* Whole multiples, so that parts stay made of whole blocks. */
	n = (length - 1) / part_bytes + 1;
	part_bytes *= (n - 1) / COPY_MAX_PARTS + 1;
	*ret_part_bytes = part_bytes;
	return (unsigned)((length - 1) / part_bytes + 1);
}
