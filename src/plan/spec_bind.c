/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a tree into structs, by the rows of the table: what is common to all sections. */
#include <string.h>

#include "base/scope.h"
#include "plan/spec_table.h"

#define FORM_BYTES 256u
#define KEYS_BYTES 1024u

static void *at(const struct spec_key *k, void *to)
{
	return (char *)to + k->offset;
}

int spec_refuse_value(struct spec_in *in, const struct spec_key *k, const struct spec_node *n)
{
	struct buf AUTO_BUF form;

	buf_init(&form, FORM_BYTES);
	spec_key_form(k, &form);
	if (form.r < 0)
		return form.r;
	return spec_refuse(
		in, n->line, "`%s` is %s; write %s", k->name, spec_show_node(n).text, (char *)form.ptr);
}

/* What may have been meant; NULL when nothing is so near that naming it would help. */
static const struct spec_key *nearest_key(const char *section, struct str name)
{
	const struct spec_key *nearest = NULL;
	size_t best = MAX(2, name.n / 3) + 1;

	for (const struct spec_key *k = spec_key_next(section, NULL); k; k = spec_key_next(section, k)) {
		size_t far = str_distance(name, str_of(k->name));

		if (far < best) {
			nearest = k;
			best = far;
		}
	}
	return nearest;
}

static int refuse_unknown(struct spec_in *in, const char *section, const struct spec_node *n)
{
	const struct spec_key *nearest = nearest_key(section, n->key);
	struct buf AUTO_BUF keys;

	buf_init(&keys, KEYS_BYTES);
	if (nearest)
		return spec_refuse(in, n->line, "%s is not a key here; the nearest is `%s`", spec_show(n->key).text,
			nearest->name);
	for (const struct spec_key *k = spec_key_next(section, NULL); k; k = spec_key_next(section, k)) {
		if (k->type)
			buf_printf(&keys, "%s%s", keys.n ? ", " : "", k->name);
	}
	if (keys.r < 0)
		return keys.r;
	return spec_refuse(in, n->line, "%s is not a key here; those that are: %.*s", spec_show(n->key).text, (int)keys.n,
		(const char *)keys.ptr);
}

int spec_key_of(
	struct spec_in *in, const char *section, const struct spec_node *n, const struct spec_key **ret)
{
	const struct spec_key *k = spec_key_find(section, n->key);

	if (!k)
		return refuse_unknown(in, section, n);
	if (!k->type)
		return spec_refuse(in, n->line, "`%s` is not built yet; leave it out", k->name);
	*ret = k;
	return 0;
}

