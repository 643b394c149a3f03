/* SPDX-License-Identifier: Apache-2.0 */
/* Walking directories for an entry's files. */
#include "plan/data_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"
#include "store/pattern.h"
#include "store/url.h"

/* One entry's walk. Names are relative to the base. */
struct walk {
	struct data *d;
	uint32_t base;
	unsigned n_dirs;
	struct err *e;
};

static int file_add(struct walk *w, struct str name, const struct store_file *file)
{
	struct data_file f = {.length = file->length, .name_n = (uint32_t)name.n, .base = w->base};
	struct buf *text = &w->d->text;

	f.name = text->n;
	buf_add(text, name.p, name.n);
	buf_u8(text, 0);
	f.version = text->n;
	buf_add(text, file->version, strnlen(file->version, STORE_VERSION_MAX));
	buf_u8(text, 0);
	if (text->r < 0)
		return text->r;
	if (VEC_RESERVE(&w->d->files, w->d->files.n + 1) == -E2BIG)
		return err_set(w->e, -E2BIG, "more than %u files", DATA_MAX_FILES);
	return VEC_PUSH(&w->d->files, f);
}

static void listing_drop(struct store_listing *l)
{
	store_listing_release(l);
}

static int dir_list(struct walk *w, struct str dir, struct store_listing *ret)
{
	const struct base *b = &w->d->bases.all.ptr[w->base];
	char path[STORE_NAME_MAX];
	int r = base_path(b, dir, path, sizeof(path));

	if (r < 0)
		return err_set(w->e, r, "a path below %s is longer than %u bytes: %.*s/..", b->url, STORE_NAME_MAX - 1,
			(int)MIN(dir.n, 200), dir.p);
	if (++w->n_dirs > DATA_MAX_DIRS)
		return err_set(w->e, -E2BIG, "more than %u directories: is there a loop of symbolic links?", DATA_MAX_DIRS);
	return store_list(b->store, path, ret, w->e);
}

/* dir/name into text; -ENAMETOOLONG. */
static int name_join(struct walk *w, struct str dir, const char *name, char text[STORE_NAME_MAX], struct str *ret)
{
	size_t n = strlen(name), at = dir.n ? dir.n + 1 : 0;

	if (at + n >= STORE_NAME_MAX)
		return err_set(w->e, -ENAMETOOLONG, "a path below %s is longer than %u bytes: %.*s/..",
			w->d->bases.all.ptr[w->base].url, STORE_NAME_MAX - 1, (int)MIN(dir.n, 200), dir.p);
	memmove(text, dir.p, dir.n);
	if (dir.n)
		text[dir.n] = '/';
	memcpy(text + at, name, n + 1);
	*ret = (struct str){text, at + n};
	return 0;
}

/* A plan that somebody put among the data is none of it. */
static bool is_plan(const struct store_listing *l)
{
	unsigned n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += strcmp(l->entries[i].name, "part-0000") == 0 || strcmp(l->entries[i].name, "bind-0000") == 0;
	return n == 2;
}

/* All files below dir. */
static int walk_below(struct walk *w, struct str dir, unsigned depth)
{
	CLEANUP(listing_drop) struct store_listing l = {0};
	AUTO_FREE char *text = mem_alloc(STORE_NAME_MAX);
	struct str name;
	int r;

	if (!text)
		return -ENOMEM;
	if (depth > DATA_MAX_DEPTH)
		return err_set(w->e, -ELOOP, "%.*s is deeper than %u directories: is there a loop of symbolic links?",
			(int)MIN(dir.n, 200), dir.p, DATA_MAX_DEPTH);
	r = dir_list(w, dir, &l);
	if (r == 0 && depth > 1 && is_plan(&l))
		return 0;
	for (size_t i = 0; i < l.n && r == 0; i++) {
		const struct store_entry *entry = &l.entries[i];

		if (entry->name[0] == '.' || entry->stat.kind == STORE_OTHER)
			continue;
		r = name_join(w, dir, entry->name, text, &name);
		if (r == 0 && entry->stat.kind == STORE_DIR)
			r = walk_below(w, name, depth + 1);
		else if (r == 0)
			r = file_add(w, name, &entry->stat.file);
	}
	return r;
}

