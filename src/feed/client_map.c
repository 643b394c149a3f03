/* SPDX-License-Identifier: Apache-2.0 */
/* Slots as a rank sees them: mapped once, again only when one has grown. */
#include "feed/client.h"

#include <sys/mman.h>
#include <sys/stat.h>

void mapping_unref(struct mapping *m)
{
	if (!m || --m->n_refs > 0)
		return;
	if (m->p)
		munmap(m->p, m->n_bytes);
	fd_closep(&m->fd);
	mem_free(m);
}

void client_unmap_all(struct olddog_loader *l)
{
	for (size_t i = 0; i < l->maps.n; i++)
		mapping_unref(l->maps.ptr[i]);
	l->maps.n = 0;
}

/* The memory must be as long as is said: what lies behind a file's end faults. */
static int map_whole(struct mapping *m, uint64_t n_bytes)
{
	struct stat st;
	void *p;

	if (fstat(m->fd, &st) < 0)
		return -errno;
	if (n_bytes < BATCHHEAD_ROOM || (uint64_t)st.st_size < n_bytes)
		return E_PROTOCOL;
	p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	if (m->p)
		munmap(m->p, m->n_bytes);
	m->p = p;
	m->n_bytes = n_bytes;
	return 0;
}

static int map_new(struct olddog_loader *l, uint32_t slot, int fd, struct mapping **ret)
{
	AUTO_CLOSE int owned = fd;

	if (VEC_RESERVE(&l->maps, slot + 1ull) < 0)
		return -ENOMEM;
	*ret = mem_zalloc(sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->fd = TAKE_FD(owned);
	(*ret)->n_refs = 1;
	while (l->maps.n <= slot)
		l->maps.ptr[l->maps.n++] = NULL;
	mapping_unref(l->maps.ptr[slot]);
	l->maps.ptr[slot] = *ret;
	return 0;
}

int client_map(struct olddog_loader *l, uint32_t slot, int fd, uint64_t n_bytes, struct mapping **ret)
{
	struct mapping *m = slot < l->maps.n ? l->maps.ptr[slot] : NULL;
	int r = 0;

	if (fd >= 0 && slot >= CLIENT_MAX_SLOTS) {
		close(fd);
		return E_PROTOCOL;
	}
	if (fd >= 0)
		r = map_new(l, slot, fd, &m);
	/* A slot that a batch shows is not given again before that is released. */
	if (r == 0 && (!m || m->n_refs != 1))
		r = E_PROTOCOL;
	if (r == 0 && n_bytes != m->n_bytes)
		r = map_whole(m, n_bytes);
	if (r < 0)
		return r;
	m->n_refs++;
	*ret = m;
	return 0;
}
