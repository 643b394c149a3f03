/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file_attr.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "base/clock.h"
#include "base/scope.h"
#include "store/owners.h"

#define MAX_XATTR_BYTES 65536

static int set_owner(int root_fd, const char *path, struct store_req *req)
{
	const struct store_set *set = req->set;
	uint32_t uid = UINT32_MAX, gid = UINT32_MAX; /* as it is */
	int r;

	r = set->owner ? owner_id(set->owner, false, &uid) : 0;
	if (r < 0)
		return r == -ENOENT ? err_set(req->err, -EINVAL, "this host knows no user %s", set->owner) : r;
	r = set->group ? owner_id(set->group, true, &gid) : 0;
	if (r < 0)
		return r == -ENOENT ? err_set(req->err, -EINVAL, "this host knows no group %s", set->group) : r;
	return fchownat(root_fd, path, uid, gid, 0) < 0 ? -errno : 0;
}

static struct timespec time_of(uint64_t ns)
{
	if (!ns)
		return (struct timespec){.tv_nsec = UTIME_OMIT};
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

/* Times last: what goes before changes them. */
int file_set(int root_fd, const char *path, struct store_req *req)
{
	const struct store_set *set = req->set;
	struct timespec times[2] = {time_of(set->atime_ns), time_of(set->mtime_ns)};
	int r = 0;

	if (set->replication)
		return err_set(req->err, -EOPNOTSUPP, "files of this host have no replicas");
	if (set->owner || set->group)
		r = set_owner(root_fd, path, req);
	if (r == 0 && set->mode >= 0 && fchmodat(root_fd, path, (mode_t)set->mode, 0) < 0)
		r = -errno;
	if (r == 0 && (set->atime_ns || set->mtime_ns) && utimensat(root_fd, path, times, 0) < 0)
		r = -errno;
	return r;
}

int file_space(int root_fd, const char *path, struct store_space *ret)
{
	AUTO_CLOSE int fd = openat(root_fd, path, O_PATH | O_CLOEXEC);
	struct statvfs st;

	if (fd < 0 || fstatvfs(fd, &st) < 0)
		return -errno;
	*ret = (struct store_space){.total_bytes = st.f_blocks * st.f_frsize, .free_bytes = st.f_bavail * st.f_frsize,
		.used_bytes = (st.f_blocks - st.f_bfree) * st.f_frsize};
	return 0;
}

/* The value, or all names. */
static int xattr_read(int fd, struct store_xattr *x, bool names)
{
	AUTO_FREE char *value = mem_alloc(MAX_XATTR_BYTES);
	ssize_t n;

	if (!value)
		return -ENOMEM;
	n = names ? flistxattr(fd, value, MAX_XATTR_BYTES) : fgetxattr(fd, x->name, value, MAX_XATTR_BYTES);
	if (n < 0)
		return -errno;
	x->value = TAKE(value);
	x->n = (size_t)n;
	return 0;
}

int file_xattr(int root_fd, const char *path, struct store_req *req)
{
	AUTO_CLOSE int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct store_xattr *x = &req->xattr;
	int flags = x->create ? XATTR_CREATE : x->replace ? XATTR_REPLACE : 0;

	if (fd < 0)
		return -errno;
	if (req->op == STORE_XATTR_SET)
		return fsetxattr(fd, x->name, x->value, x->n, flags) < 0 ? -errno : 0;
	if (req->op == STORE_XATTR_REMOVE)
		return fremovexattr(fd, x->name) < 0 ? -errno : 0;
	return xattr_read(fd, x, req->op == STORE_XATTR_LIST);
}
