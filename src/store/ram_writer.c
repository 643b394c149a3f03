/* SPDX-License-Identifier: Apache-2.0 */
/* ram: files that are written piece by piece. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "store/path.h"
#include "store/ram_int.h"

#define MAX_BYTES (1ull << 40)

struct ram_writer {
	struct store_writer writer; /* first */
	char *path;
	bool exclusive, append;
	uint16_t mode;
	struct buf bytes; /* unless it appends */
};

static void ram_writer_free(struct ram_writer *w)
{
	mem_free(w->path);
	buf_release(&w->bytes);
	mem_free(w);
}

int ram_open_writer(struct ram *ram, const char *path, struct store_req *req)
{
	const struct store_how *how = req->how;
	struct ram_node *node = ram_tree_find(&ram->tree, str_of(path));
	struct ram_writer *w;
	int r = 0;

	if (!path[0] || (node && node->is_dir))
		return -EISDIR;
	if (how && how->append && !node)
		return -ENOENT;
	if (!(how && how->append))
		r = ram_tree_make_dirs(&ram->tree, path_parent(path));
	if (r < 0)
		return r;
	w = mem_zalloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	buf_init(&w->bytes, MAX_BYTES);
	w->path = mem_strdup(path);
	if (!w->path) {
		ram_writer_free(w);
		return -ENOMEM;
	}
	if (how) {
		w->exclusive = how->exclusive;
		w->append = how->append;
		w->mode = how->mode;
	}
	req->writer = &w->writer;
	return 0;
}

/* At once in the file, which may be gone by now. */
static int append_there(struct ram *ram, struct ram_writer *w, const struct store_range *range)
{
	struct ram_node *node = ram_tree_find(&ram->tree, str_of(w->path));
	uint8_t *bytes;

	if (!node || node->is_dir)
		return -ESTALE;
	bytes = mem_realloc(node->bytes, node->n + range->length + 1, 1);
	if (!bytes)
		return -ENOMEM;
	if (range->length)
		memcpy(bytes + node->n, range->buf, (size_t)range->length);
	node->bytes = bytes;
	node->n += (size_t)range->length;
	node->version = ++ram->version;
	return 0;
}

int ram_append(struct ram *ram, struct store_req *req)
{
	struct ram_writer *w = container_of(req->writer, struct ram_writer, writer);
	const struct store_range *range = &req->ranges[0];
	int r = w->writer.r;

	if (r == 0)
		r = w->append ? append_there(ram, w, range) : buf_add(&w->bytes, range->buf, (size_t)range->length);
	if (r == 0)
		w->writer.n_bytes += range->length;
	else
		w->writer.r = r;
	return r;
}

static int ram_publish(struct ram *ram, struct ram_writer *w)
{
	struct store_range content = {.buf = w->bytes.ptr, .length = w->bytes.n};
	int r = ram_write(ram, w->path, &content, w->exclusive);

	if (r == 0 && w->mode)
		ram_tree_find(&ram->tree, str_of(w->path))->attr.mode = w->mode;
	return r;
}

int ram_end_writer(struct ram *ram, struct store_req *req)
{
	struct ram_writer *w = container_of(req->writer, struct ram_writer, writer);
	int r = 0;

	if (req->op == STORE_COMMIT)
		r = w->writer.r ? w->writer.r : req->cancelled;
	if (r == 0 && req->op == STORE_COMMIT && !w->append)
		r = ram_publish(ram, w);
	ram_writer_free(w);
	return r;
}
