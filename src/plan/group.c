/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping of members into samples. */
#include "plan/group.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

static size_t base_of(struct str name)
{
	const char *slash = memrchr(name.p, '/', name.n);

	return slash ? (size_t)(slash - name.p) + 1 : 0;
}

bool key_of_member(struct str name, struct str *ret_key, struct str *ret_ext)
{
	size_t base = base_of(name), n_key;
	const char *dot = memchr(name.p + base, '.', name.n - base);

	if (!dot || dot == name.p + base)
		return false;
	n_key = (size_t)(dot - name.p);
	*ret_key = (struct str){name.p, n_key};
	*ret_ext = (struct str){dot + 1, name.n - n_key - 1};
	return true;
}

bool member_is_meta(struct str name)
{
	size_t n = 0;

	/* __[^/]*__($|/) at the beginning. */
	while (n < name.n && name.p[n] != '/')
		n++;
	return n >= 4 && memcmp(name.p, "__", 2) == 0 && memcmp(name.p + n - 2, "__", 2) == 0;
}

void key_of_file(struct str name, struct str *ret_key, struct str *ret_ext)
{
	size_t base = base_of(name), n_key = name.n;
	const char *dot = memrchr(name.p + base, '.', name.n - base);

	if (dot && dot != name.p + base)
		n_key = (size_t)(dot - name.p);
	*ret_key = (struct str){name.p, n_key};
	*ret_ext = (struct str){name.p + n_key, name.n - n_key};
}

/* "05.png": digits, then another extension. A lone "7z" or "3gp" is none. */
static bool looks_like_number(struct str ext)
{
	size_t n = 0;

	while (n < ext.n && isdigit((unsigned char)ext.p[n]))
		n++;
	return n > 0 && n < ext.n && ext.p[n] == '.';
}

/* Whether the last sample has the extension already; from now on it has. */
static int sample_take_ext(struct grouper *g, uint32_t ext, bool *ret_twice)
{
	int r = 0;

	while (r == 0 && g->seen.n <= ext)
		r = VEC_PUSH(&g->seen, 0);
	if (r < 0)
		return r;
	*ret_twice = g->seen.ptr[ext] == g->table->samples.n;
	g->seen.ptr[ext] = (uint32_t)g->table->samples.n;
	return 0;
}

void grouper_init(struct grouper *g, struct table *table, struct oddities *odd)
{
	*g = (struct grouper){.table = table, .odd = odd, .seen = VEC_MAX(TABLE_MAX_EXTENSIONS)};
}

void grouper_release(struct grouper *g)
{
	vec_release(&g->seen);
}

int grouper_add(struct grouper *g, const struct tar_member *m)
{
	struct str name = {m->name, m->name_n}, key, ext;
	char lower[TAR_NAME_MAX];
	bool twice = false;
	int r = 0;

	if (member_is_meta(name))
		return 0;
	if (!key_of_member(name, &key, &ext)) {
		oddity_add(g->odd, ODDITY_NO_KEY, name, m->header);
		return 0;
	}
	for (size_t i = 0; i < ext.n; i++)
		lower[i] = (char)(ext.p[i] >= 'A' && ext.p[i] <= 'Z' ? ext.p[i] + 'a' - 'A' : ext.p[i]);
	ext.p = lower;
	if (looks_like_number(ext))
		oddity_add(g->odd, ODDITY_NUMBER, name, m->header);
	if (g->table->samples.n == 0 || !str_equal(key, table_key(g->table, g->table->samples.n - 1)))
		r = table_sample_add(g->table, key, CLASS_NONE);
	if (r == 0)
		r = table_member_add(g->table, ext, m->offset, m->length);
	if (r == 0)
		r = sample_take_ext(g, g->table->members.ptr[g->table->members.n - 1].ext, &twice);
	if (r == 0 && twice)
		oddity_add(g->odd, ODDITY_TWICE, name, m->header);
	return r;
}

static int compare_keys(const void *a, const void *b, void *table)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = str_cmp(table_key(table, x), table_key(table, y));

	return c ? c : (x > y) - (x < y);
}

/* Tells of keys that come again after others. */
static int keys_again(struct grouper *g)
{
	struct table *t = g->table;
	AUTO_FREE uint32_t *order = mem_calloc(t->samples.n + 1, sizeof(*order));
	size_t n_again = 0, first = SIZE_MAX;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->samples.n; i++)
		order[i] = i;
	qsort_r(order, t->samples.n, sizeof(*order), compare_keys, t);
	for (size_t i = 1; i < t->samples.n; i++) {
		if (!str_equal(table_key(t, order[i]), table_key(t, order[i - 1])))
			continue;
		n_again++;
		first = MIN(first, order[i]);
	}
	if (n_again > 0)
		oddity_add(g->odd, ODDITY_KEY_AGAIN, table_key(t, first),
			t->members.ptr[t->samples.ptr[first].first].offset);
	g->odd->of[ODDITY_KEY_AGAIN].n = n_again;
	return 0;
}

/* As most writers pack them; then none comes again. */
static bool keys_rise(const struct table *t)
{
	for (size_t i = 1; i < t->samples.n; i++)
		if (str_cmp(table_key(t, i - 1), table_key(t, i)) >= 0)
			return false;
	return true;
}

int grouper_end(struct grouper *g)
{
	struct table *t = g->table;

	return keys_rise(t) ? 0 : keys_again(g);
}
