/* SPDX-License-Identifier: Apache-2.0 */
/* Records between ranks and their loader: one table of tags, from which both directions are made. */
#include "wire/rankmsg.h"

#include <string.h>

#include "base/rd.h"
#include "base/scope.h"

#define TAG_REFUSES 0x8000u

enum value_kind { VALUE_U32 = 1, VALUE_U64, VALUE_BOOL, VALUE_SHA256, VALUE_TEXT, VALUE_TEXTS };

struct tag {
	uint16_t tag;
	enum value_kind kind;
	size_t offset;		/* in struct rankmsg */
	size_t n_offset;	/* TEXTS: of their number */
	uint32_t max;		/* TEXTS: at most so many */
};

#define AT(member) offsetof(struct rankmsg, member)

static const struct tag tags[] = {
	{1, VALUE_U32, AT(version), 0, 0},
	{3, VALUE_TEXTS, AT(paths), AT(n_paths), RANKMSG_MAX_PATHS},
	{4, VALUE_TEXTS, AT(fields), AT(n_fields), RECIPE_MAX_FIELDS},
	{TAG_REFUSES | 5, VALUE_TEXT, AT(transform), 0, 0},
	{6, VALUE_U32, AT(dp_rank), 0, 0},
	{7, VALUE_U32, AT(dp_size), 0, 0},
	{8, VALUE_U64, AT(batch), 0, 0},
	{9, VALUE_BOOL, AT(batch_is_global), 0, 0},
	{TAG_REFUSES | 10, VALUE_U32, AT(tail), 0, 0},
	{11, VALUE_U64, AT(consumed), 0, 0},
	{TAG_REFUSES | 12, VALUE_U64, AT(n_epochs), 0, 0},
	{13, VALUE_U32, AT(n_workers), 0, 0},
	{14, VALUE_U64, AT(max_bytes), 0, 0},
	{15, VALUE_BOOL, AT(has_order_id), 0, 0},
	{16, VALUE_SHA256, AT(order_id), 0, 0},
	{17, VALUE_SHA256, AT(fields_id), 0, 0},
	{18, VALUE_U64, AT(n_samples), 0, 0},
	{19, VALUE_U64, AT(epoch_len), 0, 0},
	{20, VALUE_U64, AT(global_batch), 0, 0},
	{21, VALUE_U32, AT(slot), 0, 0},
	{22, VALUE_U64, AT(slot_bytes), 0, 0},
	{23, VALUE_U32, AT(head_bytes), 0, 0},
	{24, VALUE_U64, AT(end), 0, 0},
	{25, VALUE_U32, AT(code), 0, 0},
	{26, VALUE_BOOL, AT(over), 0, 0},
	{27, VALUE_TEXT, AT(words), 0, 0},
	{28, VALUE_U64, AT(n_left), 0, 0},
	{29, VALUE_U64, AT(n_batches), 0, 0},
	{30, VALUE_U64, AT(seed), 0, 0},
	{31, VALUE_U32, AT(pid), 0, 0},
};

static const uint8_t zeros[SHA256_BYTES];

static void put_value(struct buf *to, uint16_t tag, const void *p, size_t n)
{
	buf_u16(to, tag);
	buf_u16(to, 0);
	buf_u32(to, (uint32_t)MIN(n, (size_t)UINT32_MAX));
	buf_add(to, p, n);
	buf_add(to, zeros, (4 - n % 4) % 4);
}

static void put_number(struct buf *to, uint16_t tag, uint64_t v, size_t n)
{
	uint8_t p[8];

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * i);
	put_value(to, tag, p, n);
}

static void put_text(struct buf *to, uint16_t tag, const char *text)
{
	if (text)
		put_value(to, tag, text, strlen(text) + 1);
}

