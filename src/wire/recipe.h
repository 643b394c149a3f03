/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recipe: what is done to each field of a sample, compiled from the spec, as bytes that a worker (or, later, a
 * server) takes from a stranger. Decoding checks every number; a recipe that decodes is safe to run.
 */
#ifndef OLDDOG_WIRE_RECIPE_H
#define OLDDOG_WIRE_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/rand.h"

#define RECIPE_VERSION 1
#define RECIPE_MAX_FIELDS 32
#define RECIPE_MAX_STEPS 16
#define RECIPE_NAME_MAX 64
#define RECIPE_MAX_SIDE 65535u
#define RECIPE_MAX_PIXELS (1ull << 32)
#define RECIPE_MAX_BYTES (1ull << 32)
#define RECIPE_MAX_LOG2_RATIO 16.0
#define RECIPE_MAX_MEAN 65536.0		/* |mean|, std and 1 / std are at most this */

enum field_kind { FIELD_IMAGE = 1, FIELD_BYTES, FIELD_TEXT, FIELD_INT, FIELD_FLOAT, FIELD_JSON };
enum decode_mode { DECODE_RGB = 1, DECODE_GRAY, DECODE_KEEP };
enum orientation { ORIENTATION_APPLY = 1, ORIENTATION_IGNORE };
enum interpolation { INTERPOLATION_BOX = 1, INTERPOLATION_BILINEAR, INTERPOLATION_BICUBIC };
enum resample { RESAMPLE_PILLOW_13 = 1, RESAMPLE_PILLOW_12 };
enum dtype { DTYPE_UINT8 = 1, DTYPE_INT64, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64 };
enum layout { LAYOUT_HWC = 1, LAYOUT_CHW };
enum collate { COLLATE_STACK = 1, COLLATE_PAD, COLLATE_RAGGED };
enum step_kind {
	STEP_RESIZE = 1,	/* to h x w; w == 0: the shorter side becomes h, the other by torchvision's int(h * long / short) */
	STEP_CENTER_CROP,	/* h x w */
	STEP_RANDOM_CROP,	/* h x w */
	STEP_RANDOM_RESIZED_CROP, /* to h x w, scale and ratio */
	STEP_HFLIP,		/* with probability p */
	STEP_VFLIP,
	STEP_GRAYSCALE,
	STEP_PAD,		/* to at least h x w, centred, with zeros */
};

struct recipe_step {
	enum step_kind kind;
	enum interpolation interpolation;
	uint32_t h, w;
	double p;
	double scale[2];	/* of the area, 0 < scale[0] <= scale[1] <= 1 */
	double log2_ratio[2];	/* log2_poly() of width / height, made at planning */
	struct philox_key key;	/* of (seed, the step's name) */
	uint32_t draw;		/* first draw: 256 * (number of earlier steps of this kind in the field) */
};

struct recipe_field {
	char name[RECIPE_NAME_MAX];	/* unique; visible ASCII, no slash, no leading dot */
	enum field_kind kind;
	uint32_t index;		/* the field's number in the spec: the third word of the random counter */
	/* Images. */
	enum decode_mode mode;
	enum orientation orientation;
	uint32_t n_steps;
	struct recipe_step steps[RECIPE_MAX_STEPS];
	bool normalize;		/* not with DTYPE_UINT8 */
	double mean[3], std[3];	/* of values scaled to 0..1 */
	enum layout layout;
	/* All kinds. IMAGE: uint8, float16, bfloat16, float32. INT: int64. FLOAT: float32, float64. Others: uint8. */
	enum dtype dtype;
	enum collate collate;
};

struct recipe {
	enum resample resample;
	uint64_t max_pixels;	/* of a decoded image; deterministic: E_LIMIT */
	uint64_t max_bytes;	/* of a field's encoded bytes; likewise */
	uint32_t n_fields;
	struct recipe_field fields[RECIPE_MAX_FIELDS];
};

/*
 * Appends; the same recipe always gives the same bytes, so their SHA-256 is an identity. Numbers that a kind of field or
 * step does not use are not written. Checks counts only (-EINVAL), so that identities may leave limits at 0.
 */
int recipe_encode(const struct recipe *recipe, struct buf *to);
/* E_FORMAT with words. */
int recipe_decode(const void *p, size_t n, struct recipe *ret, struct err *e);

/* Names become file names and columns of a table: 1 to RECIPE_NAME_MAX - 1 visible ASCII, no slash, no leading dot. */
bool recipe_name_valid(const char *name, size_t n);
/* Bytes of one element. */
unsigned dtype_bytes(enum dtype d);
const char *dtype_name(enum dtype d); /* as numpy names it; "bfloat16" */
/*
 * The shape that the chain gives whatever the image was: true and h, w, c when it is fixed (a step with a fixed size
 * is in it, and the mode is not `keep`).
 */
bool recipe_fixed_shape(const struct recipe_field *f, uint32_t *ret_h, uint32_t *ret_w, uint32_t *ret_c);

#endif
