/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A field's chain made concrete for one image and position, before anything is decoded: which box of the stored image is
 * needed, and what then happens to it. Crops move as far to the front as they can (through turns, through the part of a
 * resize that nobody will see, into the decoder); the pixels are those of the plain chain. Pure.
 * doc/design/0003-random-numbers.md has the formulas.
 */
#ifndef OLDDOG_MEDIA_GEOMETRY_H
#define OLDDOG_MEDIA_GEOMETRY_H

#include "media/pixel.h"
#include "media/resize.h"

enum op_kind {
	OP_DECODE,	/* box of the stored image; always the first, and only the first */
	OP_TURN,
	OP_RESIZE,
	OP_GRAY,
	OP_EXPAND,
	OP_CUT,		/* box.x, box.y */
	OP_PAD,		/* to offset box.x, box.y */
};

struct op {
	enum op_kind kind;
	uint32_t w, h, c;	/* of the result */
	struct box box;
	unsigned turn;
	struct resize resize;
};

#define GEOMETRY_MAX_OPS (2 * RECIPE_MAX_STEPS + 3)

struct geometry {
	unsigned n;
	struct op ops[GEOMETRY_MAX_OPS];
};

/* What a header says. */
struct geometry_source {
	uint32_t w, h;		/* as stored */
	uint32_t c;		/* 1: grey, 3: colour */
	uint8_t orientation;
};

/* 0; E_REFUSED_SAMPLE (a crop that does not fit), E_LIMIT, with words. */
int geometry_make(const struct geometry_source *source, const struct recipe *recipe, const struct recipe_field *field,
	uint64_t position, struct geometry *ret, char words[160]);

#endif
