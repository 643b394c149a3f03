/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/shared.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/scope.h"
#include "worker/channel.h"

/* linux/fcntl.h, of Linux 5.1; glibc's fcntl.h has it too, older ones do not. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SEALS_SIZE (F_SEAL_SHRINK | F_SEAL_GROW)

static const struct shared_rule {
	const char *name;
	int seals;
} shared_rules[] = {
	[SHARED_IN] = {"olddog-in", SEALS_SIZE | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL},
	[SHARED_OUT] = {"olddog-out", SEALS_SIZE | F_SEAL_SEAL},
};

int fd_above(int fd)
{
	int above;

	if (fd < 0 || fd >= CHANNEL_N_FDS)
		return fd;
	above = fcntl(fd, F_DUPFD_CLOEXEC, CHANNEL_N_FDS);
	if (above < 0)
		above = -errno;
	close(fd);
	return above;
}

static const char *what_to_do(int r)
{
	if (r == -EFBIG)
		return "; raise the limit of file sizes (ulimit -f), which counts for shared memory too";
	return r == -ENOMEM ? "; raise the limit of address space (ulimit -v)" : "";
}

static int memfd_new(const char *name, size_t n, struct err *e)
{
	AUTO_CLOSE int fd = fd_above(fd_memory(name));
	int r = fd < 0 ? fd : ftruncate(fd, (off_t)n) < 0 ? -errno : 0;

	if (r < 0)
		return err_set(e, r, "cannot make a shared memory of %zu bytes: %s%s", n, err_text(r), what_to_do(r));
	return TAKE_FD(fd);
}

int shared_new(enum shared_use use, size_t n, struct shared *ret, struct err *e)
{
	const struct shared_rule *rule = &shared_rules[use];
	AUTO_CLOSE int fd = memfd_new(rule->name, n, e);
	int code;
	void *p;

	if (fd < 0)
		return fd;
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_set(e, -errno, "cannot map %zu bytes of shared memory: %s%s", n, err_text(-errno),
			what_to_do(-errno));
	if (fcntl(fd, F_ADD_SEALS, rule->seals) < 0) {
		code = -errno;
		munmap(p, n);
		return err_set(e, code, "cannot seal a shared memory (Linux 5.1 is needed): %s", err_text(code));
	}
	*ret = (struct shared){.fd = TAKE_FD(fd), .p = p, .n = n};
	return 0;
}

int shared_copy(const void *p, size_t n, struct shared *ret, struct err *e)
{
	AUTO_CLOSE int fd = memfd_new("olddog-recipe", n, e);
	ssize_t written;

	if (fd < 0)
		return fd;
	written = pwrite(fd, p, n, 0);
	if (written != (ssize_t)n || fcntl(fd, F_ADD_SEALS, SEALS_SIZE | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return err_set(e, written < 0 ? -errno : -EIO, "cannot write a shared memory of %zu bytes", n);
	*ret = (struct shared){.fd = TAKE_FD(fd), .n = n};
	return 0;
}

void shared_release(struct shared *s)
{
	if (s->p)
		munmap(s->p, s->n);
	fd_closep(&s->fd);
	*s = (struct shared){.fd = -1};
}
