/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram: files in memory, for tests: by name, shared by all stores of that name in this process, from any of its threads.
 * What each operation means is what file: means by it. ram-norename: is the same without renaming, as object stores are.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/scope.h"
#include "store/engine.h"
#include "store/path.h"
#include "store/ram_tree.h"

struct ram {
	struct ram *next;
	const char *scheme;
	char *name;
	unsigned refs;
	pthread_mutex_t lock; /* of what follows */
	struct ram_tree tree;
	uint64_t version; /* the last one given */
};

struct ram_store {
	struct store store;
	struct ram *ram;
};

static pthread_mutex_t rams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ram *rams;

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
	ram_tree_init(&ram->tree);
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
		ram_tree_release(&ram->tree);
		pthread_mutex_destroy(&ram->lock);
		mem_free(ram->name);
		mem_free(ram);
	}
	pthread_mutex_unlock(&rams_lock);
}

/* Operations. */

static void node_stat(const struct ram_node *node, struct store_stat *ret)
{
	*ret = (struct store_stat){.kind = node->is_dir ? STORE_DIR : STORE_FILE};
	if (node->is_dir)
		return;
	ret->file.length = node->n;
	snprintf(ret->file.version, sizeof(ret->file.version), "%llu", (unsigned long long)node->version);
}

static int ram_stat(struct ram *ram, const char *path, struct store_stat *ret)
{
	struct ram_node *node = ram_tree_find(&ram->tree, str_of(path)), root = {.is_dir = true};

	if (!node && path[0])
		return -ENOENT;
	node_stat(node ? node : &root, ret);
	return 0;
}

static int ram_read(struct ram *ram, const char *path, struct store_req *req)
{
	struct store_stat stat;
	struct ram_node *node;
	int r = ram_stat(ram, path, &stat);

	if (r < 0)
		return r;
	if (stat.kind == STORE_DIR)
		return -EISDIR;
	if (store_is_stale(req->file, stat.file.version))
		return -ESTALE;
	node = ram_tree_find(&ram->tree, str_of(path));
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
	int r = ram_tree_find_dir(&ram->tree, dir);

	for (size_t i = ram_tree_at(&ram->tree, dir); r == 0 && i < ram->tree.nodes.n; i++) {
		const struct ram_node *node = &ram->tree.nodes.ptr[i];
		struct store_stat stat;

		if (!path_is_below(node->path, dir) || strchr(node->path + skip, '/'))
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
	struct ram_node *old = ram_tree_find(&ram->tree, str_of(path)), node = {.n = (size_t)content->length};
	int r;

	if (!path[0] || (old && !exclusive && old->is_dir))
		return -EISDIR;
	if (old && exclusive)
		return -EEXIST;
	r = ram_tree_make_dirs(&ram->tree, path_parent(path));
	if (r < 0)
		return r;
	node.path = mem_strdup(path);
	node.bytes = mem_dup(content->buf, node.n);
	node.version = ++ram->version;
	r = node.path && node.bytes ? 0 : -ENOMEM;
	old = ram_tree_find(&ram->tree, str_of(path));
	if (r == 0 && old) {
		struct ram_node swap = *old;

		*old = node;
		node = swap;
	} else if (r == 0) {
		r = ram_tree_insert(&ram->tree, &node);
	}
	ram_node_release(&node);
	return r;
}

static int ram_remove(struct ram *ram, const char *path)
{
	struct ram_node *node = ram_tree_find(&ram->tree, str_of(path));

	if (!node)
		return path[0] ? -ENOENT : -EBUSY;
	if (node->is_dir && ram_tree_has_children(&ram->tree, str_of(path)))
		return -ENOTEMPTY;
	ram_tree_delete(&ram->tree, node);
	return 0;
}

/* As rename(2) answers. */
static int check_rename(struct ram *ram, const char *from, const char *to)
{
	struct ram_node *what = ram_tree_find(&ram->tree, str_of(from)), *there = ram_tree_find(&ram->tree, str_of(to));
	int r = ram_tree_find_dir(&ram->tree, path_parent(to));

	if (!from[0] || !to[0])
		return -EBUSY;
	if (!what)
		return -ENOENT;
	if (r < 0)
		return r;
	if (what->is_dir && path_is_below(to, str_of(from)))
		return -EINVAL;
	if (there && there->is_dir && !what->is_dir)
		return -EISDIR;
	if (there && !there->is_dir && what->is_dir)
		return -ENOTDIR;
	return there && there->is_dir && ram_tree_has_children(&ram->tree, str_of(to)) ? -ENOTEMPTY : 0;
}

static int ram_rename(struct ram *ram, const char *from, const char *to)
{
	int r = check_rename(ram, from, to);

	if (r < 0 || strcmp(from, to) == 0)
		return r;
	return ram_tree_move(&ram->tree, str_of(from), to, ram_tree_find(&ram->tree, str_of(to)));
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
		return ram_tree_make_dirs(&ram->tree, str_of(path));
	case STORE_REMOVE:
		return ram_remove(ram, path);
	case STORE_RENAME:
		path_clean(req->to, to);
		return can_rename(ram) ? ram_rename(ram, path, to) : -EOPNOTSUPP;
	case STORE_WRITE:
	case STORE_CREATE_EXCLUSIVE:
		return ram_write(ram, path, req->ranges, req->op == STORE_CREATE_EXCLUSIVE);
	default:
		return -EOPNOTSUPP;
	}
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