/* What is zero is not sent: zero is what the other side starts from. */
static void encode_tag(const struct tag *t, const struct rankmsg *m, struct buf *to)
{
	const void *p = (const char *)m + t->offset;
	uint32_t n_texts;

	switch (t->kind) {
	case VALUE_U32:
		if (*(const uint32_t *)p)
			put_number(to, t->tag, *(const uint32_t *)p, 4);
		break;
	case VALUE_U64:
		if (*(const uint64_t *)p)
			put_number(to, t->tag, *(const uint64_t *)p, 8);
		break;
	case VALUE_BOOL:
		if (*(const bool *)p)
			put_number(to, t->tag, 1, 4);
		break;
	case VALUE_SHA256:
		if (memcmp(p, zeros, SHA256_BYTES) != 0)
			put_value(to, t->tag, p, SHA256_BYTES);
		break;
	case VALUE_TEXT:
		put_text(to, t->tag, *(const char *const *)p);
		break;
	case VALUE_TEXTS:
		n_texts = *(const uint32_t *)((const char *)m + t->n_offset);
		for (uint32_t i = 0; i < n_texts; i++)
			put_text(to, t->tag, ((const char *const *)p)[i]);
		break;
	}
}

int rankmsg_encode(const struct rankmsg *m, struct buf *to)
{
	size_t before = to->n;

	buf_u32(to, (uint32_t)m->type);
	for (size_t i = 0; i < N_ELEMS(tags); i++)
		encode_tag(&tags[i], m, to);
	return to->r == 0 && to->n - before > RANKMSG_MAX_BYTES ? -E2BIG : to->r;
}

static uint64_t number_of(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static bool is_text(const uint8_t *p, size_t n)
{
	return n > 0 && memchr(p, 0, n) == p + n - 1;
}

static int take_text(const struct tag *t, const uint8_t *p, size_t n, struct rankmsg *ret)
{
	const char **to = (const char **)((char *)ret + t->offset);
	uint32_t *n_texts = (uint32_t *)((char *)ret + t->n_offset);

	if (!is_text(p, n))
		return E_PROTOCOL;
	if (t->kind == VALUE_TEXTS) {
		if (*n_texts >= t->max)
			return E_PROTOCOL;
		to += (*n_texts)++;
	}
	*to = (const char *)p;
	return 0;
}

static int take_value(const struct tag *t, const uint8_t *p, size_t n, struct rankmsg *ret)
{
	static const size_t lengths[] = {[VALUE_U32] = 4, [VALUE_U64] = 8, [VALUE_BOOL] = 4, [VALUE_SHA256] = SHA256_BYTES};
	void *to = (char *)ret + t->offset;

	if (t->kind == VALUE_TEXT || t->kind == VALUE_TEXTS)
		return take_text(t, p, n, ret);
	if (n != lengths[t->kind])
		return E_PROTOCOL;
	if (t->kind == VALUE_U32)
		*(uint32_t *)to = (uint32_t)number_of(p, 4);
	else if (t->kind == VALUE_U64)
		*(uint64_t *)to = number_of(p, 8);
	else if (t->kind == VALUE_BOOL)
		*(bool *)to = number_of(p, 4) != 0;
	else
		memcpy(to, p, SHA256_BYTES);
	return 0;
}

static int decode_value(struct rd *r, struct rankmsg *ret)
{
	uint16_t tag = rd_u16(r), zero = rd_u16(r);
	uint32_t n = rd_u32(r);
	const uint8_t *p = rd_bytes(r, n);

	rd_skip(r, (4 - n % 4) % 4);
	if (r->bad || !p || zero != 0)
		return E_PROTOCOL;
	for (size_t i = 0; i < N_ELEMS(tags); i++)
		if (tags[i].tag == tag)
			return take_value(&tags[i], p, n, ret);
	return tag & TAG_REFUSES ? E_PROTOCOL : 0;
}

int rankmsg_decode(const void *p, size_t n, struct rankmsg *ret)
{
	struct rd r = rd_of(p, n);
	uint32_t type = rd_u32(&r);
	int e = 0;

	memset(ret, 0, sizeof(*ret));
	if (r.bad || n > RANKMSG_MAX_BYTES || type < RANKMSG_OPEN || type > RANKMSG_WARN)
		return E_PROTOCOL;
	ret->type = type;
	while (rd_left(&r) > 0 && e == 0)
		e = decode_value(&r, ret);
	return e;
}
