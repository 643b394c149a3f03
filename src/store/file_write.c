/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/scope.h"
#include "store/engine.h"
#include "store/file_read.h"
#include "store/path.h"
#include "store/publish.h"
#include "wire/hadoop/crc.h"

/* Between two looks at whether the request was cancelled. */
#define PIECE_BYTES (16u << 20)
/* Larger ones come from the kernel each time, page by page. */
#define SUM_BYTES (96u << 10)

struct file_writer {
	struct store_writer writer; /* first */
	struct publishing file; /* when append_fd is -1 */
	int append_fd;
	bool exclusive;
};

/* One after the other from the root on; what is there stays. The path is clean. */
int file_make_dirs(int root_fd, struct str path)
{
	char part[STORE_NAME_MAX] = ".";
	struct stat st;

	for (size_t n = 1; n <= path.n; n++) {
		if (n < path.n && path.p[n] != '/')
			continue;
		memcpy(part, path.p, n);
		part[n] = 0;
		if (mkdirat(root_fd, part, 0777) < 0 && errno != EEXIST)
			return -errno;
	}
	if (fstatat(root_fd, part, &st, 0) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int open_append(int root_fd, const char *path, int *ret_fd)
{
	AUTO_CLOSE int fd = openat(root_fd, path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r;

	if (fd < 0)
		return -errno;
	r = file_check_fd(fd, NULL);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int open_temporary(int root_fd, const char *path, unsigned mode, struct publishing *ret)
{
	int r = publish_begin(root_fd, path, mode, ret);

	if (r != -ENOENT)
		return r;
	r = file_make_dirs(root_fd, path_parent(path));
	return r < 0 ? r : publish_begin(root_fd, path, mode, ret);
}

int file_open_writer(int root_fd, const char *path, struct store_req *req)
{
	static const struct store_how defaults;
	const struct store_how *how = req->how ? req->how : &defaults;
	struct file_writer *w = mem_zalloc(sizeof(*w));
	struct stat st;
	int r;

	if (!w)
		return -ENOMEM;
	w->append_fd = -1;
	w->exclusive = how->exclusive;
	if (!path[0] || (fstatat(root_fd, path, &st, 0) == 0 && S_ISDIR(st.st_mode)))
		r = -EISDIR;
	else if (how->append)
		r = open_append(root_fd, path, &w->append_fd);
	else
		r = open_temporary(root_fd, path, how->mode, &w->file);
	if (r < 0) {
		mem_free(w);
		return r;
	}
	req->writer = &w->writer;
	return 0;
}

static struct file_writer *writer_of(const struct store_req *req)
{
	return container_of(req->writer, struct file_writer, writer);
}

static int writer_fd(const struct file_writer *w)
{
	return w->append_fd >= 0 ? w->append_fd : w->file.fd;
}

int file_append(struct store_req *req)
{
	const struct store_range *range = &req->ranges[0];
	struct file_writer *w = writer_of(req);
	const uint8_t *p = range->buf;
	uint64_t at = 0;
	int r = w->writer.r;

	while (r == 0 && at < range->length) {
		size_t n = (size_t)MIN(range->length - at, PIECE_BYTES);

		r = req->cancelled ? req->cancelled : fd_write_all(writer_fd(w), p + at, n);
		at += n;
	}
	if (r == 0)
		w->writer.n_bytes += range->length;
	return r;
}

int file_flush(struct store_req *req)
{
	struct file_writer *w = writer_of(req);

	if (w->writer.r)
		return w->writer.r;
	return req->disk && fdatasync(writer_fd(w)) < 0 ? -errno : 0;
}

static int end_append(struct file_writer *w, bool commit)
{
	int r = commit && fsync(w->append_fd) < 0 ? -errno : 0;

	/* NFS tells only now that it had no room. */
	if (close(w->append_fd) < 0 && errno != EINTR && r == 0 && commit)
		r = -errno;
	return r;
}

int file_end_writer(struct store_req *req)
{
	struct file_writer *w = writer_of(req);
	int failed = req->op == STORE_COMMIT ? (w->writer.r ? w->writer.r : req->cancelled) : 0, r = 0;
	bool commit = req->op == STORE_COMMIT && failed == 0;

	if (w->append_fd >= 0)
		r = end_append(w, commit);
	else if (commit)
		r = publish_end(&w->file, w->exclusive ? PUBLISH_EXCLUSIVE : PUBLISH_REPLACE);
	else
		publish_drop(&w->file);
	mem_free(w);
	return failed ? failed : r;
}

/* Contents. */

static int copy_piece(int from, int to, size_t n, size_t *ret_n)
{
	AUTO_FREE void *bytes = NULL;
	ssize_t got = copy_file_range(from, NULL, to, NULL, n, 0);

	if (got < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
		bytes = mem_alloc(SUM_BYTES);
		if (!bytes)
			return -ENOMEM;
		got = read(from, bytes, SUM_BYTES);
	}
	if (got < 0)
		return errno == EINTR ? 1 : -errno;
	*ret_n = (size_t)got;
	return bytes ? fd_write_all(to, bytes, (size_t)got) : 0;
}

/* From where it stands to its end. */
static int copy_rest(struct store_req *req, int from, int to)
{
	size_t n = 1;
	int r = 0;

	while (r >= 0 && n) {
		r = req->cancelled;
		if (r == 0)
			r = copy_piece(from, to, PIECE_BYTES, &n);
	}
	return r;
}

static int concat_copy(int root_fd, const char *path, struct store_req *req, struct publishing *file)
{
	AUTO_CLOSE int target = -1;
	struct stat st;
	int r = file_open_fd(root_fd, path, NULL, &target);

	if (r == 0 && (fstat(target, &st) < 0 || fchmod(file->fd, st.st_mode & 07777) < 0))
		r = -errno;
	if (r == 0)
		r = copy_rest(req, target, file->fd);
	for (unsigned i = 0; r == 0 && i < req->n_paths; i++) {
		AUTO_CLOSE int source = -1;
		char clean[STORE_NAME_MAX];

		path_clean(req->paths[i], clean);
		r = file_open_fd(root_fd, clean, NULL, &source);
		if (r == 0)
			r = copy_rest(req, source, file->fd);
	}
	return r;
}

/* By what they are: two names of one file are one. The target is the first. */
static int check_distinct(int root_fd, const char *path, const struct store_req *req)
{
	AUTO_FREE struct stat *all = mem_calloc(req->n_paths + 1u, sizeof(*all));
	char clean[STORE_NAME_MAX];

	if (!all)
		return -ENOMEM;
	for (unsigned i = 0; i <= req->n_paths; i++) {
		path_clean(i ? req->paths[i - 1] : path, clean);
		if (fstatat(root_fd, clean[0] ? clean : ".", &all[i], 0) < 0)
			return -errno;
		if (!S_ISREG(all[i].st_mode))
			return S_ISDIR(all[i].st_mode) ? -EISDIR : -EINVAL;
		for (unsigned k = 0; k < i; k++)
			if (all[k].st_ino == all[i].st_ino && all[k].st_dev == all[i].st_dev)
				return -EINVAL;
	}
	return 0;
}

int file_concat(int root_fd, const char *path, struct store_req *req)
{
	struct publishing file;
	int r = check_distinct(root_fd, path, req);

	if (r == 0)
		r = publish_begin(root_fd, path, 0, &file);
	if (r < 0)
		return r;
	r = concat_copy(root_fd, path, req, &file);
	if (r < 0) {
		publish_drop(&file);
		return r;
	}
	r = publish_end(&file, PUBLISH_REPLACE);
	for (unsigned i = 0; r == 0 && i < req->n_paths; i++) {
		char clean[STORE_NAME_MAX];

		path_clean(req->paths[i], clean);
		r = unlinkat(root_fd, clean, 0) < 0 ? -errno : 0;
	}
	return r;
}

static int sum_fd(struct store_req *req, int fd)
{
	AUTO_FREE void *bytes = mem_alloc(SUM_BYTES);
	struct store_checksum sum = {0};

	if (!bytes)
		return -ENOMEM;
	while (!req->cancelled) {
		ssize_t n = read(fd, bytes, SUM_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			req->checksum = sum;
			return 0;
		}
		sum.crc32c = crc_of(CRC_C, sum.crc32c, bytes, (size_t)n);
		sum.length += (uint64_t)n;
	}
	return req->cancelled;
}

int file_checksum(int root_fd, const char *path, struct store_req *req)
{
	AUTO_CLOSE int fd = -1;
	int r = file_open_fd(root_fd, path, NULL, &fd);

	return r < 0 ? r : sum_fd(req, fd);
}

int file_locate(int root_fd, const char *path, struct store_req *req)
{
	struct stat st;

	if (fstatat(root_fd, path, &st, 0) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	return store_place_here(req, (uint64_t)st.st_size);
}
