/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/scope.h"

/* One call of write(2) or pwrite(2), which take at most some 2 GiB. */
typedef ssize_t put_some(int fd, const void *p, size_t n, uint64_t offset);

static ssize_t put_next(int fd, const void *p, size_t n, uint64_t offset)
{
	return write(fd, p, n);
}

static ssize_t put_at(int fd, const void *p, size_t n, uint64_t offset)
{
	return pwrite(fd, p, n, (off_t)offset);
}

static int put_all(put_some *put, int fd, const void *from, size_t n, uint64_t offset)
{
	const uint8_t *p = from;

	while (n > 0) {
		ssize_t done = put(fd, p, n, offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
		offset += (size_t)done;
	}
	return 0;
}

int fd_write_all(int fd, const void *p, size_t n)
{
	return put_all(put_next, fd, p, n, 0);
}

int fd_pwrite_all(int fd, const void *p, size_t n, uint64_t offset)
{
	return put_all(put_at, fd, p, n, offset);
}

int fd_pread_all(int fd, void *to, size_t n, uint64_t offset)
{
	uint8_t *p = to;

	while (n > 0) {
		ssize_t done = pread(fd, p, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -ENODATA;
		p += done;
		n -= (size_t)done;
		offset += (size_t)done;
	}
	return 0;
}

int file_make(const char *path, const void *p, size_t n)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int r = fd < 0 ? -errno : fd_write_all(fd, p, n);

	if (fd >= 0 && r < 0)
		unlink(path);
	return r;
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#endif

int fd_memory(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}
