/* SPDX-License-Identifier: Apache-2.0 */
/* Parts in a directory or in memory. */
#include "plan/parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/vec.h"
#include "plan/segment.h"

/* A part that is a file, or one segment in memory. */
struct part {
	int fd;
	uint64_t n_bytes;
	void *memory;
};

struct parts {
	int dir;		/* -1: memory */
	bool dir_is_new;	/* we made it */
	char *name;
	const char *prefix;	/* static */
	VEC(struct part) all;
};

static int parts_new(const char *name, const char *prefix, struct parts **ret)
{
	AUTO(parts) struct parts *p = mem_zalloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->dir = -1;
	p->prefix = prefix;
	/* In memory each segment is a part. */
	p->all.max = name ? PARTS_MAX : UINT32_MAX;
	p->name = name ? mem_strdup(name) : NULL;
	if (name && !p->name)
		return -ENOMEM;
	*ret = TAKE(p);
	return 0;
}

int parts_new_memory(struct parts **ret)
{
	return parts_new(NULL, "part", ret);
}

void parts_free(struct parts *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->all.n; i++) {
		fd_closep(&p->all.ptr[i].fd);
		mem_free(p->all.ptr[i].memory);
	}
	vec_release(&p->all);
	fd_closep(&p->dir);
	mem_free(p->name);
	mem_free(p);
}

int parts_dir(const struct parts *p)
{
	return p->dir;
}

static int fail(const struct parts *p, unsigned part, int r, const char *what, struct err *e)
{
	return err_set(e, r, "%s/%s-%04u: cannot %s: %s", p->name, p->prefix, part, what, err_text(r));
}

int regular_open(int dir, const char *name, int flags, struct stat *ret)
{
	/* Not to wait for who opens the other end of a FIFO; a regular file does not mind. */
	AUTO_CLOSE int fd = openat(dir, name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);

	if (fd < 0 || fstat(fd, ret) < 0)
		return -errno;
	if (!S_ISREG(ret->st_mode))
		return S_ISDIR(ret->st_mode) ? -EISDIR : -EINVAL;
	return TAKE_FD(fd);
}

/* Opens part number p->all.n; 1, or 0 when there is none. */
static int part_open_next(struct parts *p, int flags, struct err *e)
{
	unsigned number = (unsigned)p->all.n;
	AUTO_CLOSE int fd = -1;
	char name[32];
	struct stat st;
	int r;

	snprintf(name, sizeof(name), "%s-%04u", p->prefix, number);
	fd = regular_open(p->dir, name, flags | O_NOFOLLOW, &st);
	if (fd == -EINVAL || fd == -EISDIR)
		return err_set(e, E_FORMAT, "%s/%s is no regular file: remove it, and make the plan again", p->name, name);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fail(p, number, fd, "open", e);
	r = VEC_PUSH(&p->all, ((struct part){.fd = fd, .n_bytes = (uint64_t)st.st_size}));
	if (r < 0)
		return r;
	(void)TAKE_FD(fd);
	return 1;
}

static int dir_open(struct parts *p, struct err *e)
{
	int r;

	p->dir = open(p->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir >= 0)
		return 0;
	r = -errno;
	return err_set(e, r, "%s: cannot open the plan's directory: %s", p->name, err_text(r));
}

static int parts_open_all(struct parts *p, int flags, struct err *e)
{
	int r;

	do
		r = part_open_next(p, flags, e);
	while (r > 0);
	return r;
}

int parts_open(const char *dir, const char *prefix, struct parts **ret, struct err *e)
{
	AUTO(parts) struct parts *p = NULL;
	int r = parts_new(dir, prefix, &p);

	if (r == 0)
		r = dir_open(p, e);
	if (r == 0)
		r = parts_open_all(p, O_RDONLY, e);
	if (r == 0)
		*ret = TAKE(p);
	return r;
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* A directory with other things in it is somebody's, and not ours to write into. */
static int dir_check_ours(struct parts *p, struct err *e)
{
	CLEANUP(closedirp) DIR *d = NULL;
	const struct dirent *entry;
	char other[256] = "";
	int fd = dup(p->dir);

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		fd_closep(&fd);
		return -errno;
	}
	rewinddir(d);
	while ((entry = readdir(d))) {
		if (strcmp(entry->d_name, "part-0000") == 0)
			return 0;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			snprintf(other, sizeof(other), "%s", entry->d_name);
	}
	if (other[0])
		return err_set(e, -EEXIST, "%s is no plan's directory (it has %s in it): name one that is empty or new",
			p->name, other);
	return 0;
}

