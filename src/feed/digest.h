/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples out of batches, one by one, and their digests: what two runs must agree on (doc/design/0009-digest.md). A
 * sample is seen as it was made, without what `collate` put around it, so a digest depends neither on batches nor on
 * ranks.
 */
#ifndef OLDDOG_FEED_DIGEST_H
#define OLDDOG_FEED_DIGEST_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"
#include "wire/batchhead.h"

/* One field of one sample. */
struct sample_view {
	const char *name, *type;	/* type: the dtype's name, or text, json, bytes */
	enum dtype dtype;
	unsigned n_dims;		/* a number has none */
	uint64_t dims[3];
	const void *p;
	uint64_t n_bytes;
};

/*
 * Field f of sample i (< head->n) of the slot at base. Points into the slot, or, for one that stands in a larger frame,
 * into scratch, which is cleared. -ENOMEM; E_PROTOCOL when the slot's tables make no sense (a rank may scribble there).
 */
int sample_view(const struct batch_head *head, const void *base, const struct batch_field *f, uint32_t i,
	struct buf *scratch, struct sample_view *ret);
/* Position, and the text of a dot field (".key", ".for"); empty when there is none. */
uint64_t sample_position(const struct batch_head *head, const void *base, uint32_t i);
struct str sample_text(const struct batch_head *head, const void *base, const char *name, uint32_t i);

int digest_sample(const struct batch_head *head, const void *base, uint32_t i, uint8_t ret[SHA256_BYTES]);
/* Over its samples' digests, in order. */
int digest_batch(const struct batch_head *head, const void *base, uint8_t ret[SHA256_BYTES]);

#endif
