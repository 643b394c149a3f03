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
#include "store/ram_int.h"

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
		ram_names_release(ram);
		pthread_mutex_destroy(&ram->lock);
		mem_free(ram->name);
		mem_free(ram);
	}
	pthread_mutex_unlock(&rams_lock);
}

/* Operations. */

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

static int ram_rename(struct ram *ram, const char *from, const char *to, bool as_new)
{
	int r = check_rename(ram, from, to);

	/* As renameat2(RENAME_NOREPLACE) has it: that something is there comes before what it is. */
	if (as_new && to[0] && r != -ENOENT && ram_tree_find(&ram->tree, str_of(to)))
		return -EEXIST;

	if (r < 0 || strcmp(from, to) == 0)
		return r;
	return ram_tree_move(&ram->tree, str_of(from), to, ram_tree_find(&ram->tree, str_of(to)));
}

static int ram_remove_tree(struct ram *ram, const char *path)
{
	if (!path[0])
		return -EBUSY;
	if (!ram_tree_find(&ram->tree, str_of(path)))
		return -ENOENT;
	ram_tree_delete_all(&ram->tree, str_of(path));
	return 0;
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
	case STORE_REMOVE_TREE:
		return ram_remove_tree(ram, path);
	case STORE_RENAME:
	case STORE_RENAME_NEW:
		path_clean(req->to, to);
		return can_rename(ram) ? ram_rename(ram, path, to, req->op == STORE_RENAME_NEW) : -EOPNOTSUPP;
	case STORE_WRITE:
	case STORE_CREATE_EXCLUSIVE:
		return ram_write(ram, path, req->ranges, req->op == STORE_CREATE_EXCLUSIVE);
	case STORE_TRASH:
		return err_set(req->err, -EOPNOTSUPP, "there is no trash in memory");
	case STORE_CONCAT:
		return ram_concat(ram, path, req);
	case STORE_CHECKSUM:
		return ram_checksum(ram, path, &req->checksum);
	case STORE_LOCATE:
		return ram_locate(ram, path, req);
	case STORE_OPEN_WRITER:
		return ram_open_writer(ram, path, req);
	case STORE_APPEND:
		return ram_append(ram, req);
	case STORE_FLUSH:
		return req->writer->r;
	case STORE_COMMIT:
	case STORE_ABORT:
		return ram_end_writer(ram, req);
	case STORE_SET:
		return ram_set(ram, path, req->set);
	case STORE_SPACE:
		return ram_space(ram, path, &req->space);
	case STORE_SUMMARY:
		return ram_summary(ram, path, &req->summary);
	case STORE_XATTR_GET:
	case STORE_XATTR_SET:
	case STORE_XATTR_REMOVE:
	case STORE_XATTR_LIST:
		return ram_xattr(ram, path, req);
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