int parts_create(const char *dir, const char *prefix, struct parts **ret, struct err *e)
{
	AUTO(parts) struct parts *p = NULL;
	int r = parts_new(dir, prefix, &p);

	if (r < 0)
		return r;
	p->dir_is_new = mkdir(dir, 0777) == 0;
	if (!p->dir_is_new && errno != EEXIST) {
		r = -errno;
		return err_set(e, r, "%s: cannot make the plan's directory: %s", dir, err_text(r));
	}
	r = dir_open(p, e);
	if (r < 0)
		return r;
	/* One lock for both kinds: the one who makes a plan creates its parts first. */
	if (strcmp(prefix, "part") == 0) {
		if (flock(p->dir, LOCK_EX | LOCK_NB) < 0) {
			r = -errno;
			return r == -EWOULDBLOCK ? err_set(e, -EBUSY, "%s: another process is making this plan", dir) :
				err_set(e, r, "%s: cannot lock the plan's directory: %s", dir, err_text(r));
		}
		r = dir_check_ours(p, e);
	}
	if (r == 0)
		r = parts_open_all(p, O_RDWR, e);
	if (r == 0 && p->all.n == 0)
		r = part_open_next(p, O_RDWR | O_CREAT, e);
	if (r < 0)
		return r;
	*ret = TAKE(p);
	return 0;
}

static bool is_bare(const struct parts *p)
{
	struct stat st;

	return p && p->all.n == 1 && fstat(p->all.ptr[0].fd, &st) == 0 && st.st_size == 0;
}

void parts_leave(const struct parts *parts, const struct parts *binds, const char *dir)
{
	if (!is_bare(parts) || !is_bare(binds))
		return;
	unlinkat(parts->dir, "part-0000", 0);
	unlinkat(parts->dir, "bind-0000", 0);
	if (parts->dir_is_new)
		rmdir(dir);
}

/* The whole segment at offset: 1 and its bytes, or 0 when what is there is not whole. */
static int segment_load(const struct part *part, uint64_t offset, void **ret, uint64_t *ret_n)
{
	uint8_t head[SEGMENT_HEADER_BYTES];
	AUTO_FREE void *bytes = NULL;
	struct segment s;
	uint64_t n;
	int r;

	if (part->n_bytes - offset < sizeof(head))
		return 0;
	r = fd_pread_all(part->fd, head, sizeof(head), offset);
	if (r < 0)
		return r;
	if (segment_peek(head, sizeof(head), &n) < 0 || n > part->n_bytes - offset)
		return 0;
	bytes = mem_alloc(n);
	if (!bytes)
		return -ENOMEM;
	r = fd_pread_all(part->fd, bytes, n, offset);
	if (r < 0)
		return r;
	if (segment_open(bytes, n, &s) < 0)
		return 0;
	*ret = TAKE(bytes);
	*ret_n = n;
	return 1;
}

static int part_replay(struct parts *p, unsigned number, int (*fn)(void *, const struct part_ref *, const void *),
	void *ctx, struct err *e)
{
	struct part *part = &p->all.ptr[number];
	uint64_t at = 0, n = 0;
	int r;

	for (;;) {
		AUTO_FREE void *bytes = NULL;

		r = segment_load(part, at, &bytes, &n);
		if (r < 0)
			return err_set(e, r, "%s/%s-%04u: %s", p->name, p->prefix, number, err_text(r));
		if (r == 0)
			break;
		r = fn(ctx, &(struct part_ref){at, number, (uint32_t)n}, bytes);
		if (r < 0)
			return r;
		at += n;
	}
	/* Killed while it wrote: what is whole stays, the rest goes. */
	if (at < part->n_bytes && ftruncate(part->fd, (off_t)at) < 0)
		return fail(p, number, -errno, "cut off what is not whole", e);
	part->n_bytes = at;
	return 0;
}

