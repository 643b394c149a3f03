/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scope.h"
#include "base/vec.h"

#define MAX_DEPTH (1u << 20)
#define MAX_PENDING_BYTES (1u << 30)
#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void dir_closep(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Removing: down into the first directory that is not empty, up again when it is; what was passed is gone by then. */

struct place {
	dev_t dev;
	ino_t ino;
};

struct descent {
	struct store_req *req;
	int fd; /* of where we are */
	VEC(struct place) above;
};

static int place_of(int fd, struct place *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct place){st.st_dev, st.st_ino};
	return 0;
}

static int go_down(struct descent *d, const char *name)
{
	AUTO_CLOSE int fd = openat(d->fd, name, OPEN_DIR);
	struct place here;
	int r = fd < 0 ? -errno : place_of(d->fd, &here);

	if (r == 0)
		r = VEC_PUSH(&d->above, here);
	if (r < 0)
		return r;
	close(d->fd);
	d->fd = TAKE_FD(fd);
	return 0;
}

/* Somebody may have moved the directory that we are in: its parent must be where we came from. */
static int go_up(struct descent *d)
{
	AUTO_CLOSE int fd = openat(d->fd, "..", OPEN_DIR);
	struct place expected = d->above.ptr[--d->above.n], found = {0};
	int r = fd < 0 ? -errno : place_of(fd, &found);

	if (r < 0)
		return r;
	if (found.dev != expected.dev || found.ino != expected.ino)
		return -ESTALE;
	close(d->fd);
	d->fd = TAKE_FD(fd);
	return 0;
}

/* 0: it is gone; 1: it is a directory that is not empty. */
static int remove_dir_entry(int fd, const char *name)
{
	if (unlinkat(fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == ENOTEMPTY || errno == EEXIST ? 1 : -errno;
}

static int remove_entry(int fd, const struct dirent *entry)
{
	if (entry->d_type == DT_DIR)
		return remove_dir_entry(fd, entry->d_name);
	if (unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT)
		return 0;
	/* Linux and POSIX have two ways to say that it is a directory. */
	if (entry->d_type == DT_UNKNOWN && (errno == EISDIR || errno == EPERM))
		return remove_dir_entry(fd, entry->d_name);
	return -errno;
}

static DIR *dir_open(int fd)
{
	AUTO_CLOSE int again = openat(fd, ".", OPEN_DIR);
	DIR *dir = again < 0 ? NULL : fdopendir(again);

	if (dir)
		TAKE_FD(again);
	return dir;
}

/* 0: where we are is empty; 1: we are one deeper. */
static int remove_here(struct descent *d)
{
	DIR *dir CLEANUP(dir_closep) = dir_open(d->fd);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
		if (is_dot(entry->d_name))
			continue;
		r = d->req->cancelled ? d->req->cancelled : remove_entry(d->fd, entry);
		if (r == 1) {
			r = go_down(d, entry->d_name);
			return r < 0 ? r : 1;
		}
	}
	return r < 0 ? r : -errno;
}

static int remove_below(int root_fd, const char *path, struct store_req *req)
{
	struct descent d = {.req = req, .fd = openat(root_fd, path, OPEN_DIR), .above = VEC_MAX(MAX_DEPTH)};
	int r = d.fd < 0 ? -errno : 1;

	while (r == 1) {
		r = remove_here(&d);
		if (r == 0 && d.above.n) {
			r = go_up(&d);
			r = r < 0 ? r : 1;
		}
	}
	vec_release(&d.above);
	fd_closep(&d.fd);
	return r;
}

int file_remove_tree(int root_fd, const char *path, struct store_req *req)
{
	struct stat st;
	int r;

	if (!path[0])
		return -EBUSY;
	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(root_fd, path, 0) < 0 ? -errno : 0;
	r = remove_below(root_fd, path, req);
	if (r < 0)
		return r;
	return unlinkat(root_fd, path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Counting: directories that are still to be read, by their paths. */

struct count {
	struct store_req *req;
	int root_fd;
	VEC(char *) pending;
	size_t n_bytes; /* of them */
};

static int pending_add(struct count *c, const char *dir, const char *name)
{
	char *path = mem_printf("%s/%s", dir, name);
	int r;

	if (!path)
		return -ENOMEM;
	c->n_bytes += strlen(path);
	r = c->n_bytes > MAX_PENDING_BYTES ? -E2BIG : VEC_PUSH(&c->pending, path);
	if (r < 0)
		mem_free(path);
	return r;
}

static void count_stat(struct store_summary *s, const struct stat *st)
{
	s->n_files += !S_ISDIR(st->st_mode);
	s->n_dirs += S_ISDIR(st->st_mode);
	s->n_bytes += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	s->space_bytes += (uint64_t)st->st_blocks * 512;
}

static int count_entry(struct count *c, const char *path, int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	count_stat(&c->req->summary, &st);
	return S_ISDIR(st.st_mode) ? pending_add(c, path, name) : 0;
}

static int count_dir(struct count *c, const char *path)
{
	AUTO_CLOSE int fd = openat(c->root_fd, path, OPEN_DIR);
	DIR *dir CLEANUP(dir_closep) = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	TAKE_FD(fd);
	while (r == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
		if (is_dot(entry->d_name))
			continue;
		r = c->req->cancelled ? c->req->cancelled : count_entry(c, path, dirfd(dir), entry->d_name);
	}
	return r < 0 ? r : -errno;
}

int file_summary(int root_fd, const char *path, struct store_req *req)
{
	struct count c = {.req = req, .root_fd = root_fd, .pending = VEC_MAX(MAX_DEPTH)};
	struct stat st;
	int r;

	req->summary = (struct store_summary){.quota_names = STORE_NO_QUOTA, .quota_bytes = STORE_NO_QUOTA};
	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	count_stat(&req->summary, &st);
	r = S_ISDIR(st.st_mode) ? count_dir(&c, path) : 0;
	while (c.pending.n) {
		AUTO_FREE char *next = c.pending.ptr[--c.pending.n];

		c.n_bytes -= strlen(next);
		r = r < 0 ? r : count_dir(&c, next);
	}
	vec_release(&c.pending);
	return r;
}
