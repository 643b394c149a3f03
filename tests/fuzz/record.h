/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker messages out of a fuzzer's bytes: a byte of flags, a byte of length (a whole message, when it is 0), the bytes;
 * a fuzzer cannot find checksums and numbers that depend on what was said before, so flags put them in.
 */
#ifndef OLDDOG_TESTS_FUZZ_RECORD_H
#define OLDDOG_TESTS_FUZZ_RECORD_H

#include <endian.h>
#include <string.h>

#include "base/hash.h"
#include "base/rd.h"
#include "base/scope.h"
#include "wire/workmsg.h"

enum { RECORD_SUM = 1, RECORD_SEQ = 2 };

#define RECORD_SEQ_AT 12	/* of a DONE */

/* The length of the record, 0 at the end. */
static inline size_t record_next(struct rd *r, uint64_t seq, uint8_t to[WORKMSG_BYTES])
{
	size_t body = WORKMSG_BYTES - sizeof(uint64_t), n;
	uint8_t flags = rd_u8(r);
	uint64_t le;

	n = rd_u8(r);
	if (r->bad)
		return 0;
	n = MIN(n ? n : body, rd_left(r));
	memset(to, 0, WORKMSG_BYTES);
	rd_copy(r, to, MIN(n, body));
	if (!(flags & RECORD_SUM))
		return MAX(n, (size_t)1);
	le = htole64(seq);
	if (flags & RECORD_SEQ)
		memcpy(to + RECORD_SEQ_AT, &le, sizeof(le));
	le = htole64(xxh3_of(to, body));
	memcpy(to + body, &le, sizeof(le));
	return WORKMSG_BYTES;
}

#endif
