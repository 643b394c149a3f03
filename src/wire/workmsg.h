/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an owner and its worker say to each other: 256-byte records over SOCK_SEQPACKET (CONTRACTS C7). Sizes come only
 * from these records, never from shared memory, and are checked here. The last 8 bytes are XXH3-64 of the others, so that a
 * record that was changed on its way (by a test's faults, or by a bug) is a broken protocol and never another message.
 */
#ifndef OLDDOG_WIRE_WORKMSG_H
#define OLDDOG_WIRE_WORKMSG_H

#include <stdint.h>

#include "base/err.h"

#define WORKMSG_BYTES 256
#define WORKMSG_VERSION 1
#define WORKMSG_WORDS 160

enum workmsg_type {
	WORKMSG_READY = 1,	/* worker: confined, recipe read; carries version and media fingerprint */
	WORKMSG_DECODE,		/* owner */
	WORKMSG_DONE,		/* worker: one for each DECODE, in order */
};

struct workmsg {
	enum workmsg_type type;
	uint32_t version;		/* READY */
	uint8_t fingerprint[32];	/* READY */
	uint64_t seq;			/* DECODE, DONE */
	uint64_t position;		/* DECODE */
	uint32_t field;			/* DECODE: index into the recipe */
	uint64_t in_offset, in_length;	/* DECODE: in the input arena */
	uint64_t out_offset, out_capacity; /* DECODE: in the worker's output */
	int32_t status;			/* DONE: 0 or a code of base/err.h */
	uint32_t h, w, c;		/* DONE, status 0: h * w * c uint8 at out_offset */
	uint32_t n_warnings;		/* DONE: warnings that do not make a sample bad */
	uint64_t checksum;		/* DONE: xxh3_of() the output, by the worker */
	char words[WORKMSG_WORDS];	/* DONE, status < 0 */
};

void workmsg_encode(const struct workmsg *m, uint8_t to[WORKMSG_BYTES]);
/* 0 or E_PROTOCOL. n is what was received. Bounds against the memories are the caller's to check. */
int workmsg_decode(const void *p, size_t n, struct workmsg *ret);

#endif
