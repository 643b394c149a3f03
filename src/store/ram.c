/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram: files in memory, for tests: by name, shared by all stores of that name in this process, from any of its threads.
 * What each operation means is what file: means by it. ram-norename: is the same without renaming, as object stores are.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/scope.h"
#include "base/vec.h"
#include "store/engine.h"
#include "store/path.h"

#define MAX_NODES (1u << 20)

/* A file, or a directory (without bytes). Sorted by path, so that a directory's descendants lie side by side. */
struct node {
	char *path;
	uint8_t *bytes;
	size_t n;
	uint64_t version;
	bool is_dir;
};

struct ram {
	struct ram *next;
	const char *scheme;
	char *name;
	unsigned refs;
	pthread_mutex_t lock; /* of what follows */
	VEC(struct node) nodes;
	uint64_t version; /* the last one given */
};

struct ram_store {
	struct store store;
	struct ram *ram;
};

static pthread_mutex_t rams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ram *rams;

static void node_release(struct node *node)
{
	mem_free(node->path);
	mem_free(node->bytes);
}

static struct ram *ram_new(const char *scheme, const char *name)
{
	struct ram *ram = mem_zalloc(sizeof(*ram));

	if (!ram)
		return NULL;
	ram->name = mem_strdup(name);
	if (!ram->name) {
		mem_free(ram);
		return NULL;
	}
	ram->scheme = scheme;
	ram->nodes.max = MAX_NODES;
	pthread_mutex_init(&ram->lock, NULL);
	ram->next = rams;
	rams = ram;
	return ram;
}

static struct ram *ram_get(const char *scheme, const char *name)
{
	struct ram *ram;

	pthread_mutex_lock(&rams_lock);
	for (ram = rams; ram; ram = ram->next)
		if (strcmp(ram->name, name) == 0 && strcmp(ram->scheme, scheme) == 0)
			break;
	if (!ram)
		ram = ram_new(scheme, name);
	if (ram)
		ram->refs++;
	pthread_mutex_unlock(&rams_lock);
	return ram;
}

static void ram_put(struct ram *ram)
{
	struct ram **at = &rams;

	pthread_mutex_lock(&rams_lock);
	if (--ram->refs == 0) {
		while (*at != ram)
			at = &(*at)->next;
		*at = ram->next;
		for (size_t i = 0; i < ram->nodes.n; i++)
			node_release(&ram->nodes.ptr[i]);
		vec_release(&ram->nodes);
		pthread_mutex_destroy(&ram->lock);
		mem_free(ram->name);
		mem_free(ram);
	}
	pthread_mutex_unlock(&rams_lock);
}

/* Nodes. All with the lock held, all paths clean. */

