/* SPDX-License-Identifier: Apache-2.0 */
/* A spec that parses is written as one that parses to the same, and its recipe is one that a worker takes. */
#include <assert.h>
#include <string.h>

#include "../unit/plan/spec_equal.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check_recipe(const struct spec *s)
{
	static struct recipe decoded;
	struct buf AUTO_BUF bytes;
	uint8_t id[32];
	struct err e;

	buf_init(&bytes, 1u << 20);
	assert(recipe_encode(&s->recipe, &bytes) == 0);
	assert(recipe_decode(bytes.ptr, bytes.n, &decoded, &e) == 0);
	assert(spec_fields_id(s, id) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO(spec) struct spec *s = NULL, *back = NULL;
	struct buf AUTO_BUF text;
	struct err e = {0};
	int r;

	buf_init(&text, SPEC_MAX_BYTES);
	r = spec_parse("fuzz", (const char *)p, n, &s, &e);
	if (r < 0) {
		assert(r == -ENOMEM || (r == E_SPEC && strncmp(e.words, "fuzz:", 5) == 0));
		return 0;
	}
	if (s->recipe.n_fields)
		check_recipe(s);
	/* Escapes may make it longer than a spec can be. */
	if (spec_write(s, &text) == -E2BIG)
		return 0;
	assert(text.r == 0);
	assert(spec_parse("again", (char *)text.ptr, text.n, &back, &e) == 0);
	assert(spec_equal(s, back));
	return 0;
}