static int take(struct walk *w, struct str name, const struct store_stat *st)
{
	if (st->kind == STORE_DIR)
		return walk_below(w, name, 1);
	if (st->kind == STORE_FILE)
		return file_add(w, name, &st->file);
	return err_set(w->e, E_SPEC, "%.*s is neither a file nor a directory", (int)MIN(name.n, 200), name.p);
}

static int stat_name(struct walk *w, struct str name, struct store_stat *ret)
{
	const struct base *b = &w->d->bases.all.ptr[w->base];
	char path[STORE_NAME_MAX];
	int r = base_path(b, name, path, sizeof(path));

	return r < 0 ? r : store_stat(b->store, path, ret, w->e);
}

/* A component with * ? or [: the entries of dir that match, followed into the rest of the pattern. */
static int walk_glob(struct walk *w, struct str dir, struct str pattern, unsigned depth);

static int walk_matches(struct walk *w, struct str dir, struct str component, struct str rest, unsigned depth)
{
	CLEANUP(listing_drop) struct store_listing l = {0};
	AUTO_FREE char *text = mem_alloc(STORE_NAME_MAX);
	struct str name;
	int r;

	if (!text)
		return -ENOMEM;
	r = dir_list(w, dir, &l);
	for (size_t i = 0; i < l.n && r == 0; i++) {
		const struct store_entry *entry = &l.entries[i];

		if (!pattern_match(component, str_of(entry->name)) || entry->stat.kind == STORE_OTHER)
			continue;
		r = name_join(w, dir, entry->name, text, &name);
		if (r == 0 && rest.n == 0)
			r = take(w, name, &entry->stat);
		else if (r == 0 && entry->stat.kind == STORE_DIR)
			r = walk_glob(w, name, rest, depth + 1);
	}
	return r;
}

static int walk_glob(struct walk *w, struct str dir, struct str pattern, unsigned depth)
{
	char text[STORE_NAME_MAX], word[PATTERN_MAX_BYTES + 1];
	struct str rest = pattern, component = str_split(&rest, '/'), name;
	struct store_stat st;
	int r;

	if (depth > DATA_MAX_DEPTH)
		return err_set(w->e, E_SPEC, "the pattern has more than %u directories", DATA_MAX_DEPTH);
	if (component.n == 0 && rest.n > 0)
		return walk_glob(w, dir, rest, depth + 1);
	if (str_eq(component, "**"))
		return err_set(w->e, E_SPEC, "** is not known; a directory alone is listed with all that is below it");
	if (pattern_has_glob(component))
		return walk_matches(w, dir, component, rest, depth);
	memcpy(word, component.p, component.n);
	word[component.n] = '\0';
	r = name_join(w, dir, word, text, &name);
	if (r < 0)
		return r;
	if (rest.n > 0)
		return walk_glob(w, name, rest, depth + 1);
	r = stat_name(w, name, &st);
	return r < 0 ? r : take(w, name, &st);
}

static int expanded(void *ctx, const char *text)
{
	struct walk *w = ctx;
	struct str pattern = str_of(text);

	while (pattern.n > 0 && pattern.p[0] == '/') {
		pattern.p++;
		pattern.n--;
	}
	return walk_glob(w, (struct str){"", 0}, pattern, 1);
}

static int compare_files(const void *a, const void *b, void *text)
{
	const struct data_file *x = a, *y = b;

	return str_cmp((struct str){(char *)text + x->name, x->name_n}, (struct str){(char *)text + y->name, y->name_n});
}

/* Bytewise order; a file that two alternatives name is one file. */
static void files_settle(struct data *d, size_t first)
{
	struct data_file *f = d->files.ptr;
	size_t n = first;

	if (d->files.n - first < 2)
		return;
	qsort_r(f + first, d->files.n - first, sizeof(*f), compare_files, d->text.ptr);
	for (size_t i = first; i < d->files.n; i++)
		if (i == first || compare_files(&f[i], &f[n - 1], d->text.ptr) != 0)
			f[n++] = f[i];
	d->files.n = n;
}

/* Bytes of s up to and with its last slash. */
static size_t dir_of(struct str s)
{
	while (s.n > 0 && s.p[s.n - 1] != '/')
		s.n--;
	return s.n;
}