int parts_replay(struct parts *p, int (*fn)(void *ctx, const struct part_ref *ref, const void *bytes), void *ctx,
	struct err *e)
{
	int r = 0;

	for (unsigned i = 0; p->dir >= 0 && i < p->all.n && r == 0; i++)
		r = part_replay(p, i, fn, ctx, e);
	return r;
}

static int append_memory(struct parts *p, const void *bytes, uint32_t n, struct part_ref *ret)
{
	AUTO_FREE void *copy = mem_dup(bytes, n);
	int r;

	if (!copy)
		return -ENOMEM;
	r = VEC_PUSH(&p->all, ((struct part){.fd = -1, .n_bytes = n, .memory = copy}));
	if (r < 0)
		return r;
	(void)TAKE(copy);
	*ret = (struct part_ref){0, (uint32_t)p->all.n - 1, n};
	return 0;
}

int parts_append(struct parts *p, const void *bytes, uint32_t n, struct part_ref *ret, struct err *e)
{
	struct part *part;
	int r;

	if (p->dir < 0)
		return append_memory(p, bytes, n, ret);
	part = &p->all.ptr[p->all.n - 1];
	if (part->n_bytes > 0 && part->n_bytes + n > PART_MAX_BYTES) {
		r = part_open_next(p, O_RDWR | O_CREAT, e);
		if (r < 0)
			return r;
		part = &p->all.ptr[p->all.n - 1];
	}
	r = fd_pwrite_all(part->fd, bytes, n, part->n_bytes);
	if (r < 0)
		return err_set(e, r, "%s/%s-%04u: cannot write: %s", p->name, p->prefix, (unsigned)p->all.n - 1, err_text(r));
	*ret = (struct part_ref){part->n_bytes, (uint32_t)p->all.n - 1, n};
	part->n_bytes += n;
	return 0;
}

int parts_broken(const struct parts *p, const struct part_ref *ref, struct err *e)
{
	return err_set(e, E_FORMAT, "%s/%s-%04u is broken at %llu: make the plan again", p->name ? p->name : "plan", p->prefix,
		ref->part, (unsigned long long)ref->offset);
}

int parts_read(struct parts *p, const struct part_ref *ref, void **ret, struct err *e)
{
	const struct part *part = ref->part < p->all.n ? &p->all.ptr[ref->part] : NULL;
	AUTO_FREE void *bytes = NULL;
	int r;

	if (!part || ref->offset > part->n_bytes || ref->n_bytes > part->n_bytes - ref->offset)
		return err_set(e, E_FORMAT, "%s/%s-%04u is not as long as the plan says: make the plan again",
			p->name ? p->name : "plan", p->prefix, ref->part);
	if (part->memory)
		bytes = mem_dup((const uint8_t *)part->memory + ref->offset, ref->n_bytes);
	else
		bytes = mem_alloc(ref->n_bytes);
	if (!bytes)
		return -ENOMEM;
	if (!part->memory) {
		r = fd_pread_all(part->fd, bytes, ref->n_bytes, ref->offset);
		if (r < 0)
			return err_set(e, r == -ENODATA ? E_FORMAT : r, "%s/%s-%04u: %s", p->name, p->prefix, ref->part,
				r == -ENODATA ? "was cut short: make the plan again" : err_text(r));
	}
	*ret = TAKE(bytes);
	return 0;
}

int parts_sync(struct parts *p, struct err *e)
{
	for (unsigned i = 0; i < p->all.n; i++)
		if (p->all.ptr[i].fd >= 0 && fdatasync(p->all.ptr[i].fd) < 0)
			return fail(p, i, -errno, "sync", e);
	if (p->dir >= 0 && fsync(p->dir) < 0)
		return -errno;
	return 0;
}
