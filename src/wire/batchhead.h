/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a batch slot: what lies where in the memory that a rank maps. It stands in the slot's first
 * BATCHHEAD_ROOM bytes; whoever maps the slot copies those out, decodes the copy, and trusts only what decoded.
 *
 * A field is an array of n samples (form ARRAY; for `collate: pad` with the samples' own sizes beside it), or all
 * samples' elements one after another with n + 1 offsets (form RAGGED; images with their sizes). Besides the plan's
 * fields there are three whose names begin with a dot, which no field's may: ".position" (int64), ".key" (the sample's
 * key, text) and ".for" (the key of the bad sample that this one stands for, or nothing).
 */
#ifndef OLDDOG_WIRE_BATCHHEAD_H
#define OLDDOG_WIRE_BATCHHEAD_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/recipe.h"

#define BATCHHEAD_ROOM 8192u
#define BATCHHEAD_ALIGN 64u
#define BATCHHEAD_MAX_FIELDS (RECIPE_MAX_FIELDS + 3)
#define BATCHHEAD_MAX_DIMS 4	/* of a sample 3, and the batch's own */
#define BATCHHEAD_MAX_ITEMS (1u << 24)
#define BATCHHEAD_POSITION ".position"
#define BATCHHEAD_KEY ".key"
#define BATCHHEAD_FOR ".for"

enum batch_form { FORM_ARRAY = 1, FORM_RAGGED };

struct batch_field {
	char name[RECIPE_NAME_MAX];
	enum field_kind kind;
	enum dtype dtype;
	enum batch_form form;
	unsigned n_dims;	/* ARRAY: with the batch's own first. RAGGED: 1 */
	uint64_t dims[BATCHHEAD_MAX_DIMS];	/* RAGGED: the number of all elements */
	uint64_t data_offset, data_bytes;	/* within the slot */
	uint64_t offsets_offset;	/* RAGGED: n + 1 uint64, in elements; else 0 */
	uint64_t sizes_offset;		/* n rows of n_size_dims uint32: the samples' own shapes; 0: none */
	unsigned n_size_dims;		/* 3, or 0 */
};

struct batch_head {
	uint64_t n_bytes;	/* of the slot that are used */
	uint64_t begin, end;	/* `consumed` before and after it */
	uint64_t epoch;
	uint64_t number;	/* of the global batch, see doc/design/0009-digest.md */
	uint32_t dp_rank, dp_size;
	uint32_t n, n_real;	/* items; those from n_real on repeat others (tail: pad) */
	bool last;		/* of its epoch */
	unsigned n_fields;
	struct batch_field fields[BATCHHEAD_MAX_FIELDS];
};

/* -EINVAL when it has too much of something. */
int batch_head_encode(const struct batch_head *h, struct buf *to);
/*
 * n: of the slot's memory. Everything that is named lies within min(n, n_bytes), behind the head's room, at a multiple of
 * BATCHHEAD_ALIGN. What stands there (offsets, sizes) is the slot's, and not looked at. E_PROTOCOL.
 */
int batch_head_decode(const void *p, size_t n_head, uint64_t n, struct batch_head *ret);
const struct batch_field *batch_head_field(const struct batch_head *h, const char *name);

#endif
