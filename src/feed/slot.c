/* SPDX-License-Identifier: Apache-2.0 */
/* Batch slots: memfds that are pooled. */
#include "feed/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/fd.h"

/* Ragged batches differ a little each time: growing in steps keeps the calls few. */
#define SLOT_STEP (1ull << 16)

static uint64_t round_up(uint64_t n)
{
	return (n + SLOT_STEP - 1) / SLOT_STEP * SLOT_STEP;
}

static int slot_map(struct slot *s, uint64_t n_bytes)
{
	void *p;

	if (ftruncate(s->fd, (off_t)n_bytes) < 0)
		return -errno;
	if (s->p)
		p = mremap(s->p, s->n_bytes, n_bytes, MREMAP_MAYMOVE);
	else
		p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	s->p = p;
	return 0;
}

int slot_grow(struct slot_pool *pool, struct slot *s, uint64_t n_bytes)
{
	uint64_t want = round_up(n_bytes);
	int r;

	if (n_bytes <= s->n_bytes) {
		s->held_bytes = MAX(s->held_bytes, MIN(want, s->n_bytes));
		return 0;
	}
	if (n_bytes > INT64_MAX - SLOT_STEP)
		return -ENOMEM;
	r = slot_map(s, want);
	if (r < 0)
		return r;
	pool->n_bytes += want - s->n_bytes;
	s->n_bytes = s->held_bytes = want;
	return 0;
}

static int slot_make(struct slot_pool *pool, uint64_t n_bytes, struct slot **ret)
{
	struct slot *s = mem_zalloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->fd = fd_memory("olddog-batch");
	r = s->fd < 0 ? s->fd : slot_grow(pool, s, n_bytes);
	/* No more seals either: a rank could seal it against the growth that we need. */
	if (r == 0 && fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r < 0) {
		slot_free(pool, s);
		return r;
	}
	s->id = pool->n_made++;
	*ret = s;
	return 0;
}

int slot_take(struct slot_pool *pool, uint64_t n_bytes, struct slot **ret)
{
	struct slot *s = pool->free;
	uint64_t held_bytes;
	int r;

	if (!s)
		return slot_make(pool, n_bytes, ret);
	held_bytes = s->held_bytes;
	r = slot_grow(pool, s, n_bytes);
	if (r < 0)
		return r;
	pool->free_bytes -= held_bytes;
	pool->free = s->next;
	*ret = s;
	return 0;
}

void slot_put(struct slot_pool *pool, struct slot *s, uint64_t keep_bytes)
{
	if (pool->free && pool->free_bytes + s->held_bytes > keep_bytes &&
		fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)s->n_bytes) == 0)
		s->held_bytes = 0;
	pool->free_bytes += s->held_bytes;
	s->next = pool->free;
	pool->free = s;
}

void slot_free(struct slot_pool *pool, struct slot *s)
{
	if (!s)
		return;
	if (s->p)
		munmap(s->p, s->n_bytes);
	fd_closep(&s->fd);
	pool->n_bytes -= s->n_bytes;
	mem_free(s);
}

void slot_pool_release(struct slot_pool *pool)
{
	while (pool->free) {
		struct slot *s = pool->free;

		pool->free = s->next;
		slot_free(pool, s);
	}
}
