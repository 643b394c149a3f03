/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of names: one run of bytes, and a hash table of numbers into it. */
#include "plan/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/scope.h"

void names_init(struct names *s, uint32_t max)
{
	memset(s, 0, sizeof(*s));
	buf_init(&s->bytes, SIZE_MAX / 2);
	s->all.max = max;
}

void names_release(struct names *s)
{
	buf_release(&s->bytes);
	vec_release(&s->all);
	mem_free(TAKE(s->slots));
	s->n_slots = 0;
	s->last = 0;
}

struct str names_at(const struct names *s, uint32_t number)
{
	struct name_place p = s->all.ptr[number];

	return (struct str){(const char *)s->bytes.ptr + p.at, p.n};
}

/* The slot of name, or the empty one where it belongs. There always is an empty one. */
static size_t slot_of(const struct names *s, struct str name)
{
	size_t i = (size_t)xxh3_of(name.p, name.n) & (s->n_slots - 1);

	while (s->slots[i] && !str_equal(names_at(s, s->slots[i] - 1), name))
		i = (i + 1) & (s->n_slots - 1);
	return i;
}

static int slots_fill(struct names *s, size_t n_slots)
{
	uint32_t *slots = mem_calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	mem_free(s->slots);
	s->slots = slots;
	s->n_slots = n_slots;
	for (uint32_t i = 0; i < s->all.n; i++)
		s->slots[slot_of(s, names_at(s, i))] = i + 1;
	return 0;
}

bool names_find(const struct names *s, struct str name, uint32_t *ret_number)
{
	size_t slot;

	if (s->n_slots == 0)
		return false;
	slot = slot_of(s, name);
	if (!s->slots[slot])
		return false;
	*ret_number = s->slots[slot] - 1;
	return true;
}

/* Extensions come in the same turn in each sample. */
static bool is_next(struct names *s, struct str name, uint32_t *ret_number)
{
	uint32_t next = s->last + 1 < s->all.n ? s->last + 1 : 0;

	if (s->all.n == 0 || !str_equal(names_at(s, next), name))
		return false;
	*ret_number = next;
	return true;
}

int names_add(struct names *s, struct str name, uint32_t *ret_number)
{
	struct name_place place = {s->bytes.n, (uint32_t)name.n};
	int r;

	if (is_next(s, name, ret_number) || names_find(s, name, ret_number)) {
		s->last = *ret_number;
		return 0;
	}
	if (name.n > UINT32_MAX)
		return -E2BIG;
	if (2 * (s->all.n + 1) > s->n_slots) {
		r = slots_fill(s, MAX(2 * s->n_slots, 16));
		if (r < 0)
			return r;
	}
	r = VEC_RESERVE(&s->all, s->all.n + 1);
	if (r < 0)
		return r;
	r = buf_add(&s->bytes, name.p, name.n);
	if (r < 0)
		return r;
	s->all.ptr[s->all.n++] = place;
	*ret_number = s->last = (uint32_t)s->all.n - 1;
	s->slots[slot_of(s, name)] = (uint32_t)s->all.n;
	return 0;
}

static int compare_places(const void *a, const void *b, void *bytes)
{
	const struct name_place *x = a, *y = b;

	return str_cmp((struct str){(char *)bytes + x->at, x->n}, (struct str){(char *)bytes + y->at, y->n});
}

int names_sort(struct names *s)
{
	if (s->all.n == 0)
		return 0;
	qsort_r(s->all.ptr, s->all.n, sizeof(*s->all.ptr), compare_places, s->bytes.ptr);
	return slots_fill(s, s->n_slots);
}
