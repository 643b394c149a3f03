/* SPDX-License-Identifier: Apache-2.0 */
/* Worker messages as bytes. Every message has all fields at fixed places; what its type does not use is zero. */
#include "wire/workmsg.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/rd.h"
#include "base/scope.h"
#include "wire/recipe.h"

#define WORKMSG_MAGIC 0x4d57444fu /* "ODWM" */
/* A DONE's shape: more than any recipe can ask for is nonsense before it is multiplied. */
#define WORKMSG_MAX_CHANNELS 4u
#define WORKMSG_SUM_AT (WORKMSG_BYTES - 8)

_Static_assert(44 + WORKMSG_WORDS <= WORKMSG_SUM_AT, "a DONE with its words fits before the checksum");

/* A writer into a record; the longest body, DONE with its words, ends at byte 44 + WORKMSG_WORDS. */
struct wr {
	uint8_t *at;
};

static void put_le(struct wr *w, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		*w->at++ = (uint8_t)(v >> (8 * i));
}

static void put_body(struct wr *w, const struct workmsg *m)
{
	switch (m->type) {
	case WORKMSG_READY:
		put_le(w, m->version, 4);
		memcpy(w->at, m->fingerprint, sizeof(m->fingerprint));
		break;
	case WORKMSG_DECODE:
		put_le(w, m->field, 4);
		put_le(w, m->seq, 8);
		put_le(w, m->position, 8);
		put_le(w, m->in_offset, 8);
		put_le(w, m->in_length, 8);
		put_le(w, m->out_offset, 8);
		put_le(w, m->out_capacity, 8);
		break;
	case WORKMSG_DONE:
		put_le(w, (uint32_t)m->status, 4);
		put_le(w, m->seq, 8);
		put_le(w, m->h, 4);
		put_le(w, m->w, 4);
		put_le(w, m->c, 4);
		put_le(w, m->n_warnings, 4);
		put_le(w, m->checksum, 8);
		memcpy(w->at, m->words, strnlen(m->words, WORKMSG_WORDS - 1));
		break;
	}
}

void workmsg_encode(const struct workmsg *m, uint8_t to[WORKMSG_BYTES])
{
	struct wr w = {to};

	memset(to, 0, WORKMSG_BYTES);
	put_le(&w, WORKMSG_MAGIC, 4);
	put_le(&w, m->type, 4);
	put_body(&w, m);
	w.at = to + WORKMSG_SUM_AT;
	put_le(&w, xxh3_of(to, WORKMSG_SUM_AT), 8);
}

static void take_ready(struct rd *r, struct workmsg *m)
{
	m->version = rd_u32(r);
	rd_copy(r, m->fingerprint, sizeof(m->fingerprint));
}

static bool take_decode(struct rd *r, struct workmsg *m)
{
	uint64_t end;

	m->field = rd_u32(r);
	m->seq = rd_u64(r);
	m->position = rd_u64(r);
	m->in_offset = rd_u64(r);
	m->in_length = rd_u64(r);
	m->out_offset = rd_u64(r);
	m->out_capacity = rd_u64(r);
	return !__builtin_add_overflow(m->in_offset, m->in_length, &end) &&
		!__builtin_add_overflow(m->out_offset, m->out_capacity, &end);
}

/* Words end up on a terminal and in logs: what is not printable is taken out. */
static void take_words(struct rd *r, char words[WORKMSG_WORDS])
{
	rd_copy(r, words, WORKMSG_WORDS);
	words[WORKMSG_WORDS - 1] = '\0';
	for (char *c = words; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	memset(words + strlen(words), 0, WORKMSG_WORDS - strlen(words));
}

static bool take_done(struct rd *r, struct workmsg *m)
{
	m->status = (int32_t)rd_u32(r);
	m->seq = rd_u64(r);
	m->h = rd_u32(r);
	m->w = rd_u32(r);
	m->c = rd_u32(r);
	m->n_warnings = rd_u32(r);
	m->checksum = rd_u64(r);
	take_words(r, m->words);
	if (m->h > RECIPE_MAX_SIDE || m->w > RECIPE_MAX_SIDE || m->c > WORKMSG_MAX_CHANNELS)
		return false;
	return m->status == 0 ? m->h && m->w && m->c : m->status < 0;
}

int workmsg_decode(const void *p, size_t n, struct workmsg *ret)
{
	struct rd r = rd_of(p, n), sum;
	struct workmsg m = {0};
	bool good = true;

	if (n != WORKMSG_BYTES || rd_u32(&r) != WORKMSG_MAGIC)
		return E_PROTOCOL;
	r.end -= sizeof(uint64_t);
	sum = rd_of(r.end, sizeof(uint64_t));
	if (rd_u64(&sum) != xxh3_of(p, WORKMSG_SUM_AT))
		return E_PROTOCOL;
	m.type = rd_u32(&r);
	switch (m.type) {
	case WORKMSG_READY:
		take_ready(&r, &m);
		break;
	case WORKMSG_DECODE:
		good = take_decode(&r, &m);
		break;
	case WORKMSG_DONE:
		good = take_done(&r, &m);
		break;
	default:
		return E_PROTOCOL;
	}
	while (rd_left(&r) > 0)
		good &= rd_u8(&r) == 0;
	if (!good || r.bad)
		return E_PROTOCOL;
	*ret = m;
	return 0;
}
