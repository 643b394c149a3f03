/* SPDX-License-Identifier: Apache-2.0 */
/* A spec as a whole: from YAML, its copy, its identity, and what a Loader changes about it. */
#include "plan/spec.h"

#include <string.h>

#include "base/hash.h"
#include "plan/spec_kind.h"
#include "plan/spec_table.h"

#define RECIPE_BYTES (1u << 20)

static void texts_free(char **texts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		mem_free(texts[i]);
	mem_free(texts);
}

void spec_free(struct spec *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_sources; i++)
		texts_free(s->sources[i].data, s->sources[i].n_data);
	for (unsigned i = 0; i < s->recipe.n_fields; i++)
		texts_free(s->fields[i].from, s->fields[i].n_from);
	mem_free(s->sources);
	mem_free(s->fields);
	mem_free(s->skip);
	mem_free(s);
}

int spec_new(struct spec_in *in, struct spec **ret)
{
	AUTO(spec) struct spec *s = mem_zalloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = spec_defaults(in, "", s);
	if (r == 0)
		r = spec_defaults(in, "on_error", s);
	if (r == 0)
		r = spec_defaults(in, "limits", s);
	if (r < 0)
		return r;
	*ret = TAKE(s);
	return 0;
}

static int check_top(struct spec_in *in, const struct spec_node *root)
{
	const struct spec_node *rank = spec_node_find(root, "batch"),
			       *all = spec_node_find(root, "global_batch");

	if (!spec_node_find(root, "sources"))
		return spec_refuse(in, root->line, "`sources` is missing; write sources: [{data: PATH}]");
	if (rank && all)
		return spec_refuse(in, MAX(rank->line, all->line),
			"`batch` (of each rank) and `global_batch` (of all) exclude each other; keep one");
	return 0;
}

int spec_parse(const char *name, const char *text, size_t n, struct spec **ret, struct err *e)
{
	struct spec_in AUTO_SPEC_IN in;
	AUTO(spec) struct spec *s = NULL;
	struct spec_node *root;
	int r;

	spec_in_init(&in, name, e);
	r = spec_tree(&in, text, n, &root);
	if (r < 0)
		return r;
	if (root->kind != NODE_MAP)
		return spec_refuse(&in, root->line, "a spec is a mapping; write sources: [{data: PATH}]");
	r = spec_new(&in, &s);
	if (r == 0)
		r = spec_bind_map(&in, "", root, s);
	if (r == 0)
		r = check_top(&in, root);
	if (r < 0)
		return r;
	spec_seal(s);
	*ret = TAKE(s);
	return 0;
}

static int texts_copy(char *const *texts, unsigned n, char ***ret, unsigned *ret_n)
{
	*ret = mem_calloc(n, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (; *ret_n < n; ++*ret_n) {
		(*ret)[*ret_n] = mem_strdup(texts[*ret_n]);
		if (!(*ret)[*ret_n])
			return -ENOMEM;
	}
	return 0;
}

static int copy_sources(const struct spec *s, struct spec *to)
{
	int r = 0;

	to->sources = mem_calloc(s->n_sources, sizeof(*s->sources));
	if (!to->sources)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i < s->n_sources; i++) {
		struct spec_source *c = &to->sources[to->n_sources++];

		*c = s->sources[i];
		c->data = NULL;
		c->n_data = 0;
		r = texts_copy(s->sources[i].data, s->sources[i].n_data, &c->data, &c->n_data);
	}
	return r;
}

static int copy_fields(const struct spec *s, struct spec *to)
{
	int r = 0;

	to->fields = mem_calloc(RECIPE_MAX_FIELDS, sizeof(*s->fields));
	if (!to->fields)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i < s->recipe.n_fields; i++) {
		struct spec_field *c = &to->fields[to->recipe.n_fields++];

		*c = s->fields[i];
		c->from = NULL;
		c->n_from = 0;
		r = texts_copy(s->fields[i].from, s->fields[i].n_from, &c->from, &c->n_from);
	}
	return r;
}

