/* SPDX-License-Identifier: Apache-2.0 */
#include "store/ram_tree.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "store/path.h"

#define MAX_NODES (1u << 20)

void ram_tree_init(struct ram_tree *tree)
{
	*tree = (struct ram_tree){.nodes.max = MAX_NODES};
}

void ram_tree_release(struct ram_tree *tree)
{
	for (size_t i = 0; i < tree->nodes.n; i++)
		ram_node_release(&tree->nodes.ptr[i]);
	vec_release(&tree->nodes);
}

void ram_xattr_free(struct ram_xattr *x)
{
	mem_free(x->name);
	mem_free(x->value);
	mem_free(x);
}

void ram_node_release(struct ram_node *node)
{
	while (node->xattrs) {
		struct ram_xattr *x = node->xattrs;

		node->xattrs = x->next;
		ram_xattr_free(x);
	}
	mem_free(node->path);
	mem_free(node->bytes);
}

size_t ram_tree_at(const struct ram_tree *tree, struct str path)
{
	size_t low = 0, high = tree->nodes.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (str_cmp(str_of(tree->nodes.ptr[middle].path), path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct ram_node *ram_tree_find(const struct ram_tree *tree, struct str path)
{
	size_t i = ram_tree_at(tree, path);

	return i < tree->nodes.n && str_equal(str_of(tree->nodes.ptr[i].path), path) ? &tree->nodes.ptr[i] : NULL;
}

int ram_tree_insert(struct ram_tree *tree, struct ram_node *node)
{
	size_t i = ram_tree_at(tree, str_of(node->path));
	int r = VEC_RESERVE(&tree->nodes, tree->nodes.n + 1);

	if (r < 0)
		return r;
	memmove(&tree->nodes.ptr[i + 1], &tree->nodes.ptr[i], (tree->nodes.n - i) * sizeof(*node));
	tree->nodes.ptr[i] = *node;
	tree->nodes.n++;
	*node = (struct ram_node){NULL};
	return 0;
}

void ram_tree_delete(struct ram_tree *tree, struct ram_node *node)
{
	size_t i = (size_t)(node - tree->nodes.ptr);

	ram_node_release(node);
	memmove(node, node + 1, (--tree->nodes.n - i) * sizeof(*node));
}

void ram_tree_delete_all(struct ram_tree *tree, struct str path)
{
	size_t n = 0;

	for (size_t i = 0; i < tree->nodes.n; i++) {
		struct ram_node *node = &tree->nodes.ptr[i];

		if (str_eq(path, node->path) || path_is_below(node->path, path))
			ram_node_release(node);
		else
			tree->nodes.ptr[n++] = *node;
	}
	tree->nodes.n = n;
}

int ram_tree_find_dir(const struct ram_tree *tree, struct str path)
{
	struct ram_node *node = ram_tree_find(tree, path);

	if (path.n == 0)
		return 0;
	if (!node)
		return -ENOENT;
	return node->is_dir ? 0 : -ENOTDIR;
}

static int make_dir(struct ram_tree *tree, struct str path)
{
	struct ram_node node = {.path = mem_strndup(path.p, path.n), .is_dir = true};
	int r = node.path ? ram_tree_insert(tree, &node) : -ENOMEM;

	ram_node_release(&node);
	return r;
}

int ram_tree_make_dirs(struct ram_tree *tree, struct str path)
{
	int r = 0;

	for (size_t n = 1; r == 0 && n <= path.n; n++) {
		struct str part = {path.p, n};

		if (n < path.n && path.p[n] != '/')
			continue;
		r = ram_tree_find_dir(tree, part);
		if (r == -ENOENT)
			r = make_dir(tree, part);
	}
	return r;
}

bool ram_tree_has_children(const struct ram_tree *tree, struct str dir)
{
	for (size_t i = ram_tree_at(tree, dir); i < tree->nodes.n; i++) {
		const char *path = tree->nodes.ptr[i].path;

		if (strncmp(path, dir.p, dir.n) != 0)
			return false;
		if (path_is_below(path, dir))
			return true;
	}
	return false;
}

static int node_compare(const void *a, const void *b)
{
	return strcmp(((const struct ram_node *)a)->path, ((const struct ram_node *)b)->path);
}

/* What the path of each node becomes; NULL: it stays. */
static int moved_paths(const struct ram_tree *tree, struct str from, const char *to, char **ret_paths)
{
	for (size_t i = 0; i < tree->nodes.n; i++) {
		const char *path = tree->nodes.ptr[i].path;

		if (!str_eq(from, path) && !path_is_below(path, from))
			continue;
		ret_paths[i] = mem_printf("%s%s", to, path + from.n);
		if (!ret_paths[i])
			return -ENOMEM;
	}
	return 0;
}

/* All new paths are made before the first is used. */
int ram_tree_move(struct ram_tree *tree, struct str from, const char *to, struct ram_node *replaced)
{
	AUTO_FREE char **paths = mem_calloc(tree->nodes.n, sizeof(*paths));
	int r = paths ? moved_paths(tree, from, to, paths) : -ENOMEM;

	for (size_t i = 0; paths && i < tree->nodes.n; i++) {
		if (r == 0 && paths[i]) {
			char *old = tree->nodes.ptr[i].path;

			tree->nodes.ptr[i].path = paths[i];
			paths[i] = old;
		}
		mem_free(paths[i]);
	}
	if (r == 0 && replaced)
		ram_tree_delete(tree, replaced);
	if (r == 0)
		qsort(tree->nodes.ptr, tree->nodes.n, sizeof(tree->nodes.ptr[0]), node_compare);
	return r;
}
