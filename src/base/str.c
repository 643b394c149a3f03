/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

struct str str_of(const char *s)
{
	return (struct str){s, strlen(s)};
}

bool str_equal(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_eq(struct str s, const char *t)
{
	return str_equal(s, str_of(t));
}

int str_cmp(struct str a, struct str b)
{
	size_t n = MIN(a.n, b.n);
	int r = n ? memcmp(a.p, b.p, n) : 0;

	return r ? r : (a.n > b.n) - (a.n < b.n);
}

/* By ASCII alone: a locale would let the same data mean something else on another machine. */
static char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

int str_cmp_nocase(struct str a, struct str b)
{
	for (size_t i = 0; i < a.n && i < b.n; i++) {
		int x = (unsigned char)to_lower(a.p[i]), y = (unsigned char)to_lower(b.p[i]);

		if (x != y)
			return x - y;
	}
	return (a.n > b.n) - (a.n < b.n);
}

bool str_starts(struct str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && str_eq((struct str){s.p, n}, prefix);
}

bool str_ends(struct str s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.n >= n && str_eq((struct str){n ? s.p + s.n - n : s.p, n}, suffix);
}

struct str str_split(struct str *rest, char sep)
{
	const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
	struct str head = *rest;

	if (!at) {
		*rest = (struct str){rest->n ? rest->p + rest->n : rest->p, 0};
		return head;
	}
	head.n = (size_t)(at - head.p);
	*rest = (struct str){at + 1, rest->n - head.n - 1};
	return head;
}

struct str str_trim(struct str s)
{
	while (s.n && is_blank(s.p[0]))
		s = (struct str){s.p + 1, s.n - 1};
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

int str_to_u64(struct str s, uint64_t *ret)
{
	uint64_t v = 0;

	if (!s.n)
		return -EINVAL;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
			return -ERANGE;
	}
	*ret = v;
	return 0;
}

int str_to_i64(struct str s, int64_t *ret)
{
	bool minus = s.n && s.p[0] == '-';
	uint64_t v;
	int r = str_to_u64(minus ? (struct str){s.p + 1, s.n - 1} : s, &v);

	if (r < 0)
		return r;
	if (v > (uint64_t)INT64_MAX + minus)
		return -ERANGE;
	*ret = minus ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

int str_to_double(struct str s, double *ret)
{
	char text[64], *end;
	locale_t c;
	double v;

	if (!s.n || s.n >= sizeof(text) || is_blank(s.p[0]))
		return -EINVAL;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	c = newlocale(LC_ALL_MASK, "C", NULL);
	if (!c)
		return -ENOMEM;
	v = strtod_l(text, &end, c);
	freelocale(c);
	/* A NUL inside ends what is read, and not the text. */
	if (end != text + s.n)
		return -EINVAL;
	if (!isfinite(v))
		return -ERANGE;
	*ret = v;
	return 0;
}

int str_to_size(struct str s, uint64_t *ret_bytes)
{
	static const char units[] = "kmgt";
	unsigned shift = 0;
	const char *unit;
	uint64_t v;
	int r;

	unit = s.n ? memchr(units, to_lower(s.p[s.n - 1]), sizeof(units) - 1) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		s.n--;
	}
	r = str_to_u64(s, &v);
	if (r < 0)
		return r;
	if (v > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = v << shift;
	return 0;
}

size_t str_utf8_length(struct str s)
{
	/* The smallest character that needs so many bytes: a smaller one is overlong. */
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t first = s.n ? (uint8_t)s.p[0] : 0xff;
	size_t n = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
	uint32_t c = first & (0x7fu >> n);

	if (n <= 1 || n > s.n)
		return n <= s.n ? n : 0;
	for (size_t i = 1; i < n; i++) {
		if (((uint8_t)s.p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | ((uint8_t)s.p[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

/* Bytes of the character at s.p[0]; 0 when there is none, or it is a control character (C0, DEL, C1). */
static size_t printable_length(struct str s)
{
	size_t n = str_utf8_length(s);

	if (n == 1)
		return (uint8_t)s.p[0] >= 0x20 && s.p[0] != 0x7f;
	return n == 2 && (uint8_t)s.p[0] == 0xc2 && (uint8_t)s.p[1] < 0xa0 ? 0 : n;
}

const char *str_size(double n, char out[STR_SIZE_MAX])
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
	unsigned unit = 0;

	/* What would be shown as 1000.0 is 1.0 of the next. */
	for (; n >= (unit ? 999.95 : 1000) && unit + 1 < N_ELEMS(units); unit++)
		n /= 1000;
	snprintf(out, STR_SIZE_MAX, unit ? "%.1f %s" : "%.0f %s", n, units[unit]);
	return out;
}

const char *str_printable(struct str s, char *out, size_t n)
{
	size_t at = 0;

	while (s.n > 0) {
		size_t good = printable_length(s), step = MAX(good, 1);

		/* Each byte becomes at most one: the rest fits when its length does. */
		if (at + step + 4 > n && at + s.n >= n) {
			memcpy(out + at, "...", 3);
			at += 3;
			break;
		}
		if (good > 0)
			memcpy(out + at, s.p, good);
		else
			out[at] = '?';
		at += step;
		s.p += step;
		s.n -= step;
	}
	out[at] = '\0';
	return out;
}

size_t str_distance(struct str a, struct str b)
{
	size_t row[65];

	if (a.n > 64 || b.n > 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.n; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			size_t cost = diagonal + (a.p[i - 1] != b.p[j - 1]);

			diagonal = row[j];
			row[j] = MIN(cost, MIN(row[j], row[j - 1]) + 1);
		}
	}
	return row[b.n];
}
