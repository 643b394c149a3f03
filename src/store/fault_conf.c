/* SPDX-License-Identifier: Apache-2.0 */
/* The fault filter's plan out of its text: a table of items. */
#include "store/fault.h"

#include "base/clock.h"
#include "base/scope.h"

static int parse_time(struct str s, uint64_t *ret_ns)
{
	/* Longer suffixes first: "ms" ends with "s". */
	static const struct unit {
		const char *suffix;
		size_t n;
		double ns;
	} units[] = {{"ns", 2, 1}, {"us", 2, 1e3}, {"ms", 2, NS_PER_MS}, {"s", 1, NS_PER_S}};
	double number;

	for (size_t i = 0; i < N_ELEMS(units); i++) {
		if (!str_ends(s, units[i].suffix))
			continue;
		s.n -= units[i].n;
		if (str_to_double(s, &number) < 0 || !(number >= 0 && number * units[i].ns <= (double)FAULT_MAX_NS))
			return -EINVAL;
		*ret_ns = (uint64_t)(number * units[i].ns);
		return 0;
	}
	return -EINVAL;
}

static int parse_p(struct str s, double *ret_p)
{
	double p;

	if (str_to_double(s, &p) < 0 || !(p >= 0 && p <= 1))
		return -EINVAL;
	*ret_p = p;
	return 0;
}

/* "5ms" or "5ms-30ms". */
static int parse_delay(struct str value, struct fault_conf *c)
{
	size_t n = value.n;
	struct str first = str_split(&value, '-');
	bool is_span = first.n < n;

	if (parse_time(first, &c->delay_min_ns) < 0 || (is_span && parse_time(value, &c->delay_max_ns) < 0))
		return -EINVAL;
	if (!is_span)
		c->delay_max_ns = c->delay_min_ns;
	return c->delay_min_ns <= c->delay_max_ns ? 0 : -EINVAL;
}

/* "0.01:300ms". */
static int parse_slow(struct str value, struct fault_conf *c)
{
	struct str p = str_split(&value, ':');

	return parse_p(p, &c->slow_p) < 0 || parse_time(value, &c->slow_ns) < 0 ? -EINVAL : 0;
}

static int parse_fail(struct str value, struct fault_conf *c)
{
	return parse_p(value, &c->fail_p);
}

static int parse_short(struct str value, struct fault_conf *c)
{
	return parse_p(value, &c->short_p);
}

static int parse_stale(struct str value, struct fault_conf *c)
{
	return parse_p(value, &c->stale_p);
}

static int parse_seed(struct str value, struct fault_conf *c)
{
	return str_to_u64(value, &c->seed);
}

static const struct item {
	const char *name, *form;
	int (*parse)(struct str value, struct fault_conf *c);
} items[] = {
	{"delay", "delay:5ms or delay:5ms-30ms", parse_delay},
	{"slow", "slow:0.01:300ms", parse_slow},
	{"fail", "fail:0.001", parse_fail},
	{"short", "short:0.01", parse_short},
	{"stale", "stale:0.001", parse_stale},
	{"seed", "seed:7", parse_seed},
};

static int parse_item(struct str text, struct fault_conf *c, struct err *e)
{
	struct str value = text, name = str_split(&value, ':');

	for (size_t i = 0; i < N_ELEMS(items); i++) {
		if (!str_eq(name, items[i].name))
			continue;
		if (items[i].parse(value, c) < 0)
			return err_set(e, -EINVAL, "fault: \"%.*s\" is not of the form %s", STR_ARG(text), items[i].form);
		return 0;
	}
	return err_set(e, -EINVAL, "fault: there is no \"%.*s\", only delay, slow, fail, short, stale, seed", STR_ARG(name));
}

int fault_conf_parse(struct str text, struct fault_conf *ret, struct err *e)
{
	struct fault_conf c = {0};

	while (text.n) {
		int r = parse_item(str_split(&text, ','), &c, e);

		if (r < 0)
			return r;
	}
	*ret = c;
	return 0;
}
