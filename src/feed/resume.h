/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job keeps to resume (CONTRACTS C1): {"v": 1, "order_id": HEX, "fields_id": HEX, "consumed": N}. Unknown keys are
 * skipped; fields_id may be absent.
 */
#ifndef OLDDOG_FEED_RESUME_H
#define OLDDOG_FEED_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

#define RESUME_VERSION 1
#define RESUME_MAX_BYTES 65536

struct resume {
	uint8_t order_id[SHA256_BYTES];
	bool has_fields_id;
	uint8_t fields_id[SHA256_BYTES];
	uint64_t consumed;
};

/* NUL-terminated JSON on one line (mem_free), or NULL when memory is short. */
char *resume_format(const struct resume *r);
/* E_FORMAT with words. */
int resume_parse(const char *text, size_t n, struct resume *ret, struct err *e);
/* E_OTHER_ORDER with words when it is of another order. */
int resume_check(const struct resume *r, const uint8_t order_id[SHA256_BYTES], struct err *e);

#endif
