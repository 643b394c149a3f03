/* SPDX-License-Identifier: Apache-2.0 */
/* The files and directories of a ram: store, sorted by their clean paths, so that what is below a directory lies together. */
#ifndef OLDDOG_STORE_RAM_TREE_H
#define OLDDOG_STORE_RAM_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

struct ram_xattr {
	struct ram_xattr *next;
	char *name;
	void *value;
	size_t n;
};

struct ram_attr {
	uint64_t mtime_ns, atime_ns;
	const char *owner, *group;	/* the store's */
	uint16_t mode;
};

struct ram_node {
	char *path;
	uint8_t *bytes;		/* of a file */
	size_t n;
	uint64_t version;
	bool is_dir;
	struct ram_attr attr;	/* what somebody has set */
	struct ram_xattr *xattrs;
};

struct ram_tree {
	VEC(struct ram_node) nodes;	/* pointers to nodes hold until the next insertion, deletion or move */
};

void ram_tree_init(struct ram_tree *tree);
void ram_tree_release(struct ram_tree *tree);
void ram_node_release(struct ram_node *node);
void ram_xattr_free(struct ram_xattr *x);

/* The first node whose path is not before this one; nodes.n: none. */
size_t ram_tree_at(const struct ram_tree *tree, struct str path);
struct ram_node *ram_tree_find(const struct ram_tree *tree, struct str path);
/* 0 for a directory, and for the root, which has no node; -ENOENT, -ENOTDIR. */
int ram_tree_find_dir(const struct ram_tree *tree, struct str path);
bool ram_tree_has_children(const struct ram_tree *tree, struct str dir);
/* Takes node's memory on success. The path is not there yet. */
int ram_tree_insert(struct ram_tree *tree, struct ram_node *node);
void ram_tree_delete(struct ram_tree *tree, struct ram_node *node);
/* The node and all below it. */
void ram_tree_delete_all(struct ram_tree *tree, struct str path);
/* With parents. */
int ram_tree_make_dirs(struct ram_tree *tree, struct str path);
/* Moves a node and all below it; replaced (or NULL) goes. Short of memory, nothing has moved. */
int ram_tree_move(struct ram_tree *tree, struct str from, const char *to, struct ram_node *replaced);

#endif