/* The first node whose path is not before this one. */
static size_t node_at(const struct ram *ram, struct str path)
{
	size_t low = 0, high = ram->nodes.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (str_cmp(str_of(ram->nodes.ptr[middle].path), path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct node *node_find(const struct ram *ram, struct str path)
{
	size_t i = node_at(ram, path);

	return i < ram->nodes.n && str_equal(str_of(ram->nodes.ptr[i].path), path) ? &ram->nodes.ptr[i] : NULL;
}

/* Takes node's memory. The path is not there yet. */
static int node_insert(struct ram *ram, struct node *node)
{
	size_t i = node_at(ram, str_of(node->path));
	int r = VEC_RESERVE(&ram->nodes, ram->nodes.n + 1);

	if (r < 0)
		return r;
	memmove(&ram->nodes.ptr[i + 1], &ram->nodes.ptr[i], (ram->nodes.n - i) * sizeof(*node));
	ram->nodes.ptr[i] = *node;
	ram->nodes.n++;
	*node = (struct node){NULL};
	return 0;
}

static void node_delete(struct ram *ram, struct node *node)
{
	size_t i = (size_t)(node - ram->nodes.ptr);

	node_release(node);
	memmove(node, node + 1, (--ram->nodes.n - i) * sizeof(*node));
}

static bool is_below(const char *path, struct str dir)
{
	return dir.n == 0 || (strncmp(path, dir.p, dir.n) == 0 && path[dir.n] == '/');
}

/* 0, -ENOENT, -ENOTDIR. */
static int dir_find(const struct ram *ram, struct str path)
{
	struct node *node = node_find(ram, path);

	if (path.n == 0)
		return 0;
	if (!node)
		return -ENOENT;
	return node->is_dir ? 0 : -ENOTDIR;
}

static int make_dir(struct ram *ram, struct str path)
{
	struct node node = {.path = mem_strndup(path.p, path.n), .is_dir = true};
	int r = node.path ? node_insert(ram, &node) : -ENOMEM;

	node_release(&node);
	return r;
}

static int make_dirs(struct ram *ram, struct str path)
{
	int r = 0;

	for (size_t n = 1; r == 0 && n <= path.n; n++) {
		struct str part = {path.p, n};

		if (n < path.n && path.p[n] != '/')
			continue;
		r = dir_find(ram, part);
		if (r == -ENOENT)
			r = make_dir(ram, part);
	}
	return r;
}

/* Operations. */

static void node_stat(const struct node *node, struct store_stat *ret)
{
	*ret = (struct store_stat){.kind = node->is_dir ? STORE_DIR : STORE_FILE};
	if (node->is_dir)
		return;
	ret->file.length = node->n;
	snprintf(ret->file.version, sizeof(ret->file.version), "%llu", (unsigned long long)node->version);
}

static int ram_stat(struct ram *ram, const char *path, struct store_stat *ret)
{
	struct node *node = node_find(ram, str_of(path)), root = {.is_dir = true};

	if (!node && path[0])
		return -ENOENT;
	node_stat(node ? node : &root, ret);
	return 0;
}

static int ram_read(struct ram *ram, const char *path, struct store_req *req)
{
	struct store_stat stat;
	struct node *node;
	int r = ram_stat(ram, path, &stat);

	if (r < 0)
		return r;
	if (stat.kind == STORE_DIR)
		return -EISDIR;
	if (store_is_stale(req->file, stat.file.version))
		return -ESTALE;
	node = node_find(ram, str_of(path));
	for (unsigned i = 0; i < req->n_ranges; i++) {
		struct store_range *range = &req->ranges[i];

		store_range_clip(range, node->n);
		if (range->done)
			memcpy(range->buf, node->bytes + range->offset, (size_t)range->done);
	}
	return 0;
}

/* Children are those below without a further slash; what is deeper lies between them. */
static int ram_list(struct ram *ram, const char *path, struct store_req *req)
{
	struct str dir = str_of(path);
	size_t skip = dir.n ? dir.n + 1 : 0;
	int r = dir_find(ram, dir);

	for (size_t i = node_at(ram, dir); r == 0 && i < ram->nodes.n; i++) {
		const struct node *node = &ram->nodes.ptr[i];
		struct store_stat stat;

		if (!is_below(node->path, dir) || strchr(node->path + skip, '/'))
			continue;
		if (req->to && strcmp(node->path + skip, req->to) <= 0)
			continue;
		req->listing.more = req->listing.n == STORE_PAGE_ENTRIES;
		if (req->listing.more)
			break;
		node_stat(node, &stat);
		r = store_listing_add(&req->listing, node->path + skip, &stat);
	}
	return r;
}

static int ram_write(struct ram *ram, const char *path, const struct store_range *content, bool exclusive)
{
	struct node *old = node_find(ram, str_of(path)), node = {.n = (size_t)content->length};
	int r;

	if (!path[0] || (old && !exclusive && old->is_dir))
		return -EISDIR;
	if (old && exclusive)
		return -EEXIST;
	r = make_dirs(ram, path_parent(path));
	if (r < 0)
		return r;
	node.path = mem_strdup(path);
	node.bytes = mem_dup(content->buf, node.n);
	node.version = ++ram->version;
	r = node.path && node.bytes ? 0 : -ENOMEM;
	old = node_find(ram, str_of(path));
	if (r == 0 && old) {
		struct node swap = *old;

		*old = node;
		node = swap;
	} else if (r == 0) {
		r = node_insert(ram, &node);
	}
	node_release(&node);
	return r;
}

static bool has_children(const struct ram *ram, struct str dir)
{
	for (size_t i = node_at(ram, dir); i < ram->nodes.n; i++) {
		const char *path = ram->nodes.ptr[i].path;

		if (strncmp(path, dir.p, dir.n) != 0)
			return false;
		if (is_below(path, dir))
			return true;
	}
	return false;
}

static int ram_remove(struct ram *ram, const char *path)
{
	struct node *node = node_find(ram, str_of(path));

	if (!node)
		return path[0] ? -ENOENT : -EBUSY;
	if (node->is_dir && has_children(ram, str_of(path)))
		return -ENOTEMPTY;
	node_delete(ram, node);
	return 0;
}

static int node_compare(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->path, ((const struct node *)b)->path);
}

/* What the path of each node becomes; NULL: it stays. */
static int moved_paths(const struct ram *ram, struct str from, const char *to, char **ret_paths)
{
	for (size_t i = 0; i < ram->nodes.n; i++) {
		const char *path = ram->nodes.ptr[i].path;

		if (!str_eq(from, path) && !is_below(path, from))
			continue;
		ret_paths[i] = mem_printf("%s%s", to, path + from.n);
		if (!ret_paths[i])
			return -ENOMEM;
	}
	return 0;
}

/* All new paths are made before the first is used: short of memory, nothing has moved. replaced may be NULL. */
static int move_nodes(struct ram *ram, struct str from, const char *to, struct node *replaced)
{
	AUTO_FREE char **paths = mem_calloc(ram->nodes.n, sizeof(*paths));
	int r = paths ? moved_paths(ram, from, to, paths) : -ENOMEM;

	for (size_t i = 0; paths && i < ram->nodes.n; i++) {
		if (r == 0 && paths[i]) {
			char *old = ram->nodes.ptr[i].path;

			ram->nodes.ptr[i].path = paths[i];
			paths[i] = old;
		}
		mem_free(paths[i]);
	}
	if (r == 0 && replaced)
		node_delete(ram, replaced);
	if (r == 0)
		qsort(ram->nodes.ptr, ram->nodes.n, sizeof(ram->nodes.ptr[0]), node_compare);
	return r;
}

/* As rename(2) answers. */
static int check_rename(struct ram *ram, const char *from, const char *to)
{
	struct node *what = node_find(ram, str_of(from)), *there = node_find(ram, str_of(to));
	int r = dir_find(ram, path_parent(to));

	if (!from[0] || !to[0])
		return -EBUSY;
	if (!what)
		return -ENOENT;
	if (r < 0)
		return r;
	if (what->is_dir && is_below(to, str_of(from)))
		return -EINVAL;
	if (there && there->is_dir && !what->is_dir)
		return -EISDIR;
	if (there && !there->is_dir && what->is_dir)
		return -ENOTDIR;
	return there && there->is_dir && has_children(ram, str_of(to)) ? -ENOTEMPTY : 0;
}

static int ram_rename(struct ram *ram, const char *from, const char *to)
{
	int r = check_rename(ram, from, to);

	if (r < 0 || strcmp(from, to) == 0)
		return r;
	return move_nodes(ram, str_of(from), to, node_find(ram, str_of(to)));
}

/* The table. */

static bool can_rename(const struct ram *ram)
{
	return strcmp(ram->scheme, "ram") == 0;
}

static int ram_do(struct ram *ram, struct store_req *req)
{
	char path[STORE_NAME_MAX], to[STORE_NAME_MAX];

	path_clean(req->path, path);
	switch (req->op) {
	case STORE_READ:
		return ram_read(ram, path, req);
	case STORE_STAT:
		return ram_stat(ram, path, &req->stat);
	case STORE_LIST:
		return ram_list(ram, path, req);
	case STORE_MKDIR:
		return make_dirs(ram, str_of(path));
	case STORE_REMOVE:
		return ram_remove(ram, path);
	case STORE_RENAME:
		path_clean(req->to, to);
		return can_rename(ram) ? ram_rename(ram, path, to) : -EOPNOTSUPP;
	case STORE_WRITE:
	case STORE_CREATE_EXCLUSIVE:
		return ram_write(ram, path, req->ranges, req->op == STORE_CREATE_EXCLUSIVE);
	}
	return -EOPNOTSUPP;
}

static void ram_submit(struct store *store, struct store_req *req)
{
	struct ram *ram = container_of(store, struct ram_store, store)->ram;
	int r;

	pthread_mutex_lock(&ram->lock);
	r = ram_do(ram, req);
	pthread_mutex_unlock(&ram->lock);
	store_req_finish(req, r);
}

static void ram_free(struct store *store)
{
	struct ram_store *s = container_of(store, struct ram_store, store);

	if (s->ram)
		ram_put(s->ram);
	mem_free(s);
}

static const struct store_ops ram_ops = {
	.name = "ram",
	.submit = ram_submit,
	.free = ram_free,
};

static int open_named(const char *scheme, const char *rest, struct store **ret_store, char **ret_path)
{
	struct str path = str_of(rest), name;
	struct ram_store *s = mem_zalloc(sizeof(*s));
	AUTO_STORE struct store *owned = NULL;
	AUTO_FREE char *name_copy = NULL, *path_copy = NULL;

	if (!s)
		return -ENOMEM;
	store_init(&s->store, &ram_ops);
	owned = &s->store;
	name = str_split(&path, '/');
	name_copy = mem_strndup(name.p, name.n);
	path_copy = mem_strndup(path.p, path.n);
	s->store.base = mem_printf("%s:%.*s/", scheme, STR_ARG(name));
	s->ram = name_copy ? ram_get(scheme, name_copy) : NULL;
	if (!s->ram || !path_copy || !s->store.base)
		return -ENOMEM;
	*ret_store = TAKE(owned);
	*ret_path = TAKE(path_copy);
	return 0;
}

int ram_open(const char *rest, struct store **ret_store, char **ret_path, struct err *e)
{
	return open_named("ram", rest, ret_store, ret_path);
}

int ram_norename_open(const char *rest, struct store **ret_store, char **ret_path, struct err *e)
{
	return open_named("ram-norename", rest, ret_store, ret_path);
}
