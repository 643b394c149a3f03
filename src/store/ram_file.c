/* SPDX-License-Identifier: Apache-2.0 */
/* ram: contents and names of files. */
#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "store/path.h"
#include "store/ram_int.h"
#include "wire/hadoop/crc.h"

static void node_stat(const struct ram_node *node, struct store_stat *ret)
{
	*ret = (struct store_stat){.kind = node->is_dir ? STORE_DIR : STORE_FILE, .mtime_ns = node->attr.mtime_ns,
		.atime_ns = node->attr.atime_ns, .owner = node->attr.owner, .group = node->attr.group, .mode = node->attr.mode};
	if (node->is_dir)
		return;
	ret->file.length = node->n;
	snprintf(ret->file.version, sizeof(ret->file.version), "%llu", (unsigned long long)node->version);
}

int ram_stat(struct ram *ram, const char *path, struct store_stat *ret)
{
	struct ram_node *node = ram_tree_find(&ram->tree, str_of(path)), root = {.is_dir = true};

	if (!node && path[0])
		return -ENOENT;
	node_stat(node ? node : &root, ret);
	return 0;
}

int ram_read(struct ram *ram, const char *path, struct store_req *req)
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
int ram_list(struct ram *ram, const char *path, struct store_req *req)
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

int ram_write(struct ram *ram, const char *path, const struct store_range *content, bool exclusive)
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

/* The file of this path; NULL and *ret_r: why there is none. */
static struct ram_node *file_find(struct ram *ram, const char *path, int *ret_r)
{
	struct ram_node *node = ram_tree_find(&ram->tree, str_of(path));

	*ret_r = !path[0] || (node && node->is_dir) ? -EISDIR : -ENOENT;
	return node && !node->is_dir ? node : NULL;
}

/* All sources are files, each once, and none is the target. */
static int check_sources(struct ram *ram, const char *path, const struct store_req *req, size_t *ret_n)
{
	char one[STORE_NAME_MAX], other[STORE_NAME_MAX];
	int r;

	for (unsigned i = 0; i < req->n_paths; i++) {
		struct ram_node *node;

		path_clean(req->paths[i], one);
		node = file_find(ram, one, &r);
		if (!node)
			return r;
		if (strcmp(one, path) == 0)
			return -EINVAL;
		for (unsigned k = 0; k < i; k++) {
			path_clean(req->paths[k], other);
			if (strcmp(one, other) == 0)
				return -EINVAL;
		}
		*ret_n += node->n;
	}
	return 0;
}

int ram_concat(struct ram *ram, const char *path, struct store_req *req)
{
	struct ram_node *target = file_find(ram, path, &(int){0});
	char one[STORE_NAME_MAX];
	size_t n = target ? target->n : 0;
	uint8_t *bytes;
	int r;

	if (!file_find(ram, path, &r))
		return r;
	r = check_sources(ram, path, req, &n);
	if (r < 0)
		return r;
	bytes = mem_realloc(target->bytes, MAX(n, 1), 1);
	if (!bytes)
		return -ENOMEM;
	target->bytes = bytes;
	n = target->n;
	for (unsigned i = 0; i < req->n_paths; i++) {
		struct ram_node *node;

		path_clean(req->paths[i], one);
		node = ram_tree_find(&ram->tree, str_of(one));
		memcpy(bytes + n, node->bytes, node->n);
		n += node->n;
		ram_tree_delete(&ram->tree, node);
	}
	target = ram_tree_find(&ram->tree, str_of(path));
	target->n = n;
	target->version = ++ram->version;
	return 0;
}

int ram_checksum(struct ram *ram, const char *path, struct store_checksum *ret)
{
	int r;
	struct ram_node *node = file_find(ram, path, &r);

	if (!node)
		return r;
	*ret = (struct store_checksum){.length = node->n, .crc32c = crc_of(CRC_C, 0, node->bytes, node->n)};
	return 0;
}

int ram_locate(struct ram *ram, const char *path, struct store_req *req)
{
	int r;
	struct ram_node *node = file_find(ram, path, &r);

	return node ? store_place_here(req, node->n) : r;
}
