/* SPDX-License-Identifier: Apache-2.0 */
#include "store/reader.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/scope.h"
#include "store/engine.h"

struct store_reader {
	struct store *store;
	const char *path;
	const struct store_file *file;
	int fd;		/* -1: the engine has none to give */
	bool can_ask;	/* the kernel can say what lies in memory */
	unsigned n_near; /* reads since it was asked and said that all did */
};

/* Asking costs a fifth of a short read; what lay in memory a moment ago, and what is beside it, mostly does so now. */
#define ASK_EVERY 16

static int reader_fail(const struct store_reader *r, int code, struct err *e)
{
	return store_fail(r->store, r->path, code, "read", e);
}

int store_reader_open(struct store *s, const char *path, const struct store_file *file, struct store_reader **ret,
	struct err *e)
{
	AUTO(store_reader) struct store_reader *r = mem_zalloc(sizeof(*r));
	int code;

	if (!r)
		return -ENOMEM;
	*r = (struct store_reader){.store = s, .path = path, .file = file, .fd = -1, .can_ask = true, .n_near = ASK_EVERY};
	code = s->ops->open_fd ? s->ops->open_fd(s, path, file, &r->fd) : 0;
	if (code < 0)
		return reader_fail(r, code, e);
	*ret = TAKE(r);
	return 0;
}

/* What of it lies in memory: bytes, 0 when nothing does. */
static ssize_t read_near(struct store_reader *r, void *buf, size_t n, uint64_t offset)
{
	struct iovec iov = {buf, n};
	ssize_t got;

	if (!r->can_ask || r->n_near++ < ASK_EVERY)
		return 0;
	got = preadv2(r->fd, &iov, 1, (off_t)offset, RWF_NOWAIT);
	r->can_ask = got >= 0 || errno == EAGAIN || errno == EINTR;
	if (got == (ssize_t)n)
		r->n_near = 0;
	return got < 0 ? 0 : got;
}

static int read_fd(struct store_reader *r, uint8_t *buf, size_t n, uint64_t offset, bool *ret_near)
{
	size_t done = (size_t)read_near(r, buf, n, offset);

	*ret_near = r->n_near <= ASK_EVERY;
	while (done < n) {
		ssize_t got = pread(r->fd, buf + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		done += (size_t)got;
	}
	return 0;
}

int store_reader_read(struct store_reader *r, void *buf, size_t n, uint64_t offset, bool *ret_near, struct err *e)
{
	int code;

	if (r->fd < 0) {
		*ret_near = false;
		return store_pread(r->store, r->path, r->file, buf, n, offset, e);
	}
	code = read_fd(r, buf, n, offset, ret_near);
	return code < 0 ? reader_fail(r, code, e) : 0;
}

int store_reader_check(struct store_reader *r, struct err *e)
{
	int code = r->fd < 0 ? 0 : r->store->ops->check_fd(r->fd, r->file);

	return code < 0 ? reader_fail(r, code, e) : 0;
}

void store_reader_free(struct store_reader *r)
{
	if (!r)
		return;
	fd_closep(&r->fd);
	mem_free(r);
}
