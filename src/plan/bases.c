/* SPDX-License-Identifier: Apache-2.0 */
/* Bases: URLs made absolute, stores shared. */
#include "plan/bases.h"

#include <string.h>
#include <unistd.h>

#include "base/scope.h"

void bases_init(struct bases *b)
{
	*b = (struct bases){.all = VEC_MAX(BASES_MAX)};
}

void bases_release(struct bases *b)
{
	for (size_t i = 0; i < b->all.n; i++) {
		mem_free(b->all.ptr[i].url);
		mem_free(b->all.ptr[i].path);
		store_unref(b->all.ptr[i].store);
	}
	vec_release(&b->all);
}

int base_path(const struct base *b, struct str name, char *out, size_t n)
{
	size_t n_base = strlen(b->path);
	bool slash = n_base > 0 && b->path[n_base - 1] != '/' && name.n > 0;

	if (n_base + slash + name.n >= n)
		return -ENAMETOOLONG;
	memcpy(out, b->path, n_base);
	if (slash)
		out[n_base] = '/';
	memcpy(out + n_base + slash, name.p, name.n);
	out[n_base + slash + name.n] = '\0';
	return 0;
}

/* Where the path begins in a URL: behind file://, ram:NAME, hdfs://HOST; 0 in a bare path. */
static size_t url_path_begin(const char *url)
{
	const char *colon = strchr(url, ':'), *slash = strchr(url, '/');

	if (!colon || (slash && slash < colon))
		return 0;
	if (strncmp(colon, "://", 3) == 0)
		slash = strchr(colon + 3, '/');
	return slash ? (size_t)(slash - url) : strlen(url);
}

static size_t url_path_end(const char *url)
{
	return strcspn(url, "#");
}

/* Two URLs that differ in their path only are of one store. */
static bool same_store(const char *a, const char *b)
{
	size_t n = url_path_begin(a);

	return n == url_path_begin(b) && memcmp(a, b, n) == 0 &&
	       strcmp(a + url_path_end(a), b + url_path_end(b)) == 0;
}

static struct store *store_shared(const struct bases *b, const char *url)
{
	for (size_t i = 0; i < b->all.n; i++)
		if (same_store(b->all.ptr[i].url, url))
			return b->all.ptr[i].store;
	return NULL;
}

/* A bare relative path means another place in another directory: a plan keeps it absolute. */
static char *url_absolute(const char *url)
{
	char cwd[STORE_NAME_MAX];

	if (url[0] == '/' || url_path_begin(url) > 0)
		return mem_strdup(url);
	if (!getcwd(cwd, sizeof(cwd)))
		return NULL;
	while (strncmp(url, "./", 2) == 0)
		url += 2;
	if (strcmp(url, ".") == 0 || url[0] == '\0' || url[0] == '#')
		return mem_printf("%s%s", cwd, strchr(url, '#') ? strchr(url, '#') : "");
	return mem_printf("%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, url);
}

int bases_add(struct bases *b, const char *url, uint32_t *ret_base, struct err *e)
{
	AUTO_FREE char *absolute = url_absolute(url), *path = NULL;
	AUTO_STORE struct store *store = NULL;
	struct base base;
	struct store *shared;
	size_t n;
	int r;

	if (!absolute)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->all.n; i++) {
		if (strcmp(b->all.ptr[i].url, absolute) == 0) {
			*ret_base = i;
			return 0;
		}
	}
	r = store_open(absolute, &store, &path, e);
	if (r < 0)
		return r;
	shared = store_shared(b, absolute);
	if (shared) {
		store_unref(store);
		store = store_ref(shared);
	}
	for (n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	r = VEC_RESERVE(&b->all, b->all.n + 1);
	if (r < 0)
		return r;
	base = (struct base){.url = TAKE(absolute), .store = TAKE(store), .path = TAKE(path)};
	*ret_base = (uint32_t)b->all.n;
	b->all.ptr[b->all.n++] = base;
	return 0;
}
