/* SPDX-License-Identifier: Apache-2.0 */
/* All keys of a spec. doc/design/0007-spec.md says why the defaults are what they are. */
#include "plan/spec_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/scope.h"
#include "plan/spec_write.h"

static const struct key_type word = {spec_bind_word, spec_write_word};
static const struct key_type u64 = {spec_bind_u64, spec_write_u64};
static const struct key_type u32 = {spec_bind_u32, spec_write_u32};
static const struct key_type size = {spec_bind_size, spec_write_size};
static const struct key_type real = {spec_bind_real, spec_write_real};
static const struct key_type pair = {spec_bind_pair, spec_write_pair};
static const struct key_type share = {spec_bind_share, spec_write_share};
static const struct key_type group = {spec_bind_group, spec_write_group};
static const struct key_type sources = {spec_bind_sources, spec_write_sources};
static const struct key_type data = {spec_bind_data, spec_write_data};
static const struct key_type weight = {spec_bind_weight, spec_write_real, spec_absent_weight};
static const struct key_type fields = {spec_bind_fields, spec_write_fields, spec_absent_fields};
static const struct key_type order = {spec_bind_order, spec_write_order};
static const struct key_type global_batch = {spec_bind_batch, spec_write_u64, spec_absent_batch};
static const struct key_type rank_batch = {spec_bind_batch, spec_write_u64, spec_absent_batch};
static const struct key_type skip = {spec_bind_skip, spec_write_skip};
static const struct key_type from = {spec_bind_from, spec_write_from};
static const struct key_type step = {spec_bind_step, spec_write_step};
static const struct key_type square = {spec_bind_square, spec_write_square};
static const struct key_type shorter = {spec_bind_shorter, spec_write_shorter};
static const struct key_type normalize = {spec_bind_normalize, spec_write_normalize};
static const struct key_type triple = {spec_bind_triple, spec_write_triple};
static const struct key_type transform = {spec_bind_transform};

static const struct spec_word format_words[] = {{"infer", FORMAT_INFER}, {"webdataset", FORMAT_WEBDATASET},
	{"files", FORMAT_FILES}, {"tokens", 0, true}, {"video", 0, true}, {NULL}};
static const struct spec_word on_end_words[] = {{"stop", ON_END_STOP}, {"repeat", ON_END_REPEAT},
	{"drop", ON_END_DROP}, {NULL}};
static const struct spec_word on_missing_words[] = {{"fail", ON_MISSING_FAIL}, {"skip", ON_MISSING_SKIP},
	{"empty", ON_MISSING_EMPTY}, {NULL}};
static const struct spec_word as_words[] = {{"int", FIELD_INT}, {"float", FIELD_FLOAT}, {"bytes", FIELD_BYTES},
	{"text", FIELD_TEXT}, {"json", FIELD_JSON}, {NULL}};
static const struct spec_word mode_words[] = {{"rgb", DECODE_RGB}, {"gray", DECODE_GRAY}, {"keep", DECODE_KEEP},
	{NULL}};
static const struct spec_word orientation_words[] = {{"apply", ORIENTATION_APPLY}, {"ignore", ORIENTATION_IGNORE},
	{NULL}};
static const struct spec_word interpolation_words[] = {{"box", INTERPOLATION_BOX},
	{"bilinear", INTERPOLATION_BILINEAR}, {"bicubic", INTERPOLATION_BICUBIC}, {NULL}};
static const struct spec_word dtype_words[] = {{"uint8", DTYPE_UINT8}, {"float16", DTYPE_FLOAT16},
	{"bfloat16", DTYPE_BFLOAT16}, {"float32", DTYPE_FLOAT32}, {"float64", DTYPE_FLOAT64}, {"int64", DTYPE_INT64},
	{NULL}};
static const struct spec_word layout_words[] = {{"hwc", LAYOUT_HWC}, {"chw", LAYOUT_CHW}, {NULL}};
static const struct spec_word collate_words[] = {{"stack", COLLATE_STACK}, {"pad", COLLATE_PAD},
	{"ragged", COLLATE_RAGGED}, {NULL}};
static const struct spec_word order_words[] = {{"sequential", ORDER_SEQUENTIAL}, {"shuffle", ORDER_SHUFFLE}, {NULL}};
static const struct spec_word tail_words[] = {{"short", TAIL_SHORT}, {"drop", TAIL_DROP}, {"pad", TAIL_PAD},
	{"carry", TAIL_CARRY}, {NULL}};
static const struct spec_word on_bad_words[] = {{"stop", ON_BAD_STOP}, {"skip", ON_BAD_SKIP}, {NULL}};
static const struct spec_word resample_words[] = {{"pillow-13", RESAMPLE_PILLOW_13},
	{"pillow-12", RESAMPLE_PILLOW_12}, {NULL}};