/* The URL of another path of the entry's store, with the entry's filters. */
static int url_of(const struct url *entry, struct str path, struct buf *ret)
{
	if (entry->scheme[0] == '\0') {
		buf_add(ret, path.n > 0 ? path.p : ".", path.n > 0 ? path.n : 1);
	} else {
		buf_printf(ret, "%s:", entry->scheme);
		for (size_t i = 0; i < path.n; i++)
			buf_printf(ret, strchr("%#", path.p[i]) ? "%%%02x" : "%c", path.p[i]);
	}
	if (entry->filters[0])
		buf_printf(ret, "#%s", entry->filters);
	return ret->r;
}

static int base_add(struct walk *w, const struct url *entry, struct str path)
{
	AUTO_BUF struct buf url;
	int r;

	buf_init(&url, 4 * STORE_NAME_MAX);
	r = url_of(entry, path, &url);
	return r < 0 ? r : bases_add(&w->d->bases, (const char *)url.ptr, &w->base, w->e);
}

/* The entry as it stands: 0 and what is there, or an error. */
static int stat_literal(const char *entry, struct store_stat *ret, struct err *e)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *path = NULL;
	int r = store_open(entry, &store, &path, e);

	return r < 0 ? r : store_stat(store, path, ret, e);
}

/* The name in dir that is most like the one that is not there; false when none is near enough to be meant. */
static bool nearest_name(struct store *store, struct str path, char *ret, size_t n_ret)
{
	AUTO_FREE char *dir = mem_strndup(path.p, dir_of(path));
	struct str name = {path.p + dir_of(path), path.n - dir_of(path)};
	struct store_listing CLEANUP(store_listing_release) all = {NULL};
	size_t least = 3;

	if (!dir || store_list_page(store, dir[0] ? dir : ".", NULL, &all, NULL) < 0)
		return false;
	for (size_t i = 0; i < all.n; i++) {
		size_t distance = str_distance(name, str_of(all.entries[i].name));

		if (distance >= least)
			continue;
		least = distance;
		str_printable(str_of(all.entries[i].name), ret, n_ret);
	}
	return least < 3;
}

static int refuse_absent(const char *entry, struct err *e)
{
	AUTO_STORE struct store *store = NULL;
	AUTO_FREE char *path = NULL;
	char name[256];

	if (store_open(entry, &store, &path, NULL) == 0 && nearest_name(store, str_of(path), name, sizeof(name)))
		return err_set(e, -ENOENT, "no such file or directory; beside it is %s", name);
	return err_set(e, -ENOENT, "no such file or directory");
}

static int walk_literal(struct walk *w, const struct url *entry, const struct store_stat *st)
{
	struct str path = str_of(entry->rest);
	size_t n_dir;
	int r;

	if (st->kind == STORE_DIR) {
		r = base_add(w, entry, path);
		return r < 0 ? r : walk_below(w, (struct str){"", 0}, 1);
	}
	n_dir = dir_of(path);
	r = base_add(w, entry, (struct str){path.p, n_dir});
	return r < 0 ? r : take(w, (struct str){path.p + n_dir, path.n - n_dir}, st);
}

static int walk_pattern(struct walk *w, const struct url *entry, size_t begin)
{
	struct str path = str_of(entry->rest);
	size_t n_dir = dir_of((struct str){path.p, begin});
	int r = base_add(w, entry, (struct str){path.p, n_dir});

	return r < 0 ? r : pattern_expand(path.p + n_dir, expanded, w, w->e);
}

int data_walk(struct data *d, const char *entry, struct err *e)
{
	struct walk w = {.d = d, .e = e};
	size_t begin, first = d->files.n;
	struct store_stat st;
	struct err words = {0};
	AUTO_URL struct url url = {NULL};
	int r = store_url(entry, &url, e);

	if (r < 0)
		return r;
	begin = pattern_begin(str_of(url.rest));
	r = stat_literal(entry, &st, &words);
	if (r == 0)
		r = walk_literal(&w, &url, &st);
	else if (url.rest[begin] && (r == -ENOENT || r == -ENOTDIR))
		r = walk_pattern(&w, &url, begin);
	else if (r == -ENOENT)
		return refuse_absent(entry, e);
	else
		return err_set(e, r, "%s", err_words(&words, r));
	if (r < 0)
		return r;
	if (d->files.n == first)
		return err_set(e, -ENOENT, "no file is there or matches");
	files_settle(d, first);
	return 0;
}
