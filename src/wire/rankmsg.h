/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank and its olddog-loader say to each other: records over SOCK_SEQPACKET, each a type and tagged values
 * (u16 tag, u16 0, u32 length, bytes padded to 4). A value whose tag is 0x8000 or more and unknown refuses the record,
 * another unknown one is skipped, so that a newer peer and an older one agree or refuse.
 *
 * A rank sends OPEN once, gets OPENED, then NEXT for each batch, which BATCH, END or FAIL answers; RELEASE gives a slot
 * back. A BATCH whose slot the rank has not seen carries its descriptor. FAIL says what went wrong; after one with
 * `over` nothing more comes.
 */
#ifndef OLDDOG_WIRE_RANKMSG_H
#define OLDDOG_WIRE_RANKMSG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "wire/recipe.h"

#define RANKMSG_VERSION 1
#define RANKMSG_MAX_BYTES 65536u
#define RANKMSG_MAX_PATHS 256
#define RANKMSG_WORDS 512

enum rankmsg_type {
	RANKMSG_OPEN = 1,	/* rank */
	RANKMSG_NEXT,		/* one at a time */
	RANKMSG_RELEASE,
	RANKMSG_OPENED,		/* loader */
	RANKMSG_BATCH,
	RANKMSG_END,
	RANKMSG_FAIL,
	RANKMSG_WARN,		/* at any time: words for the user */
};

/* Text points into the decoded record, and ends with a NUL there. */
struct rankmsg {
	enum rankmsg_type type;
	/* OPEN */
	uint32_t version;
	const char *paths[RANKMSG_MAX_PATHS]; /* absolute, or URLs */
	uint32_t n_paths;
	const char *fields[RECIPE_MAX_FIELDS];
	uint32_t n_fields;		/* 0: all */
	const char *transform;		/* NULL: the plan's own */
	uint32_t dp_rank, dp_size;
	uint64_t batch;			/* 0: the spec's */
	bool batch_is_global;
	uint32_t tail;			/* 0: the spec's; else 1 + enum tail */
	uint64_t consumed, n_epochs;
	uint32_t n_workers;
	uint64_t max_bytes;		/* of slots; 0: default */
	bool has_order_id;		/* OPEN: of the state that is resumed; OPENED: always */
	uint8_t order_id[SHA256_BYTES];
	/* OPENED */
	uint8_t fields_id[SHA256_BYTES];
	uint64_t n_samples, epoch_len, global_batch, seed;
	uint32_t pid;			/* the loader's, by its own count; 0: an older one's */
	/* BATCH, RELEASE */
	uint32_t slot;
	uint64_t slot_bytes;		/* of its memory now */
	uint32_t head_bytes;		/* of the encoded head at its beginning */
	uint64_t end;			/* BATCH, END: `consumed` after it */
	uint64_t n_left;		/* OPENED, BATCH, END: the rank's batches from there to the end of that epoch */
	uint64_t n_batches;		/* OPENED, BATCH, END: of that whole epoch */
	/* FAIL, WARN */
	int32_t code;
	bool over;
	const char *words;
};

/* -E2BIG when it does not fit a record. */
int rankmsg_encode(const struct rankmsg *m, struct buf *to);
/*
 * E_PROTOCOL. Text in ret points into p, which decoding changes nothing of; each text's NUL was sent with it.
 */
int rankmsg_decode(const void *p, size_t n, struct rankmsg *ret);

#endif
