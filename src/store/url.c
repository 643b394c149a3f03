/* SPDX-License-Identifier: Apache-2.0 */
#include "store/url.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/scope.h"
#include "store/store.h"

static bool is_scheme_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
}

/* Length of "scheme" before a colon; 0: none. One letter or more, the first no digit (RFC 3986, in lower case). */
static size_t scheme_length(const char *text)
{
	size_t n = 0;

	if (text[0] < 'a' || text[0] > 'z')
		return 0;
	while (is_scheme_char(text[n]))
		n++;
	return text[n] == ':' ? n : 0;
}

static int percent_decode(const char *text, struct str in, char **ret, struct err *e)
{
	AUTO_FREE char *out = mem_alloc(in.n + 1);
	size_t n = 0;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < in.n; i++) {
		uint8_t c = (uint8_t)in.p[i];

		if (c == '%') {
			/* A NUL would cut the path short of what was checked. */
			if (in.n - i < 3 || hex_parse(in.p + i + 1, 1, &c) < 0 || c == 0)
				return err_set(e, -EINVAL, "%s: in a URL %% begins two hexadecimal digits (not 00); "
					"write %%25 for the character itself", text);
			i += 2;
		}
		out[n++] = (char)c;
	}
	out[n] = 0;
	*ret = TAKE(out);
	return 0;
}

bool url_next_filter(struct str *list, struct str *ret_name, struct str *ret_value)
{
	struct str one;

	if (list->n == 0)
		return false;
	one = str_split(list, '&');
	*ret_name = str_split(&one, '=');
	*ret_value = one;
	return true;
}

/* Where filters begin, or the end of the text. */
static size_t filters_at(struct str text, bool is_bare, bool (*is_filter)(struct str name))
{
	const char *hash = is_bare ? strrchr(text.p, '#') : strchr(text.p, '#');
	struct str name, value, rest;

	if (!hash)
		return text.n;
	rest = str_of(hash + 1);
	/* In a path of the shell '#' is a character as any other, until a filter that exists follows. */
	if (is_bare && !(memchr(rest.p, '=', rest.n) && url_next_filter(&rest, &name, &value) && is_filter(name)))
		return text.n;
	return (size_t)(hash - text.p);
}

int url_parse(const char *text, bool (*is_filter)(struct str name), struct url *ret, struct err *e)
{
	AUTO_URL struct url u = {NULL};
	size_t n_scheme = scheme_length(text), n = strnlen(text, 2 * STORE_NAME_MAX), skip, end;
	struct str rest;
	int r = 0;

	if (n == 0 || n == 2 * STORE_NAME_MAX)
		return err_set(e, -EINVAL, "a URL or path has 1 to %d characters, not %s", 2 * STORE_NAME_MAX - 1,
			n ? "more" : "none");
	skip = n_scheme ? n_scheme + 1 : 0;
	end = filters_at((struct str){text, n}, !n_scheme, is_filter);
	rest = (struct str){text + skip, end - skip};
	u.filters = mem_strdup(text + MIN(end + 1, n));
	u.scheme = mem_strndup(text, n_scheme);
	if (n_scheme)
		r = percent_decode(text, rest, &u.rest, e);
	else
		u.rest = mem_strndup(rest.p, rest.n);
	if (r < 0)
		return r;
	if (!u.filters || !u.scheme || !u.rest)
		return -ENOMEM;
	*ret = u;
	u = (struct url){NULL};
	return 0;
}

void url_release(struct url *u)
{
	mem_free(u->scheme);
	mem_free(u->rest);
	mem_free(u->filters);
	*u = (struct url){NULL};
}