#define IN_SPEC(member) .offset = offsetof(struct spec, member)
#define IN_SOURCE(member) .offset = offsetof(struct spec_source, member)
#define IN_DRAFT(member) .offset = offsetof(struct spec_draft, member)

const struct spec_key spec_keys[] = {
	{"", "sources", &sources, .keys = "sources[]", .form = "a list of sources",
		.help = "The data. Several sources are mixed by their weights."},
	{"sources[]", "data", &data, IN_SOURCE(data), .form = "a path or URL, or a list of them",
		.help = "Tar shards, or folders of files. {00..99} stands for all numbers between, * ? [] match names. What does "
			"not begin with a slash is looked for from the current directory."},
	{"sources[]", "format", &word, IN_SOURCE(format), .words = format_words, .by_default = "infer",
		.help = "webdataset: tar shards; a sample's members share the name before the first dot. files: a folder; "
			"fields are named by extension, `cls` is the class of the sub-folder. infer: by what is there."},
	{"sources[]", "weight", &weight, IN_SOURCE(weight), .form = "a number above 0", .low = 0x1p-32, .high = 0x1p32,
		.otherwise = "1 for each source",
		.help = "The share of this source among the samples. All sources have one, or none."},
	{"sources[]", "on_end", &word, IN_SOURCE(on_end), .words = on_end_words, .by_default = "stop",
		.help = "What happens when the source has been read: the epoch ends, it is read again in a new order, or the "
			"others go on without it."},
	{"", "fields", &fields, .keys = "fields.*", .form = "a mapping of names to fields",
		.otherwise = "inferred from the data",
		.help = "What a sample consists of. A field's keys run in the order written. `text: txt` is short for "
			"`text: {from: txt}`."},
	{"fields.*", "from", &from, IN_DRAFT(field.from), .form = "an extension, or a list of them",
		.otherwise = "the field's name",
		.help = "Extensions without the dot, whatever the case, tried in this order; `cls` is the class of a folder."},
	{"fields.*", "on_missing", &word, IN_DRAFT(field.on_missing), .words = on_missing_words, .by_default = "fail",
		.help = "For samples without this field: planning fails, leaves them out, or gives empty bytes or text."},
	{"fields.*", "as", &word, IN_DRAFT(chain.kind), .words = as_words,
		.otherwise = "image for jpg, jpeg, png, webp; text for txt, json; int for cls; else bytes",
		.help = "What the bytes are, when they are not an image. A json of more than 1,000,000 values or 2,048 levels is "
			"bad."},
	{"fields.*", "transform", &transform, .form = "imagenet_train | imagenet_val", .image = true,
		.otherwise = "none", /* its keys have their stages */
		.help = "A chain by name, in place of its steps. imagenet_train: random_resized_crop 224, hflip 0.5; "
			"imagenet_val: resize 256, center_crop 224; both: normalize imagenet, float32, chw."},
	{"fields.*", "decode", &group, &word, "fields.*.decode", IN_DRAFT(chain.mode), .words = mode_words,
		.form = "rgb | gray | keep, or a mapping", .stage = STAGE_DECODE, .image = true,
		.otherwise = "rgb, orientation ignored", .help = "How an image is decoded."},
	{"fields.*.decode", "mode", &word, IN_DRAFT(chain.mode), .words = mode_words, .by_default = "rgb",
		.help = "Channels: three, one, or those of the file."},
	{"fields.*.decode", "orientation", &word, IN_DRAFT(chain.orientation), .words = orientation_words,
		.by_default = "ignore", .help = "Whether EXIF orientation turns the image. Pillow ignores it unless asked."},
	{"fields.*", "resize", &step, &shorter, "fields.*.resize", .form = "N | [H, W], or a mapping",
		.step = STEP_RESIZE, .stage = STAGE_STEP, .image = true, .otherwise = "none",
		.help = "N: the shorter side becomes N, the other keeps the proportion. [H, W]: to that size."},
	{"fields.*.resize", "size", &shorter, .form = "N | [H, W]",
		.help = "The size in pixels."},
	{"fields.*.resize", "interpolation", &word, IN_DRAFT(step.interpolation), .words = interpolation_words,
		.by_default = "bilinear", .help = "The filter, as Pillow's."},
	{"fields.*", "center_crop", &step, &square, .form = "N | [H, W]", .step = STEP_CENTER_CROP, .stage = STAGE_STEP,
		.image = true, .otherwise = "none", .help = "Cuts H x W (or N x N) from the middle."},
	{"fields.*", "random_crop", &step, &square, .form = "N | [H, W]", .step = STEP_RANDOM_CROP, .stage = STAGE_STEP,
		.image = true, .otherwise = "none", .help = "Cuts H x W (or N x N) at a random place."},
	{"fields.*", "random_resized_crop", &step, &square, "fields.*.random_resized_crop",
		.form = "N | [H, W], or a mapping", .step = STEP_RANDOM_RESIZED_CROP, .stage = STAGE_STEP, .image = true,
		.otherwise = "none", .help = "Cuts a random part of the image and resizes it to H x W (or N x N)."},
	{"fields.*.random_resized_crop", "size", &square, .form = "N | [H, W]",
		.help = "The size in pixels."},
	{"fields.*.random_resized_crop", "scale", &pair, IN_DRAFT(step.scale), .low = 0x1p-32, .high = 1,
		.form = "[A, B], 0 < A <= B <= 1", .by_default = "[0.08, 1]", .help = "The part of the area that is cut out."},
	{"fields.*.random_resized_crop", "ratio", &pair, IN_DRAFT(field.ratio), .low = 0x1p-16, .high = 0x1p16,
		.form = "[A, B], 0 < A <= B", .by_default = "[3/4, 4/3]", .help = "Width / height of what is cut out."},
	{"fields.*.random_resized_crop", "interpolation", &word, IN_DRAFT(step.interpolation),
		.words = interpolation_words, .by_default = "bilinear", .help = "The filter, as Pillow's."},
	{"fields.*", "hflip", &step, &real, IN_DRAFT(step.p), .high = 1, .step = STEP_HFLIP, .stage = STAGE_STEP,
		.image = true, .otherwise = "none", .help = "Mirrors left and right with this probability."},
	{"fields.*", "vflip", &step, &real, IN_DRAFT(step.p), .high = 1, .step = STEP_VFLIP, .stage = STAGE_STEP,
		.image = true, .otherwise = "none", .help = "Mirrors top and bottom with this probability."},
	{"fields.*", "grayscale", &step, &real, IN_DRAFT(step.p), .high = 1, .step = STEP_GRAYSCALE,
		.stage = STAGE_STEP, .image = true, .otherwise = "none",
		.help = "Takes the colour away with this probability; the number of channels stays."},
	{"fields.*", "pad", &step, &square, .form = "N | [H, W]", .step = STEP_PAD, .stage = STAGE_STEP, .image = true,
		.otherwise = "none", .help = "Puts zeros around, to at least H x W (or N x N), the image in the middle."},
	{"fields.*", "color_jitter", .form = "a mapping", .stage = STAGE_STEP, .image = true,
		.help = "Changes brightness, contrast, saturation and hue at random."},
	{"fields.*", "normalize", &normalize, .keys = "fields.*.normalize", .form = "imagenet, or a mapping",
		.stage = STAGE_FINISH, .image = true, .otherwise = "none",
		.help = "(value / 255 - mean) / std, by channel. imagenet: mean 0.485 0.456 0.406, std 0.229 0.224 0.225."},
	{"fields.*.normalize", "mean", &triple, IN_DRAFT(mean), .low = -RECIPE_MAX_MEAN, .high = RECIPE_MAX_MEAN,
		.form = "[R, G, B], or [G] when gray", .help = "Of values from 0 to 1."},
	{"fields.*.normalize", "std", &triple, IN_DRAFT(std), .low = 1 / RECIPE_MAX_MEAN, .high = RECIPE_MAX_MEAN,
		.form = "[R, G, B] above 0, or [G] when gray", .help = "Of values from 0 to 1."},
	{"fields.*", "dtype", &word, IN_DRAFT(chain.dtype), .words = dtype_words, .stage = STAGE_FINISH,
		.otherwise = "uint8; float32 after normalize; int64 for int, float64 for float",
		.help = "Of the numbers handed out. Floats of an image are value / 255. An image is no float64 or int64, an int "
			"is int64, a float is float32 or float64."},
	{"fields.*", "layout", &word, IN_DRAFT(chain.layout), .words = layout_words, .by_default = "hwc",
		.stage = STAGE_FINISH, .image = true, .help = "Order of height, width and channel."},
	{"fields.*", "collate", &word, IN_DRAFT(chain.collate), .words = collate_words, .by_default = "stack",
		.image = true,
		.help = "How a batch is made: images of equal shape in one array; padded at right and bottom with zeros; or a "
			"list, each of its own shape."},
	{"fields.*", "pick", .form = "a list of keys", .help = "Takes these members of a JSON object."},
	{"", "seed", &u64, IN_SPEC(seed), .max = UINT64_MAX, .by_default = "0", .help = "Of all random choices."},
	{"", "order", &order, &word, "order", IN_SPEC(order), .words = order_words,
		.form = "sequential | shuffle | {shuffle: {window: N, shards: G}}", .by_default = "sequential",
		.help = "shuffle: over the whole set. With a window: over so many samples of so many shards at a time, which lets "
			"storage be read in long pieces."},
	{"order", "shuffle", &group, .keys = "order.shuffle", .form = "a mapping", .otherwise = "none",
		.help = "A shuffle within windows."},
	{"order.shuffle", "window", &u64, IN_SPEC(window), .min = 1, .max = 1ull << 40, .by_default = "200000",
		.help = "Samples that are mixed with each other."},
	{"order.shuffle", "shards", &u32, IN_SPEC(group), .min = 1, .max = 1u << 16, .by_default = "64",
		.help = "Shards that are mixed with each other."},
	{"", "global_batch", &global_batch, IN_SPEC(batch), .min = 1, .max = 1u << 24, .by_default = "32",
		.help = "Samples of a batch over all ranks together."},
	{"", "batch", &rank_batch, IN_SPEC(batch), .min = 1, .max = 1u << 24, .otherwise = "global_batch says it",
		.help = "Samples of a batch of each rank. Not together with global_batch."},
	{"", "tail", &word, IN_SPEC(tail), .words = tail_words, .by_default = "short",
		.help = "The last batch of an epoch, when samples do not fill it: short, left out, filled by repeating its own, or "
			"filled from the next epoch."},
	{"", "balance", .form = "cost", .help = "Batches of even cost."},
	{"", "on_error", &group, .keys = "on_error", .form = "a mapping", .otherwise = "as below",
		.help = "What happens at a sample that is bad."},
	{"on_error", "decode", &word, IN_SPEC(on_bad), .words = on_bad_words, .by_default = "stop",
		.help = "An image that cannot be decoded stops the job, or is replaced by another of its window."},
	{"on_error", "stop_above", &share, IN_SPEC(stop_above_ppm),
		.form = "a percentage such as 0.1%, or a fraction such as 0.001",
		.by_default = "0.1%", .help = "With decode skip: more bad ones among the last 10,000 positions stop the job."},
	{"", "skip_samples", &skip, .form = "a list of [FIRST, LAST]", .by_default = "[]",
		.help = "Positions that are passed over, both ends included."},
	{"", "resample", &word, IN_SPEC(recipe.resample), .words = resample_words, .by_default = "pillow-13",
		.help = "Whose resize is followed, bit for bit: Pillow 13, or 12 and before."},
	{"", "limits", &group, .keys = "limits", .form = "a mapping", .otherwise = "as below",
		.help = "A sample above these is bad, wherever it is decoded."},
	{"limits", "pixels", &u64, IN_SPEC(recipe.max_pixels), .min = 1, .max = RECIPE_MAX_PIXELS,
		.by_default = "178956970", .help = "Height x width of an image as stored. The default is Pillow's."},
	{"limits", "bytes", &size, IN_SPEC(recipe.max_bytes), .min = 1, .max = RECIPE_MAX_BYTES, .by_default = "256M",
		.help = "Length of one field's encoded bytes."},
};
const unsigned spec_n_keys = N_ELEMS(spec_keys);

