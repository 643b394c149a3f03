/* SPDX-License-Identifier: Apache-2.0 */
/* Taking over segments. */
#include "plan/journal.h"

#include <string.h>

#define JOURNAL_MAX (1u << 25)

struct key {
	char p[4 + SHA256_BYTES];
};

void journal_init(struct journal *j)
{
	names_init(&j->origins, JOURNAL_MAX);
	j->refs.ptr = NULL;
	j->refs.n = j->refs.cap = 0;
	j->refs.max = JOURNAL_MAX;
}

void journal_release(struct journal *j)
{
	names_release(&j->origins);
	vec_release(&j->refs);
}

static struct str key_of(struct key *key, uint32_t kind, const uint8_t *origin)
{
	memcpy(key->p, &kind, 4);
	memcpy(key->p + 4, origin, SHA256_BYTES);
	return (struct str){key->p, sizeof(key->p)};
}

/* The latest of an origin counts; they are equal anyway. */
static int note(struct journal *j, const struct segment *s, const struct part_ref *ref)
{
	struct key key;
	uint32_t number;
	int r = names_add(&j->origins, key_of(&key, s->kind, s->origin), &number);

	if (r < 0)
		return r;
	if (number == j->refs.n)
		return VEC_PUSH(&j->refs, *ref);
	j->refs.ptr[number] = *ref;
	return 0;
}

static int replayed(void *ctx, const struct part_ref *ref, const void *bytes)
{
	struct segment s;
	int r = segment_open(bytes, ref->n_bytes, &s);

	return r < 0 ? r : note(ctx, &s, ref);
}

int journal_read(struct journal *j, struct parts *parts, struct err *e)
{
	return parts_replay(parts, replayed, j, e);
}

bool journal_find(const struct journal *j, enum segment_kind kind, const uint8_t origin[SHA256_BYTES],
	struct part_ref *ret)
{
	struct key key;
	uint32_t number;

	if (!names_find(&j->origins, key_of(&key, kind, origin), &number))
		return false;
	*ret = j->refs.ptr[number];
	return true;
}

int journal_append(struct journal *j, struct parts *parts, const struct buf *segment, struct part_ref *ret,
	struct err *e)
{
	struct segment s;
	int r = segment_open(segment->ptr, segment->n, &s);

	if (r < 0)
		return r;
	if (journal_find(j, s.kind, s.origin, ret))
		return 0;
	r = parts_append(parts, segment->ptr, (uint32_t)segment->n, ret, e);
	return r < 0 ? r : note(j, &s, ret);
}