int spec_copy(const struct spec *s, struct spec **ret)
{
	AUTO(spec) struct spec *c = mem_dup(s, sizeof(*s));
	int r;

	if (!c)
		return -ENOMEM;
	c->sources = NULL;
	c->fields = NULL;
	c->n_sources = c->recipe.n_fields = 0;
	c->skip = mem_dup(s->skip, s->n_skip * sizeof(*s->skip));
	r = c->skip ? copy_sources(s, c) : -ENOMEM;
	if (r == 0)
		r = copy_fields(s, c);
	if (r < 0)
		return r;
	*ret = TAKE(c);
	return 0;
}

static int find_field(const struct spec *s, const char *name, unsigned *ret, struct err *e)
{
	char have[256] = "";
	size_t n = 0;

	for (unsigned i = 0; i < s->recipe.n_fields; i++) {
		const char *field = s->recipe.fields[i].name;

		if (strcmp(field, name) == 0) {
			*ret = i;
			return 0;
		}
		if (n < sizeof(have))
			n += (size_t)snprintf(have + n, sizeof(have) - n, "%s%s", i ? ", " : "", field);
	}
	return err_set(
		e, E_SPEC, "there is no field %s; the fields are %s", spec_show(str_of(name)).text, have);
}

static int find_fields(
	const struct spec *s, const char *const *names, unsigned n, unsigned *ret, struct err *e)
{
	bool taken[RECIPE_MAX_FIELDS] = {0};

	for (unsigned i = 0; i < n; i++) {
		int r = find_field(s, names[i], &ret[i], e);

		if (r < 0)
			return r;
		if (taken[ret[i]])
			return err_set(
				e, E_SPEC, "field %s is asked for twice", spec_show(str_of(names[i])).text);
		taken[ret[i]] = true;
	}
	return 0;
}

int spec_select_fields(struct spec *s, const char *const *names, unsigned n, struct err *e)
{
	unsigned from[RECIPE_MAX_FIELDS];
	AUTO_FREE struct recipe *chains = NULL;
	struct spec_field *fields;
	int r;

	if (n < 1 || n > s->recipe.n_fields)
		return err_set(e, E_SPEC, "%u fields are asked for; the data has %u", n, s->recipe.n_fields);
	r = find_fields(s, names, n, from, e);
	if (r < 0)
		return r;
	chains = mem_dup(&s->recipe, sizeof(s->recipe));
	fields = chains ? mem_calloc(RECIPE_MAX_FIELDS, sizeof(*fields)) : NULL;
	if (!fields)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		s->recipe.fields[i] = chains->fields[from[i]];
		fields[i] = s->fields[from[i]];
		s->fields[from[i]] = (struct spec_field){0};
	}
	for (unsigned i = 0; i < s->recipe.n_fields; i++)
		texts_free(s->fields[i].from, s->fields[i].n_from);
	mem_free(s->fields);
	s->fields = fields;
	s->recipe.n_fields = n;
	return 0;
}

static void add_extensions(struct sha256 *h, const struct spec_field *f)
{
	sha256_add_u32(h, f->n_from);
	for (unsigned i = 0; i < f->n_from; i++)
		sha256_add_str(h, f->from[i], strlen(f->from[i]));
}

/* The seed is the order's, and must not make other fields of the same. */
static void forget_seed(struct recipe *recipe)
{
	for (unsigned i = 0; i < recipe->n_fields; i++) {
		for (unsigned j = 0; j < recipe->fields[i].n_steps; j++)
			recipe->fields[i].steps[j].key = (struct philox_key){{0, 0}};
	}
}

int spec_fields_id(const struct spec *s, uint8_t ret[32])
{
	AUTO_FREE struct recipe *recipe = mem_dup(&s->recipe, sizeof(s->recipe));
	AUTO(sha256) struct sha256 *h = sha256_new();
	struct buf AUTO_BUF bytes;
	int r;

	buf_init(&bytes, RECIPE_BYTES);
	if (!recipe || !h)
		return -ENOMEM;
	recipe->max_pixels = recipe->max_bytes = 0;
	forget_seed(recipe);
	r = recipe_encode(recipe, &bytes);
	if (r < 0)
		return r;
	sha256_add_str(h, (const char *)bytes.ptr, bytes.n);
	for (unsigned i = 0; i < s->recipe.n_fields; i++)
		add_extensions(h, &s->fields[i]);
	sha256_finish(h, ret);
	return 0;
}
