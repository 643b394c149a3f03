/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/scope.h"
#include "store/engine.h"

#define MAX_IOV 256
/* Between two looks at whether the request was cancelled. */
#define MAX_READ_BYTES (16u << 20)

static uint64_t ns_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void stat_of(const struct stat *st, struct store_stat *ret)
{
	*ret = (struct store_stat){.kind = STORE_OTHER, .mtime_ns = ns_of(st->st_mtim), .atime_ns = ns_of(st->st_atim),
		.mode = st->st_mode & 07777};
	if (S_ISDIR(st->st_mode))
		ret->kind = STORE_DIR;
	if (!S_ISREG(st->st_mode))
		return;
	ret->kind = STORE_FILE;
	ret->file.length = (uint64_t)st->st_size;
	snprintf(ret->file.version, sizeof(ret->file.version), "%llx/%llu/%llu/%llu/%llu", (unsigned long long)st->st_dev,
		(unsigned long long)st->st_ino, (unsigned long long)st->st_size, (unsigned long long)ns_of(st->st_mtim),
		(unsigned long long)ns_of(st->st_ctim));
}

int file_stat_at(int dir_fd, const char *path, struct owners *owners, struct store_stat *ret)
{
	struct stat st;
	int r;

	/* A link to nothing, in a circle, or to where we may not look is there all the same: one must not hide the others. */
	if (fstatat(dir_fd, path, &st, 0) < 0 && fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	stat_of(&st, ret);
	r = owners_name(owners, false, st.st_uid, &ret->owner);
	return r < 0 ? r : owners_name(owners, true, st.st_gid, &ret->group);
}

/* What lies between the ranges of a run goes here; nobody looks at it. */
static _Thread_local uint8_t unwanted[STORE_GAP_MAX];

/* Ranges of a run, from where the first of them, which is not full, stands. */
static unsigned fill_iov(struct store_range *ranges, unsigned n, struct iovec iov[MAX_IOV])
{
	size_t left = MAX_READ_BYTES;
	unsigned n_iov = 0;

	for (unsigned i = 0; i < n && left && n_iov + 2 <= MAX_IOV; i++) {
		size_t want = MIN(ranges[i].length - ranges[i].done, left);

		if (i > 0 && store_gap(&ranges[i - 1]))
			iov[n_iov++] = (struct iovec){unwanted, store_gap(&ranges[i - 1])};
		iov[n_iov++] = (struct iovec){(uint8_t *)ranges[i].buf + ranges[i].done, want};
		left -= want;
	}
	return n_iov;
}

/* Bytes, 0 is the end. */
static ssize_t read_some(int fd, struct store_range *ranges, unsigned n)
{
	struct iovec iov[MAX_IOV];
	unsigned n_iov = fill_iov(ranges, n, iov);
	ssize_t r;

	do
		r = preadv(fd, iov, (int)n_iov, (off_t)(ranges[0].offset + ranges[0].done));
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static unsigned count_read(struct store_range *ranges, unsigned n, size_t got)
{
	unsigned i = 0;

	for (; i < n; i++) {
		uint64_t part = MIN(ranges[i].length - ranges[i].done, got);

		ranges[i].done += part;
		got -= (size_t)part;
		if (ranges[i].done < ranges[i].length)
			break;
		got -= i + 1 < n ? MIN(store_gap(&ranges[i]), got) : 0;
	}
	return i;
}

/* Each range gets done and r; < 0: the request was cancelled. */
static int read_run(struct store_req *req, int fd, struct store_range *ranges, unsigned n)
{
	unsigned at = 0;

	while (at < n) {
		ssize_t r;

		if (req->cancelled)
			return req->cancelled;
		r = read_some(fd, ranges + at, n - at);
		if (r <= 0 && ranges[at].done < ranges[at].length) {
			ranges[at++].r = r < 0 ? (int)r : -ENODATA;
			continue;
		}
		at += count_read(ranges + at, n - at, (size_t)MAX(r, 0));
	}
	return 0;
}

static int read_ranges(struct store_req *req, int fd)
{
	int r = 0;

	for (unsigned at = 0, n; r == 0 && at < req->n_ranges; at += n) {
		n = store_run_length(req->ranges + at, req->n_ranges - at);
		r = read_run(req, fd, req->ranges + at, n);
	}
	return r;
}

int file_check_fd(int fd, const struct store_file *file)
{
	struct store_stat now;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	stat_of(&st, &now);
	/* What has become a directory or a FIFO has changed, too. */
	if (store_is_stale(file, now.file.version))
		return -ESTALE;
	if (now.kind != STORE_FILE)
		return now.kind == STORE_DIR ? -EISDIR : -EINVAL;
	return 0;
}

static void forget_bytes(struct store_req *req, int r)
{
	for (unsigned i = 0; i < req->n_ranges; i++) {
		req->ranges[i].done = 0;
		req->ranges[i].r = r;
	}
}

int file_open_fd(int root_fd, const char *path, const struct store_file *file, int *ret_fd)
{
	/* Not to wait for who opens the other end of a FIFO. */
	AUTO_CLOSE int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r;

	if (fd < 0)
		return -errno;
	r = file_check_fd(fd, file);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int file_read_at(int root_fd, const char *path, struct store_req *req)
{
	AUTO_CLOSE int fd = -1;
	int r = file_open_fd(root_fd, path, req->file, &fd);

	if (r == 0)
		r = read_ranges(req, fd);
	/* It may have changed under our hands: then what was read is of no version at all. */
	if (r == 0 && req->file) {
		r = file_check_fd(fd, req->file);
		if (r < 0)
			forget_bytes(req, r);
	}
	return r;
}
