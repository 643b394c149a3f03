/* SPDX-License-Identifier: Apache-2.0 */
#include "store/glob.h"

#include <string.h>

#include "base/scope.h"
#include "base/str.h"
#include "store/path.h"
#include "store/pattern.h"

struct glob {
	struct store *store;
	struct str before;	/* of the URL: what stands before the part of it that is the path's end .. */
	size_t n_base;		/* .. from this byte of the path on */
	int (*fn)(void *ctx, const struct glob_hit *hit, struct err *e);
	void *ctx;
	uint64_t n_hits;
	struct err *e;
};

static int hit(struct glob *g, const char *path, const struct store_stat *stat)
{
	AUTO_FREE char *shown = mem_printf("%.*s%s", STR_ARG(g->before), path + MIN(g->n_base, strlen(path)));
	struct glob_hit h = {g->store, path, shown, *stat, true};

	if (!shown)
		return -ENOMEM;
	g->n_hits++;
	return g->fn(g->ctx, &h, g->e);
}

/* dir with one more part. NULL: no memory. */
static char *join(struct str dir, struct str name)
{
	return mem_printf("%.*s%s%.*s", STR_ARG(dir), dir.n && dir.p[dir.n - 1] != '/' ? "/" : "", STR_ARG(name));
}

static int walk(struct glob *g, const char *dir, struct str pattern, unsigned depth);

/* What is there by this name; nothing is no error. */
static int walk_name(struct glob *g, const char *dir, struct str name, struct str rest, unsigned depth)
{
	AUTO_FREE char *path = join(str_of(dir), name);
	struct store_stat stat;
	struct err words = {0};
	int r;

	if (!path)
		return -ENOMEM;
	if (rest.n)
		return walk(g, path, rest, depth + 1);
	r = store_stat(g->store, path, &stat, &words);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0) {
		if (g->e)
			*g->e = words;
		return r;
	}
	return hit(g, path, &stat);
}

static int walk_entry(struct glob *g, const char *dir, const struct store_entry *entry, struct str rest, unsigned depth)
{
	AUTO_FREE char *path = join(str_of(dir), str_of(entry->name));

	if (!path)
		return -ENOMEM;
	if (rest.n == 0)
		return hit(g, path, &entry->stat);
	return entry->stat.kind == STORE_DIR ? walk(g, path, rest, depth + 1) : 0;
}

/* The entries of a page that match. *after becomes its last name. */
static int walk_page(struct glob *g, const char *dir, struct store_listing *page, struct str part, struct str rest,
	unsigned depth, char **after)
{
	int r = 0;

	for (size_t i = 0; i < page->n && r == 0; i++)
		if (pattern_match(part, str_of(page->entries[i].name)))
			r = walk_entry(g, dir, &page->entries[i], rest, depth);
	mem_free(*after);
	*after = page->more && page->n ? mem_strdup(page->entries[page->n - 1].name) : NULL;
	return r == 0 && page->more && !*after ? -ENOMEM : r;
}

static int walk_matches(struct glob *g, const char *dir, struct str part, struct str rest, unsigned depth)
{
	AUTO_FREE char *after = NULL;
	bool more = true;
	int r = 0;

	while (r == 0 && more) {
		struct store_listing page = {0};
		struct err words = {0};

		r = store_list_page(g->store, dir, after, &page, &words);
		if (r == -ENOENT || r == -ENOTDIR)
			return 0;
		if (r < 0 && g->e)
			*g->e = words;
		more = r == 0 && page.more;
		if (r == 0)
			r = walk_page(g, dir, &page, part, rest, depth, &after);
		store_listing_release(&page);
	}
	return r;
}

static int walk(struct glob *g, const char *dir, struct str pattern, unsigned depth)
{
	struct str rest = pattern, part;

	part = str_split(&rest, '/');
	if (depth > GLOB_MAX_DEPTH)
		return err_set(g->e, -EINVAL, "the pattern has more than %u directories", GLOB_MAX_DEPTH);
	if (str_eq(part, "**"))
		return err_set(g->e, -EINVAL, "** is not known: * is within one directory");
	if (pattern_has_glob(part))
		return walk_matches(g, dir, part, rest, depth);
	return walk_name(g, dir, part, rest, depth);
}

static int expanded(void *ctx, const char *text)
{
	return walk(ctx, "", str_of(text), 1);
}

/* Up to and with the last slash (of a URL without one: colon) before the pattern begins. */
static size_t base_length(const char *text)
{
	size_t n = pattern_begin(str_of(text));

	while (n > 0 && text[n - 1] != '/' && text[n - 1] != ':')
		n--;
	return n;
}

static int glob_pattern(struct glob *g, const char *url, const char *path)
{
	AUTO_FREE char *clean = mem_alloc(STORE_NAME_MAX);
	int r;

	if (!clean)
		return -ENOMEM;
	path_clean(path, clean);
	/* A pattern that was written with % escapes shows the path alone. */
	if (pattern_begin(str_of(url)) < strlen(url)) {
		g->before = (struct str){url, base_length(url)};
		g->n_base = base_length(clean);
	}
	r = pattern_expand(clean, expanded, g, g->e);
	if (r == 0 && g->n_hits == 0)
		return err_set(g->e, -ENOENT, "%.400s: nothing matches", url);
	return r;
}

int glob_url(const char *url, int (*fn)(void *ctx, const struct glob_hit *hit, struct err *e), void *ctx, struct err *e)
{
	AUTO_STORE struct store *s = NULL;
	AUTO_FREE char *path = NULL;
	struct glob g = {.fn = fn, .ctx = ctx, .before = {"", 0}, .e = e};
	struct glob_hit h = {.shown = url};
	struct err words = {0};
	int r = store_open(url, &s, &path, e);

	if (r < 0)
		return r;
	r = store_look(s, path, &h.stat, &words);
	g.store = h.store = s;
	h.path = path;
	if (r == 0)
		return fn(ctx, &h, e);
	if ((r == -ENOENT || r == -ENOTDIR) && pattern_begin(str_of(path)) < strlen(path))
		return glob_pattern(&g, url, path);
	if (e)
		*e = words;
	return r;
}
