/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of the fault filter, as its URL suffix writes it:
 *
 *	#fault=delay:5ms-30ms,slow:0.01:300ms,fail:0.001,short:0.01,stale:0.001,seed:7
 *
 * delay: every range waits so long (one time, or a span); slow: with this probability so much longer; fail: -EIO; short:
 * only a part of a range is read, then -EIO; stale: -ESTALE as if the file had changed. What is appended piece by piece
 * has the offset behind the pieces before it, and is short too; a COMMIT that fails ends the writer. What else does not
 * read has no offset; it meets delay, slow and fail. Times are numbers with ns, us, ms, s; probabilities lie in 0..1.
 *
 * What a range meets is a function of seed, path and offset, exactly (bench/delays.py repeats it):
 *
 *	key = philox_key_of(seed, "fault"); h = first 4 bytes, little-endian, of SHA-256(path)
 *	u = philox(key, offset, h, 0)
 *	delay = min + floor(uniform(u[0]) * (max - min)) ns, and slow's time more when uniform(u[1]) < P
 *
 * with path as the store has it: parts joined by single slashes, none before the first.
 */
#ifndef OLDDOG_STORE_FAULT_H
#define OLDDOG_STORE_FAULT_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define FAULT_MAX_NS (3600ull * 1000000000ull)

struct fault_conf {
	uint64_t delay_min_ns, delay_max_ns, slow_ns, seed;
	double slow_p, fail_p, short_p, stale_p;
};

/* 0, or -EINVAL with words. */
int fault_conf_parse(struct str text, struct fault_conf *ret, struct err *e);

#endif