const struct spec_key *spec_key_next(const char *section, const struct spec_key *k)
{
	for (k = k ? k + 1 : spec_keys; k < spec_keys + spec_n_keys; k++) {
		if (strcmp(k->in, section) == 0)
			return k;
	}
	return NULL;
}

const struct spec_key *spec_key_find(const char *section, struct str name)
{
	const struct spec_key *k = spec_key_next(section, NULL);

	while (k && !str_eq(name, k->name))
		k = spec_key_next(section, k);
	return k;
}

const struct spec_key *spec_key_of_step(enum step_kind kind)
{
	const struct spec_key *k = spec_key_next("fields.*", NULL);

	while (k && k->step != kind)
		k = spec_key_next("fields.*", k);
	return k;
}

static void words_form(const struct spec_word *w, struct buf *to)
{
	const char *between = "";

	for (; w->text; w++) {
		if (w->unbuilt)
			continue;
		buf_printf(to, "%s%s", between, w->text);
		between = " | ";
	}
}

void spec_key_form(const struct spec_key *k, struct buf *to)
{
	if (k->form)
		buf_puts(to, k->form);
	else if (k->words)
		words_form(k->words, to);
	else if (k->type == &size)
		buf_printf(to, "a size up to %" PRIu64 "G, such as 200M", k->max >> 30);
	else if (k->max)
		buf_printf(to, "a whole number from %" PRIu64 " to %" PRIu64, k->min, k->max);
	else
		buf_printf(to, "a number from %g to %g", k->low, k->high);
}
