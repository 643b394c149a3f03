/* SPDX-License-Identifier: Apache-2.0 */
#include "store/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/scope.h"
#include "store/path.h"

static void publish_release(struct publishing *p)
{
	fd_closep(&p->fd);
	fd_closep(&p->dir_fd);
	mem_free(p->name);
	*p = (struct publishing){.dir_fd = -1, .fd = -1};
}

void publish_drop(struct publishing *p)
{
	unlinkat(p->dir_fd, p->temporary, 0);
	publish_release(p);
}

static int temporary_make(struct publishing *p, unsigned mode)
{
	int r = temporary_name(p->temporary);

	if (r < 0)
		return r;
	p->fd = openat(p->dir_fd, p->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (p->fd < 0)
		return -errno;
	if (mode && fchmod(p->fd, mode) < 0) {
		r = -errno;
		unlinkat(p->dir_fd, p->temporary, 0);
	}
	return r;
}

int publish_begin(int root_fd, const char *path, unsigned mode, struct publishing *ret)
{
	struct str parent = path_parent(path);
	AUTO_FREE char *dir = parent.n ? mem_strndup(parent.p, parent.n) : mem_strdup(".");
	const char *name = path + (parent.n ? parent.n + 1 : 0);
	struct publishing p = {.dir_fd = -1, .fd = -1, .name = mem_strdup(name)};
	int r = dir && p.name ? 0 : -ENOMEM;

	if (r == 0) {
		p.dir_fd = openat(root_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = p.dir_fd < 0 ? -errno : 0;
	}
	if (r == 0)
		r = name[0] ? temporary_make(&p, mode) : -EISDIR;
	if (r < 0)
		publish_release(&p);
	else
		*ret = p;
	return r;
}

/*
 * The answer of link() may be lost on its way (NFS), so it is not believed: two names on the temporary mean that one of
 * them is ours.
 */
static int name_by_link(int dir_fd, int fd, const char *temporary, const char *name)
{
	int r = linkat(dir_fd, temporary, dir_fd, name, 0) < 0 ? -errno : 0;
	struct stat st;

	if (r < 0 && fstat(fd, &st) == 0 && st.st_nlink == 2)
		r = 0;
	unlinkat(dir_fd, temporary, 0);
	return r;
}

/* Of the directory: link() and rename() are in it. */
static int name_temporary(int dir_fd, int fd, const char *temporary, const char *name, enum publish how)
{
	int r = 0;

	if (how == PUBLISH_REPLACE)
		r = renameat(dir_fd, temporary, dir_fd, name) < 0 ? -errno : 0;
	if (how == PUBLISH_EXCLUSIVE)
		r = renameat2(dir_fd, temporary, dir_fd, name, RENAME_NOREPLACE) < 0 ? -errno : 0;
	if (how == PUBLISH_EXCLUSIVE_LINK || r == -EINVAL || r == -ENOSYS)
		return name_by_link(dir_fd, fd, temporary, name);
	if (r < 0)
		unlinkat(dir_fd, temporary, 0);
	return r;
}

int publish_end(struct publishing *p, enum publish how)
{
	int r = fsync(p->fd) < 0 ? -errno : 0;

	if (r < 0) {
		publish_drop(p);
		return r;
	}
	r = name_temporary(p->dir_fd, p->fd, p->temporary, p->name, how);
	if (r == 0 && fsync(p->dir_fd) < 0 && errno != EINVAL)
		r = -errno;
	publish_release(p);
	return r;
}

int publish_file(int root_fd, const char *path, const void *p, size_t n, enum publish how)
{
	struct publishing file;
	int r = publish_begin(root_fd, path, 0, &file);

	if (r < 0)
		return r;
	r = fd_write_all(file.fd, p, n);
	if (r == 0)
		return publish_end(&file, how);
	publish_drop(&file);
	return r;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int publish_sweep(int root_fd, const char *path)
{
	AUTO_CLOSE int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	TAKE_FD(fd);
	while (r == 0 && (entry = readdir(dir)) != NULL)
		r = is_dot(entry->d_name) || temporary_is(entry->d_name) ? 0 : -ENOTEMPTY;
	rewinddir(dir);
	while (r == 0 && (entry = readdir(dir)) != NULL)
		if (!is_dot(entry->d_name) && unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT)
			r = -errno;
	closedir(dir);
	return r;
}
