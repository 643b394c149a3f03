/* SPDX-License-Identifier: Apache-2.0 */
#include "store/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/scope.h"
#include "store/path.h"

#define TEMPORARY_PREFIX ".olddog-tmp-"
#define TEMPORARY_MAX 64

bool publish_is_temporary(const char *name)
{
	return str_starts(str_of(name), TEMPORARY_PREFIX);
}

static int write_full(int fd, const void *p, size_t n)
{
	int r = fd_write_all(fd, p, n);

	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

/* A new file in the directory, with the bytes on the disk. */
static int temporary_make(int dir_fd, const void *p, size_t n, char name[TEMPORARY_MAX], int *ret_fd)
{
	AUTO_CLOSE int fd = -1;
	uint64_t random[2];
	int r;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(name, TEMPORARY_MAX, TEMPORARY_PREFIX "%016llx%016llx", (unsigned long long)random[0],
		(unsigned long long)random[1]);
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	r = write_full(fd, p, n);
	if (r < 0) {
		unlinkat(dir_fd, name, 0);
		return r;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
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

int publish_file(int root_fd, const char *path, const void *p, size_t n, enum publish how)
{
	struct str parent = path_parent(path);
	AUTO_FREE char *dir = parent.n ? mem_strndup(parent.p, parent.n) : mem_strdup(".");
	const char *name = path + (parent.n ? parent.n + 1 : 0);
	AUTO_CLOSE int dir_fd = dir ? openat(root_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, fd = -1;
	char temporary[TEMPORARY_MAX];
	int r;

	if (!dir)
		return -ENOMEM;
	if (dir_fd < 0)
		return -errno;
	if (!name[0])
		return -EISDIR;
	r = temporary_make(dir_fd, p, n, temporary, &fd);
	if (r == 0)
		r = name_temporary(dir_fd, fd, temporary, name, how);
	if (r == 0 && fsync(dir_fd) < 0 && errno != EINVAL)
		r = -errno;
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
		r = is_dot(entry->d_name) || publish_is_temporary(entry->d_name) ? 0 : -ENOTEMPTY;
	rewinddir(dir);
	while (r == 0 && (entry = readdir(dir)) != NULL)
		if (!is_dot(entry->d_name) && unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT)
			r = -errno;
	closedir(dir);
	return r;
}
