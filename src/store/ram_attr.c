/* SPDX-License-Identifier: Apache-2.0 */
/* ram: what files have beside their bytes. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "net/capacity.h"
#include "store/path.h"
#include "store/ram_int.h"

#define MAX_NAMES 4096
#define MAX_XATTR_TEXT 65536

void ram_names_release(struct ram *ram)
{
	for (size_t i = 0; i < ram->names.n; i++)
		mem_free(ram->names.ptr[i]);
	vec_release(&ram->names);
}

/* One copy of each name, as long as the store. */
static int name_keep(struct ram *ram, const char *name, const char **ret)
{
	char *copy;
	int r;

	for (size_t i = 0; i < ram->names.n; i++)
		if (strcmp(ram->names.ptr[i], name) == 0) {
			*ret = ram->names.ptr[i];
			return 0;
		}
	copy = mem_strdup(name);
	if (!copy)
		return -ENOMEM;
	ram->names.max = MAX_NAMES;
	r = VEC_PUSH(&ram->names, copy);
	if (r < 0)
		mem_free(copy);
	else
		*ret = copy;
	return r;
}

/* The root has none. */
static int node_find(struct ram *ram, const char *path, struct ram_node **ret)
{
	*ret = ram_tree_find(&ram->tree, str_of(path));
	if (*ret)
		return 0;
	return path[0] ? -ENOENT : -EBUSY;
}

int ram_set(struct ram *ram, const char *path, const struct store_set *set)
{
	struct ram_node *node;
	struct ram_attr attr;
	int r = node_find(ram, path, &node);

	if (r < 0)
		return r;
	if (set->replication)
		return -EOPNOTSUPP;
	attr = node->attr;
	if (set->owner)
		r = name_keep(ram, set->owner, &attr.owner);
	if (r == 0 && set->group)
		r = name_keep(ram, set->group, &attr.group);
	if (r < 0)
		return r;
	if (set->mtime_ns)
		attr.mtime_ns = set->mtime_ns;
	if (set->atime_ns)
		attr.atime_ns = set->atime_ns;
	if (set->mode >= 0)
		attr.mode = (uint16_t)set->mode;
	node->attr = attr;
	return 0;
}

int ram_space(struct ram *ram, const char *path, struct store_space *ret)
{
	struct store_space s = {.total_bytes = memory_available()};

	for (size_t i = 0; i < ram->tree.nodes.n; i++)
		s.used_bytes += ram->tree.nodes.ptr[i].n;
	s.free_bytes = s.total_bytes - MIN(s.used_bytes, s.total_bytes);
	*ret = s;
	return 0;
}

int ram_summary(struct ram *ram, const char *path, struct store_summary *ret)
{
	struct store_summary s = {.quota_names = STORE_NO_QUOTA, .quota_bytes = STORE_NO_QUOTA, .n_dirs = !path[0]};

	if (path[0] && !ram_tree_find(&ram->tree, str_of(path)))
		return -ENOENT;
	for (size_t i = 0; i < ram->tree.nodes.n; i++) {
		const struct ram_node *node = &ram->tree.nodes.ptr[i];

		if (strcmp(node->path, path) != 0 && !path_is_below(node->path, str_of(path)))
			continue;
		s.n_bytes += node->n;
		s.n_files += !node->is_dir;
		s.n_dirs += node->is_dir;
	}
	s.space_bytes = s.n_bytes;
	*ret = s;
	return 0;
}

/* Where the attribute of this name is, or would be. */
static struct ram_xattr **xattr_at(struct ram_node *node, const char *name)
{
	struct ram_xattr **at = &node->xattrs;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

static int xattr_set(struct ram_node *node, const struct store_xattr *x)
{
	struct ram_xattr **at = xattr_at(node, x->name), *fresh;

	if (*at ? x->create : x->replace)
		return *at ? -EEXIST : -ENODATA;
	fresh = mem_zalloc(sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	fresh->name = mem_strdup(x->name);
	fresh->value = mem_dup(x->value, x->n);
	if (!fresh->name || !fresh->value) {
		ram_xattr_free(fresh);
		return -ENOMEM;
	}
	fresh->n = x->n;
	if (*at) {
		struct ram_xattr *old = *at;

		fresh->next = old->next;
		ram_xattr_free(old);
	}
	*at = fresh;
	return 0;
}

static int xattr_remove(struct ram_node *node, const char *name)
{
	struct ram_xattr **at = xattr_at(node, name), *old = *at;

	if (!old)
		return -ENODATA;
	*at = old->next;
	ram_xattr_free(old);
	return 0;
}

static int xattr_get(struct ram_node *node, struct store_xattr *x)
{
	struct ram_xattr *found = *xattr_at(node, x->name);

	if (!found)
		return -ENODATA;
	x->value = mem_dup(found->value, found->n);
	x->n = found->n;
	return x->value ? 0 : -ENOMEM;
}

static int xattr_list(struct ram_node *node, struct store_xattr *x)
{
	AUTO_BUF struct buf names;

	buf_init(&names, MAX_XATTR_TEXT);
	for (const struct ram_xattr *a = node->xattrs; a; a = a->next)
		buf_add(&names, a->name, strlen(a->name) + 1);
	if (names.r < 0)
		return names.r;
	x->value = buf_take(&names, &x->n);
	return 0;
}

int ram_xattr(struct ram *ram, const char *path, struct store_req *req)
{
	struct ram_node *node;
	int r = node_find(ram, path, &node);

	if (r < 0)
		return r;
	switch (req->op) {
	case STORE_XATTR_GET:
		return xattr_get(node, &req->xattr);
	case STORE_XATTR_SET:
		return xattr_set(node, &req->xattr);
	case STORE_XATTR_REMOVE:
		return xattr_remove(node, req->xattr.name);
	default:
		return xattr_list(node, &req->xattr);
	}
}