int spec_bind_map(struct spec_in *in, const char *section, const struct spec_node *map, void *to)
{
	SPEC_NODE_EACH(n, map)
	{
		const struct spec_key *k = NULL;
		int r = spec_key_of(in, section, n, &k);

		if (r == 0)
			r = k->type->bind(in, k, n, to);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Defaults go the way of what users write, so what help shows is what holds. */
int spec_defaults(struct spec_in *in, const char *section, void *to)
{
	for (const struct spec_key *k = spec_key_next(section, NULL); k; k = spec_key_next(section, k)) {
		struct spec_node *n;
		int r;

		if (!k->by_default)
			continue;
		r = spec_tree(in, k->by_default, strlen(k->by_default), &n);
		if (r == 0)
			r = k->type->bind(in, k, n, to);
		if (r < 0)
			return r;
	}
	return 0;
}

int spec_bind_word(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	for (const struct spec_word *w = k->words; n->kind == NODE_SCALAR && w->text; w++) {
		if (!str_eq(n->text, w->text))
			continue;
		if (w->unbuilt)
			return spec_refuse(
				in, n->line, "`%s: %s` is not built yet; leave it out", k->name, w->text);
		memcpy(at(k, to), &w->value, sizeof(w->value));
		return 0;
	}
	return spec_refuse_value(in, k, n);
}

static int bind_whole(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, uint64_t *ret)
{
	uint64_t v;

	if (n->kind != NODE_SCALAR || str_to_u64(n->text, &v) < 0 || v < k->min || v > k->max)
		return spec_refuse_value(in, k, n);
	*ret = v;
	return 0;
}

int spec_bind_u64(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	uint64_t v = 0;
	int r = bind_whole(in, k, n, &v);

	if (r == 0)
		memcpy(at(k, to), &v, sizeof(v));
	return r;
}

int spec_bind_u32(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	uint64_t v = 0;
	int r = bind_whole(in, k, n, &v);
	uint32_t narrow = (uint32_t)v;

	if (r == 0)
		memcpy(at(k, to), &narrow, sizeof(narrow));
	return r;
}

int spec_bind_size(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	uint64_t v;

	if (n->kind != NODE_SCALAR || str_to_size(n->text, &v) < 0 || v < k->min || v > k->max)
		return spec_refuse_value(in, k, n);
	memcpy(at(k, to), &v, sizeof(v));
	return 0;
}

/* A number, or two with a slash between: 4/3 has no short decimal. */
static int real_of(struct str s, double *ret)
{
	struct str rest = s, head = str_split(&rest, '/');
	double over = 1, v;
	int r = str_to_double(head, &v);

	if (r == 0 && head.n < s.n)
		r = str_to_double(rest, &over);
	if (r < 0)
		return r;
	*ret = v / over;
	return over == 0 ? -EINVAL : 0;
}

static int bind_real_at(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, double *ret)
{
	double v;
	int r = n->kind == NODE_SCALAR ? real_of(n->text, &v) : -EINVAL;

	if (r == -ENOMEM)
		return r;
	if (r < 0 || !(v >= k->low && v <= k->high))
		return spec_refuse_value(in, k, n);
	*ret = v;
	return 0;
}

int spec_bind_real(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	return bind_real_at(in, k, n, at(k, to));
}

int spec_bind_pair(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	double *v = at(k, to);
	int r;

	if (n->kind != NODE_LIST || n->n != 2)
		return spec_refuse_value(in, k, n);
	r = bind_real_at(in, k, n->first, &v[0]);
	if (r == 0)
		r = bind_real_at(in, k, n->last, &v[1]);
	if (r == 0 && v[0] > v[1])
		return spec_refuse(in, n->line, "`%s` begins at %s, above its end %s; write %s", k->name,
			spec_show_node(n->first).text, spec_show_node(n->last).text, k->form);
	return r;
}

/* In millionths, exactly: 0.1% is 1000. */
int spec_bind_share(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	bool percent = n->kind == NODE_SCALAR && n->text.n && n->text.p[n->text.n - 1] == '%';
	double v, off;
	uint32_t ppm;
	int r;

	if (n->kind != NODE_SCALAR)
		return spec_refuse_value(in, k, n);
	r = str_to_double((struct str){n->text.p, n->text.n - percent}, &v);
	if (r == -ENOMEM)
		return r;
	v *= percent ? 1e4 : 1e6;
	if (r < 0 || !(v >= 0 && v <= 1e6))
		return spec_refuse_value(in, k, n);
	ppm = (uint32_t)(v + 0.5);
	off = v - ppm;
	if (off > 1e-6 || off < -1e-6)
		return spec_refuse(in, n->line, "`%s` is %s, finer than one in a million", k->name,
			spec_show_node(n).text);
	memcpy(at(k, to), &ppm, sizeof(ppm));
	return 0;
}

int spec_bind_group(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	if (n->kind == NODE_MAP)
		return spec_bind_map(in, k->keys, n, to);
	return k->value ? k->value->bind(in, k, n, to) : spec_refuse_value(in, k, n);
}

static int take_text(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, char **ret)
{
	if (n->kind != NODE_SCALAR || n->text.n == 0 || spec_node_null(n))
		return spec_refuse_value(in, k, n);
	*ret = mem_strdup(n->text.p);
	return *ret ? 0 : -ENOMEM;
}

int spec_bind_texts(
	struct spec_in *in, const struct spec_key *k, const struct spec_node *n, char ***ret, unsigned *ret_n)
{
	bool list = n->kind == NODE_LIST;
	const struct spec_node *item = list ? n->first : n;
	unsigned n_items = list ? n->n : 1;
	int r = 0;

	if (n_items == 0)
		return spec_refuse(in, n->line, "`%s` is an empty list; write %s", k->name, k->form);
	*ret = mem_calloc(n_items, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (; r == 0 && *ret_n < n_items; item = item->next) {
		r = take_text(in, k, item, &(*ret)[*ret_n]);
		*ret_n += r == 0;
	}
	return r;
}
