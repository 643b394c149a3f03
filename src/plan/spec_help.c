/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys as text: for --help, and as the man page olddog-spec(5). */
#include <string.h>

#include "base/scope.h"
#include "plan/spec_table.h"

#define COLUMNS 78u

static void put_path(struct buf *to, const struct spec_key *k)
{
	buf_printf(to, "%s%s%s", k->in, *k->in ? "." : "", k->name);
}

static void put_default(struct buf *to, const struct spec_key *k)
{
	if (!k->type)
		buf_puts(to, "not built yet");
	else if (k->by_default)
		buf_printf(to, "default: %s", k->by_default);
	else if (k->otherwise)
		buf_printf(to, "without it: %s", k->otherwise);
	else
		buf_puts(to, "required");
}

/* Words of s in lines of at most COLUMNS, each behind a margin. */
static void put_wrapped(struct buf *to, const char *s, unsigned margin)
{
	struct str rest = str_of(s);
	size_t column = 0;

	while (rest.n) {
		struct str w = str_split(&rest, ' ');

		if (column && column + 1 + w.n > COLUMNS) {
			buf_puts(to, "\n");
			column = 0;
		}
		if (column == 0)
			column = margin - 1;
		buf_printf(to, "%*s%.*s", column == margin - 1 ? (int)margin : 1, "", STR_ARG(w));
		column += 1 + w.n;
	}
	buf_puts(to, "\n");
}

void spec_help(struct buf *to)
{
	for (const struct spec_key *k = spec_keys; k < spec_keys + spec_n_keys; k++) {
		struct buf AUTO_BUF line;

		buf_init(&line, 1024);
		put_path(to, k);
		buf_puts(to, "\n");
		spec_key_form(k, &line);
		buf_puts(&line, "; ");
		put_default(&line, k);
		buf_puts(&line, ".");
		if (line.r == 0)
			put_wrapped(to, (const char *)line.ptr, 6);
		else
			to->r = to->r < 0 ? to->r : line.r;
		put_wrapped(to, k->help, 6);
	}
}

/* scdoc takes _ and * for emphasis, # and - at a line's begin for structure. */
static void put_escaped(struct buf *to, const char *s)
{
	for (; *s; s++) {
		if (strchr("_*\\#`<>[]", *s))
			buf_puts(to, "\\");
		buf_add(to, s, 1);
	}
}

static void put_page_key(struct buf *to, const struct spec_key *k)
{
	struct buf AUTO_BUF line;

	buf_init(&line, 1024);
	put_path(&line, k);
	buf_puts(to, "*");
	put_escaped(to, line.r ? "" : (const char *)line.ptr);
	buf_puts(to, "*\n\t");
	buf_clear(&line);
	spec_key_form(k, &line);
	buf_puts(&line, "; ");
	put_default(&line, k);
	buf_printf(&line, ".++\n%s", k->help);
	put_escaped(to, line.r ? "" : (const char *)line.ptr);
	buf_puts(to, "\n\n");
	if (line.r < 0)
		to->r = to->r < 0 ? to->r : line.r;
}

static const char page_head[] =
	"olddog-spec(5)\n"
	"\n"
	"; Made from the table of keys in src/plan/spec_table.c; a test compares the two.\n"
	"\n"
	"# NAME\n"
	"\n"
	"olddog-spec - what a training job wants of its data\n"
	"\n"
	"# DESCRIPTION\n"
	"\n"
	"A spec is a YAML file, the input of *olddog plan*. Everything but _sources_ has a\n"
	"default. An unknown key is refused with its line and the nearest key, or all there\n"
	"are; a key of something that is not built yet is refused by name. At most 1 MiB of\n"
	"UTF-8, one document, no anchors, aliases or tags.\n"
	"\n"
	"A field's steps run in the order written, each kind once; _normalize_, _dtype_ and\n"
	"_layout_ come after them, _decode_ before.\n"
	"\n"
	"# EXAMPLE\n"
	"\n"
	"```\n";

static const char page_example[] =
	"sources:\n"
	"  - {data: '/data/cc/{00000..00499}.tar', weight: 0.7}\n"
	"  - {data: '/data/doc/*.tar', weight: 0.3, on_end: repeat}\n"
	"fields:\n"
	"  image: {from: [jpg, png, webp], decode: {mode: rgb, orientation: apply},\n"
	"          random_resized_crop: 224, hflip: 0.5, normalize: imagenet, dtype: float32,\n"
	"          layout: chw}\n"
	"  text:  {from: txt, on_missing: skip}\n"
	"  label: cls\n"
	"seed: 7\n"
	"order: {shuffle: {window: 200000, shards: 64}}\n"
	"global_batch: 1024\n"
	"tail: drop\n"
	"on_error: {decode: skip, stop_above: 0.1%}\n"
	"skip_samples: [[1310720, 1351679]]\n";

static const char page_keys[] =
	"```\n"
	"\n"
	"# KEYS\n"
	"\n"
	"A path with \\[\\] stands for each item of a list, with \\* for each name.\n"
	"\n";

static const char page_tail[] =
	"# SEE ALSO\n"
	"\n"
	"*olddog-plan*(1)\n";

void spec_page(struct buf *to)
{
	buf_puts(to, page_head);
	buf_puts(to, page_example);
	buf_puts(to, page_keys);
	for (const struct spec_key *k = spec_keys; k < spec_keys + spec_n_keys; k++)
		put_page_key(to, k);
	buf_puts(to, page_tail);
}
