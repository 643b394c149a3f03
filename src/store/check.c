/* SPDX-License-Identifier: Apache-2.0 */
/* What a request must satisfy before an engine sees it. */
#include <errno.h>
#include <string.h>

#include "store/engine.h"
#include "store/path.h"

/* As the kernel has them. */
#define XATTR_NAME_BYTES 255
#define XATTR_VALUE_BYTES 65536
#define MAX_CONCAT 65536
/* More would be days of copies of one block. */
#define MAX_REPLICATION 512

static int check_ranges(const struct store_req *req)
{
	if (req->n_ranges == 0 || req->n_ranges > STORE_MAX_RANGES)
		return -EINVAL;
	for (unsigned i = 0; i < req->n_ranges; i++) {
		const struct store_range *range = &req->ranges[i];

		if (range->offset > INT64_MAX || range->length > INT64_MAX - range->offset)
			return -EINVAL;
	}
	return 0;
}

static int check_one_range(const struct store_req *req)
{
	return req->n_ranges == 1 ? check_ranges(req) : -EINVAL;
}

static int check_content(const struct store_req *req)
{
	return req->n_ranges == 1 && req->ranges[0].offset == 0 ? check_ranges(req) : -EINVAL;
}

static int check_concat(const struct store_req *req)
{
	if (req->n_paths == 0 || req->n_paths > MAX_CONCAT)
		return -EINVAL;
	for (unsigned i = 0; i < req->n_paths; i++)
		if (!path_is_safe(req->paths[i]))
			return -EINVAL;
	return 0;
}

static int check_set(const struct store_set *set)
{
	if (!set || set->mode < -1 || set->mode > 07777 || set->replication > MAX_REPLICATION)
		return -EINVAL;
	return 0;
}

static int check_how(const struct store_how *how)
{
	if (!how)
		return 0;
	if (how->mode > 07777 || how->replication > MAX_REPLICATION || (how->append && how->exclusive))
		return -EINVAL;
	return 0;
}

static int check_xattr(const struct store_req *req)
{
	const struct store_xattr *x = &req->xattr;
	size_t n;

	if (req->op == STORE_XATTR_LIST)
		return 0;
	n = x->name ? strnlen(x->name, XATTR_NAME_BYTES + 1) : 0;
	if (n == 0 || n > XATTR_NAME_BYTES)
		return -EINVAL;
	if (req->op == STORE_XATTR_SET && (x->n > XATTR_VALUE_BYTES || (x->create && x->replace)))
		return -EINVAL;
	return 0;
}

int store_check(const struct store_req *req)
{
	if (!req->path || !path_is_safe(req->path))
		return -EINVAL;
	switch (req->op) {
	case STORE_READ:
		return check_ranges(req);
	case STORE_WRITE:
	case STORE_CREATE_EXCLUSIVE:
		return check_content(req);
	case STORE_RENAME:
	case STORE_RENAME_NEW:
		return req->to && path_is_safe(req->to) ? 0 : -EINVAL;
	case STORE_LIST:
		return !req->to || strlen(req->to) < STORE_NAME_MAX ? 0 : -EINVAL;
	case STORE_CONCAT:
		return check_concat(req);
	case STORE_SET:
		return check_set(req->set);
	case STORE_LOCATE:
		return check_one_range(req);
	case STORE_OPEN_WRITER:
		return check_how(req->how);
	case STORE_APPEND:
		return req->writer ? check_one_range(req) : -EINVAL;
	case STORE_FLUSH:
	case STORE_COMMIT:
	case STORE_ABORT:
		return req->writer ? 0 : -EINVAL;
	case STORE_XATTR_GET:
	case STORE_XATTR_SET:
	case STORE_XATTR_REMOVE:
	case STORE_XATTR_LIST:
		return check_xattr(req);
	case STORE_STAT:
	case STORE_MKDIR:
	case STORE_REMOVE:
	case STORE_REMOVE_TREE:
	case STORE_TRASH:
	case STORE_CHECKSUM:
	case STORE_SPACE:
	case STORE_SUMMARY:
		return 0;
	}
	return -EINVAL;
}
