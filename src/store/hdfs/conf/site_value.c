/* SPDX-License-Identifier: Apache-2.0 */
/* What values mean: numbers, yes and no, bytes, times, each with Hadoop's units. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/scope.h"
#include "base/str.h"
#include "store/hdfs/conf/site.h"

/* The value of a key as text; *ret.n is 0 when it is not set. */
static int text_value(struct site *s, const char *key, struct str *ret, struct err *e)
{
	const char *value = site_get(s, key);

	*ret = str_of(value ? value : "");
	return site_failure(s, e);
}

static int refuse(const char *key, struct str value, const char *form, struct err *e)
{
	return err_set(e, -EINVAL, "%s is \"%.*s\"; it is to be %s", key, (int)MIN(value.n, (size_t)100), value.p, form);
}

int site_u64(struct site *s, const char *key, uint64_t otherwise, uint64_t *ret, struct err *e)
{
	struct str text;
	int r = text_value(s, key, &text, e);

	if (r < 0)
		return r;
	*ret = otherwise;
	return text.n == 0 || str_to_u64(text, ret) == 0 ? 0 : refuse(key, text, "a whole number", e);
}

int site_bool(struct site *s, const char *key, bool otherwise, bool *ret, struct err *e)
{
	struct str text;
	int r = text_value(s, key, &text, e);

	if (r < 0)
		return r;
	*ret = text.n ? str_cmp_nocase(text, str_of("true")) == 0 : otherwise;
	/* Hadoop takes any other word for the default; a word that is neither is more likely an error. */
	if (text.n == 0 || *ret || str_cmp_nocase(text, str_of("false")) == 0)
		return 0;
	return refuse(key, text, "true or false", e);
}

/* A number with a binary unit, of either case: 64, 128k, 1m, 2g, 1t, 1p. */
static bool to_bytes(struct str text, uint64_t *ret)
{
	static const char units[] = "kmgtp";
	const char *unit = memchr(units, text.p[text.n - 1] | 0x20, sizeof(units) - 1);
	unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;

	text.n -= unit != NULL;
	if (str_to_u64(text, ret) < 0 || *ret > UINT64_MAX >> shift)
		return false;
	*ret <<= shift;
	return true;
}

int site_bytes(struct site *s, const char *key, uint64_t otherwise, uint64_t *ret, struct err *e)
{
	struct str text;
	int r = text_value(s, key, &text, e);

	if (r < 0)
		return r;
	*ret = otherwise;
	return text.n == 0 || to_bytes(text, ret) ? 0 : refuse(key, text, "bytes, such as 65536, 64k or 128m", e);
}

/* Longest first: "ms" ends with "s". Nanoseconds each. */
static const struct {
	const char *suffix;
	uint64_t ns;
} time_units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000},
	{"d", 86400000000000}};

static bool to_ms(struct str text, uint64_t unit_ms, uint64_t *ret)
{
	uint64_t ns = unit_ms * 1000000, n;

	for (unsigned i = 0; i < N_ELEMS(time_units); i++) {
		size_t n_suffix = strlen(time_units[i].suffix);

		if (text.n > n_suffix && strncasecmp(text.p + text.n - n_suffix, time_units[i].suffix, n_suffix) == 0) {
			ns = time_units[i].ns;
			text = str_trim((struct str){text.p, text.n - n_suffix});
			break;
		}
	}
	if (str_to_u64(text, &n) < 0 || n > UINT64_MAX / ns)
		return false;
	*ret = n * ns / 1000000;
	return true;
}

int site_ms(struct site *s, const char *key, uint64_t otherwise_ms, uint64_t unit_ms, uint64_t *ret_ms, struct err *e)
{
	struct str text;
	int r = text_value(s, key, &text, e);

	if (r < 0)
		return r;
	*ret_ms = otherwise_ms;
	return text.n == 0 || to_ms(text, unit_ms, ret_ms) ? 0 : refuse(key, text, "a time, such as 500, 500ms or 10s", e);
}
