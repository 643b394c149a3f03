/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names. */
#include "store/pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"

size_t pattern_begin(struct str s)
{
	size_t i = 0;

	while (i < s.n && !memchr("*?[{", s.p[i], 4))
		i++;
	return i;
}

bool pattern_has_glob(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (memchr("*?[", s.p[i], 3))
			return true;
	return false;
}

/* The set that begins behind '[' at p[*i]; moves *i behind its ']'. Without a ']' the '[' stands for itself. */
static bool set_match(struct str p, size_t *i, char c)
{
	size_t at = *i + 1, begin;
	bool negate = false, hit = false;
	unsigned char b = (unsigned char)c;

	if (at < p.n && (p.p[at] == '!' || p.p[at] == '^')) {
		negate = true;
		at++;
	}
	for (begin = at; at < p.n && (p.p[at] != ']' || at == begin); at++) {
		unsigned char low = (unsigned char)p.p[at], high = low;

		if (at + 2 < p.n && p.p[at + 1] == '-' && p.p[at + 2] != ']') {
			high = (unsigned char)p.p[at + 2];
			at += 2;
		}
		hit = hit || (low <= b && b <= high);
	}
	if (at >= p.n) {
		*i += 1;
		return c == '[';
	}
	*i = at + 1;
	return hit != negate;
}

/* One character of the pattern against c. */
static bool one_match(struct str p, size_t *i, char c)
{
	if (p.p[*i] == '[')
		return set_match(p, i, c);
	return p.p[(*i)++] == c || p.p[*i - 1] == '?';
}

bool pattern_match(struct str pattern, struct str name)
{
	size_t i = 0, k = 0, star = SIZE_MAX, retry = 0;

	if (name.n > 0 && name.p[0] == '.' && (pattern.n == 0 || pattern.p[0] != '.'))
		return false;
	while (k < name.n) {
		if (i < pattern.n && pattern.p[i] == '*') {
			star = ++i;
			retry = k;
			continue;
		}
		if (i < pattern.n && one_match(pattern, &i, name.p[k])) {
			k++;
			continue;
		}
		if (star == SIZE_MAX)
			return false;
		/* The last star takes one more; earlier stars need never be tried again. */
		i = star;
		k = ++retry;
	}
	while (i < pattern.n && pattern.p[i] == '*')
		i++;
	return i == pattern.n;
}

struct expansion {
	int (*fn)(void *ctx, const char *text);
	void *ctx;
	unsigned n;
	struct err *e;
};

static int expand(struct expansion *x, struct str done, struct str rest);

/* The '}' that ends the '{' at s[0], or s.n. */
static size_t brace_end(struct str s)
{
	unsigned depth = 0;

	for (size_t i = 0; i < s.n; i++) {
		depth += s.p[i] == '{';
		depth -= s.p[i] == '}';
		if (depth == 0)
			return i;
	}
	return s.n;
}

/* done + alternative + rest, expanded further: the alternative may have braces of its own. */
static int expand_with(struct expansion *x, struct str done, struct str alternative, struct str rest)
{
	char text[PATTERN_MAX_BYTES + 1];
	size_t n = done.n + alternative.n + rest.n;

	if (n > PATTERN_MAX_BYTES)
		return err_set(x->e, E_SPEC, "a name of the pattern is longer than %u bytes", PATTERN_MAX_BYTES);
	memcpy(text, done.p, done.n);
	memcpy(text + done.n, alternative.p, alternative.n);
	memcpy(text + done.n + alternative.n, rest.p, rest.n);
	text[n] = '\0';
	return expand(x, (struct str){text, done.n}, (struct str){text + done.n, n - done.n});
}

static bool range_of(struct str inside, struct str *ret_from, struct str *ret_to, uint64_t *ret_low, uint64_t *ret_high)
{
	const char *dots = memmem(inside.p, inside.n, "..", 2);

	if (!dots)
		return false;
	*ret_from = (struct str){inside.p, (size_t)(dots - inside.p)};
	*ret_to = (struct str){dots + 2, inside.n - ret_from->n - 2};
	return ret_from->n < 20 && str_to_u64(*ret_from, ret_low) == 0 && str_to_u64(*ret_to, ret_high) == 0;
}

