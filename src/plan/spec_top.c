/* SPDX-License-Identifier: Apache-2.0 */
/* Keys at the top of a spec and in its sources. */
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "plan/spec_table.h"

static int check_path(struct spec_in *in, const struct spec_node *n)
{
	if (n->text.n >= SPEC_MAX_PATH)
		return spec_refuse(in, n->line, "a path of %zu bytes; at most %u are allowed", n->text.n,
			SPEC_MAX_PATH - 1);
	return 0;
}

int spec_bind_data(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec_source *s = to;
	int r = spec_bind_texts(in, k, n, &s->data, &s->n_data);

	if (r == 0 && n->kind == NODE_SCALAR)
		r = check_path(in, n);
	for (const struct spec_node *c = n->first; r == 0 && c; c = c->next)
		r = check_path(in, c);
	return r;
}

int spec_bind_weight(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec_source *s = to;

	s->weighted = true;
	return spec_bind_real(in, k, n, to);
}

static int bind_source(
	struct spec_in *in, const struct spec_key *k, const struct spec_node *n, struct spec_source *s)
{
	int r;

	s->weight = 1;
	if (n->kind != NODE_MAP)
		return spec_refuse(in, n->line, "a source is a mapping; write - {data: PATH}");
	r = spec_defaults(in, k->keys, s);
	if (r == 0)
		r = spec_bind_map(in, k->keys, n, s);
	if (r == 0 && !s->data)
		return spec_refuse(in, n->line, "this source lacks `data`; write - {data: PATH}");
	return r;
}

static int check_weights(struct spec_in *in, const struct spec_node *list, const struct spec *s)
{
	const struct spec_node *n = list->first;

	for (unsigned i = 0; i < s->n_sources; i++, n = n->next) {
		if (s->sources[i].weighted != s->sources[0].weighted)
			return spec_refuse(in, n->line,
				"this source %s a weight, the first %s; give all sources one, or none",
				s->sources[i].weighted ? "has" : "lacks",
				s->sources[i].weighted ? "lacks it" : "has one");
	}
	return 0;
}

int spec_bind_sources(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec *s = to;
	int r = 0;

	if (n->kind != NODE_LIST || n->n == 0)
		return spec_refuse(in, n->line, "`sources` is %s; write sources: [{data: PATH}]",
			n->kind == NODE_LIST ? "an empty list" : spec_show_node(n).text);
	if (n->n > SPEC_MAX_SOURCES)
		return spec_refuse(in, n->line, "%u sources; at most %u are allowed", n->n, SPEC_MAX_SOURCES);
	s->sources = mem_calloc(n->n, sizeof(*s->sources));
	if (!s->sources)
		return -ENOMEM;
	for (const struct spec_node *c = n->first; r == 0 && c; c = c->next)
		r = bind_source(in, k, c, &s->sources[s->n_sources++]);
	return r < 0 ? r : check_weights(in, n, s);
}

int spec_bind_order(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec *s = to;
	int r;

	if (n->kind != NODE_MAP)
		return k->value->bind(in, k, n, to);
	if (n->n == 0)
		return spec_refuse(in, n->line, "`order` is an empty mapping; write %s", k->form);
	s->order = ORDER_WINDOW;
	r = spec_defaults(in, "order.shuffle", s);
	return r < 0 ? r : spec_bind_map(in, k->keys, n, s);
}

int spec_bind_batch(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec *s = to;

	s->batch_is_global = strcmp(k->name, "global_batch") == 0;
	return spec_bind_u64(in, k, n, to);
}

static int bind_range(struct spec_in *in, const struct spec_node *n, struct spec_range *ret)
{
	if (n->kind != NODE_LIST || n->n != 2 || n->first->kind != NODE_SCALAR ||
		n->last->kind != NODE_SCALAR || str_to_u64(n->first->text, &ret->first) < 0 ||
		str_to_u64(n->last->text, &ret->last) < 0)
		return spec_refuse(in, n->line,
			"`skip_samples` has an item that is not two positions; write [FIRST, LAST]");
	if (ret->first > ret->last)
		return spec_refuse(in, n->line,
			"`skip_samples` has a range that ends before it begins: %s to %s",
			spec_show(n->first->text).text, spec_show(n->last->text).text);
	return 0;
}

static int range_cmp(const void *a, const void *b)
{
	const struct spec_range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Ranges that overlap or touch become one. */
static unsigned ranges_merge(struct spec_range *r, unsigned n)
{
	unsigned n_out = 0;

	qsort(r, n, sizeof(*r), range_cmp);
	for (unsigned i = 0; i < n; i++) {
		struct spec_range *last = n_out ? &r[n_out - 1] : NULL;

		if (last && (last->last == UINT64_MAX || r[i].first <= last->last + 1))
			last->last = MAX(last->last, r[i].last);
		else
			r[n_out++] = r[i];
	}
	return n_out;
}

int spec_bind_skip(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	struct spec *s = to;
	int r = 0;

	if (n->kind != NODE_LIST)
		return spec_refuse_value(in, k, n);
	if (n->n > SPEC_MAX_RANGES)
		return spec_refuse(in, n->line, "%u ranges in `skip_samples`; at most %u are allowed", n->n,
			SPEC_MAX_RANGES);
	if (n->n == 0)
		return 0;
	s->skip = mem_calloc(n->n, sizeof(*s->skip));
	if (!s->skip)
		return -ENOMEM;
	for (const struct spec_node *c = n->first; r == 0 && c; c = c->next)
		r = bind_range(in, c, &s->skip[s->n_skip++]);
	if (r < 0)
		return r;
	s->n_skip = ranges_merge(s->skip, s->n_skip);
	return 0;
}

static int bind_field(struct spec_in *in, const struct spec_node *n, struct spec *s)
{
	const struct spec_key *from = spec_key_find("fields.*", str_of("from"));
	struct spec_draft CLEANUP(spec_draft_release) d = {0};
	int r = spec_draft_init(in, &d, n->key, n->line);

	if (r == 0 && n->kind == NODE_MAP)
		r = spec_draft_bind(in, &d, n);
	else if (r == 0 && !spec_node_null(n))
		r = spec_bind_from(in, from, n, &d);
	if (r == 0)
		r = spec_draft_finish(in, &d);
	return r < 0 ? r : spec_draft_add(in, &d, s);
}

int spec_bind_fields(struct spec_in *in, const struct spec_key *k, const struct spec_node *n, void *to)
{
	int r = 0;

	if (n->kind != NODE_MAP)
		return spec_refuse_value(in, k, n);
	if (n->n == 0)
		return spec_refuse(
			in, n->line, "`fields` names none; leave it out to have them inferred from the data");
	for (const struct spec_node *c = n->first; r == 0 && c; c = c->next)
		r = bind_field(in, c, to);
	return r;
}
