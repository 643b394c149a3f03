/* SPDX-License-Identifier: Apache-2.0 */
/* A name, a NUL, a pattern: the name is matched, and the pattern expanded as far as a thousand texts. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/scope.h"
#include "store/pattern.h"

#define MAX_TEXTS 1000

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct seen {
	struct str name;
	unsigned n;
};

static int expanded(void *ctx, const char *text)
{
	struct seen *seen = ctx;
	struct str s = str_of(text);

	assert(s.n <= PATTERN_MAX_BYTES);
	/* What has no pattern in it matches itself alone. */
	if (!pattern_has_glob(s))
		assert(pattern_match(s, seen->name) == (s.n == seen->name.n && memcmp(s.p, seen->name.p, s.n) == 0));
	return ++seen->n < MAX_TEXTS ? 0 : -ECANCELED;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	AUTO_FREE char *text = mem_strndup((const char *)p, n);
	size_t n_name = text ? strlen(text) : n;
	struct seen seen = {.name = {text, n_name}};
	AUTO_FREE char *pattern = NULL;
	struct err e = {0};
	int r;

	if (n_name >= n || n > 2 * PATTERN_MAX_BYTES)
		return 0;
	pattern = mem_strndup((const char *)p + n_name + 1, n - n_name - 1);
	if (!pattern)
		return 0;
	pattern_match(str_of(pattern), seen.name);
	assert(pattern_begin(str_of(pattern)) <= strlen(pattern));
	r = pattern_expand(pattern, expanded, &seen, &e);
	assert(r == 0 || r == -ECANCELED || r == -ENOMEM || e.words[0]);
	return 0;
}