static int expand_range(struct expansion *x, struct str done, struct str inside, struct str rest)
{
	struct str from, to;
	uint64_t low, high;
	char number[32];
	int r = 0, width;

	if (!range_of(inside, &from, &to, &low, &high))
		return 1;
	if (low > high)
		return err_set(x->e, E_SPEC, "{%.*s} runs backwards", STR_ARG(inside));
	if (high - low >= PATTERN_MAX_NAMES)
		return err_set(x->e, E_SPEC, "{%.*s} is more than %u names", STR_ARG(inside), PATTERN_MAX_NAMES);
	/* {00..10} keeps its width, {0..10} has none. */
	width = from.n > 1 && from.p[0] == '0' ? (int)from.n : 0;
	for (uint64_t v = low; v <= high && r == 0; v++) {
		snprintf(number, sizeof(number), "%0*" PRIu64, width, v);
		r = expand_with(x, done, str_of(number), rest);
	}
	return r;
}

/* The first top-level comma of s, or s.n. */
static size_t comma_of(struct str s)
{
	unsigned depth = 0;

	for (size_t i = 0; i < s.n; i++) {
		depth += s.p[i] == '{';
		depth -= depth > 0 && s.p[i] == '}';
		if (depth == 0 && s.p[i] == ',')
			return i;
	}
	return s.n;
}

static int expand_list(struct expansion *x, struct str done, struct str inside, struct str rest)
{
	size_t comma = comma_of(inside);
	int r = 0;

	if (comma == inside.n)
		return 1;
	for (; r == 0; comma = comma_of(inside)) {
		r = expand_with(x, done, (struct str){inside.p, comma}, rest);
		if (comma == inside.n)
			break;
		inside.p += comma + 1;
		inside.n -= comma + 1;
	}
	return r;
}

/* Expands the first brace of rest; recursion is as deep as there are braces, each of at least two bytes. */
static int expand(struct expansion *x, struct str done, struct str rest)
{
	const char *brace = rest.n ? memchr(rest.p, '{', rest.n) : NULL;
	struct str tail, inside, behind;
	size_t end;
	int r;

	if (!brace) {
		if (++x->n > PATTERN_MAX_NAMES)
			return err_set(x->e, E_SPEC, "the pattern is more than %u names", PATTERN_MAX_NAMES);
		return x->fn(x->ctx, done.p);
	}
	done.n += (size_t)(brace - rest.p);
	tail = (struct str){brace, rest.n - (size_t)(brace - rest.p)};
	end = brace_end(tail);
	if (end == tail.n)
		return err_set(x->e, E_SPEC, "the pattern has a { without its }");
	inside = (struct str){tail.p + 1, end - 1};
	behind = (struct str){tail.p + end + 1, tail.n - end - 1};
	r = expand_range(x, done, inside, behind);
	if (r == 1)
		r = expand_list(x, done, inside, behind);
	if (r == 1)
		return err_set(x->e, E_SPEC, "{%.*s} is neither a range such as {00..99} nor a list such as {a,b}",
			STR_ARG(inside));
	return r;
}

int pattern_expand(const char *pattern, int (*fn)(void *ctx, const char *text), void *ctx, struct err *e)
{
	struct expansion x = {fn, ctx, 0, e};
	char text[PATTERN_MAX_BYTES + 1];
	size_t n = strlen(pattern);
	unsigned n_braces = 0;

	for (size_t i = 0; i < n; i++)
		n_braces += pattern[i] == '{';
	if (n > PATTERN_MAX_BYTES || n_braces > 16)
		return err_set(e, E_SPEC, "the pattern is longer than %u bytes or has more than 16 braces", PATTERN_MAX_BYTES);
	memcpy(text, pattern, n + 1);
	return expand(&x, (struct str){text, 0}, (struct str){text, n});
}
