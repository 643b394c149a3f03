/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a batch slot as bytes. */
#include "wire/batchhead.h"

#include <string.h>

#include "base/rd.h"

static const uint8_t magic[8] = "ODBATCH1";

static void encode_field(const struct batch_field *f, struct buf *to)
{
	buf_add(to, f->name, sizeof(f->name));
	buf_u8(to, (uint8_t)f->kind);
	buf_u8(to, (uint8_t)f->dtype);
	buf_u8(to, (uint8_t)f->form);
	buf_u8(to, (uint8_t)f->n_dims);
	buf_u32(to, f->n_size_dims);
	for (unsigned i = 0; i < BATCHHEAD_MAX_DIMS; i++)
		buf_u64(to, f->dims[i]);
	buf_u64(to, f->data_offset);
	buf_u64(to, f->data_bytes);
	buf_u64(to, f->offsets_offset);
	buf_u64(to, f->sizes_offset);
}

int batch_head_encode(const struct batch_head *h, struct buf *to)
{
	if (h->n_fields > BATCHHEAD_MAX_FIELDS)
		return -EINVAL;
	buf_add(to, magic, sizeof(magic));
	buf_u64(to, h->n_bytes);
	buf_u64(to, h->begin);
	buf_u64(to, h->end);
	buf_u64(to, h->epoch);
	buf_u64(to, h->number);
	buf_u32(to, h->dp_rank);
	buf_u32(to, h->dp_size);
	buf_u32(to, h->n);
	buf_u32(to, h->n_real);
	buf_u32(to, h->last);
	buf_u32(to, h->n_fields);
	for (unsigned i = 0; i < h->n_fields; i++)
		encode_field(&h->fields[i], to);
	return to->r;
}

static void decode_field(struct rd *r, struct batch_field *f)
{
	rd_copy(r, f->name, sizeof(f->name));
	f->kind = rd_u8(r);
	f->dtype = rd_u8(r);
	f->form = rd_u8(r);
	f->n_dims = rd_u8(r);
	f->n_size_dims = rd_u32(r);
	for (unsigned i = 0; i < BATCHHEAD_MAX_DIMS; i++)
		f->dims[i] = rd_u64(r);
	f->data_offset = rd_u64(r);
	f->data_bytes = rd_u64(r);
	f->offsets_offset = rd_u64(r);
	f->sizes_offset = rd_u64(r);
}

static bool in_slot(uint64_t offset, uint64_t n_bytes, uint64_t n)
{
	return offset % BATCHHEAD_ALIGN == 0 && offset >= BATCHHEAD_ROOM && offset <= n && n_bytes <= n - offset;
}

/* Whether dims multiply to data_bytes, without overflow. */
static bool dims_fit(const struct batch_field *f)
{
	uint64_t n = dtype_bytes(f->dtype);

	for (unsigned i = 0; i < f->n_dims; i++)
		if (__builtin_mul_overflow(n, f->dims[i], &n))
			return false;
	return n == f->data_bytes;
}

static bool names_known(const struct batch_field *f)
{
	return memchr(f->name, 0, sizeof(f->name)) && f->kind >= FIELD_IMAGE && f->kind <= FIELD_JSON &&
		f->dtype >= DTYPE_UINT8 && f->dtype <= DTYPE_FLOAT64 &&
		(f->form == FORM_ARRAY || f->form == FORM_RAGGED);
}

static bool shape_known(const struct batch_field *f, uint32_t n_items)
{
	if (f->n_dims < 1 || f->n_dims > BATCHHEAD_MAX_DIMS || (f->n_size_dims != 0 && f->n_size_dims != 3))
		return false;
	if ((f->n_size_dims == 0) != (f->sizes_offset == 0))
		return false;
	/* Own sizes are measured against the frame's, which must be there. */
	if (f->form == FORM_ARRAY && f->n_size_dims > 0 && f->n_dims != 1 + f->n_size_dims)
		return false;
	if (f->form == FORM_RAGGED)
		return f->n_dims == 1 && f->offsets_offset != 0;
	return f->dims[0] == n_items && f->offsets_offset == 0;
}

static bool field_fits(const struct batch_field *f, uint32_t n_items, uint64_t n)
{
	if (!names_known(f) || !shape_known(f, n_items) || !dims_fit(f) || !in_slot(f->data_offset, f->data_bytes, n))
		return false;
	if (f->offsets_offset && !in_slot(f->offsets_offset, (n_items + 1ull) * 8, n))
		return false;
	return !f->sizes_offset || in_slot(f->sizes_offset, n_items * 4ull * f->n_size_dims, n);
}

int batch_head_decode(const void *p, size_t n_head, uint64_t n, struct batch_head *ret)
{
	struct rd r = rd_of(p, n_head);
	const uint8_t *m = rd_bytes(&r, sizeof(magic));

	memset(ret, 0, sizeof(*ret));
	if (!m || memcmp(m, magic, sizeof(magic)) != 0)
		return E_PROTOCOL;
	ret->n_bytes = rd_u64(&r);
	ret->begin = rd_u64(&r);
	ret->end = rd_u64(&r);
	ret->epoch = rd_u64(&r);
	ret->number = rd_u64(&r);
	ret->dp_rank = rd_u32(&r);
	ret->dp_size = rd_u32(&r);
	ret->n = rd_u32(&r);
	ret->n_real = rd_u32(&r);
	ret->last = rd_u32(&r) != 0;
	ret->n_fields = rd_u32(&r);
	if (r.bad || ret->n_bytes > n || ret->n > BATCHHEAD_MAX_ITEMS || ret->n_real > ret->n ||
		ret->n_fields > BATCHHEAD_MAX_FIELDS)
		return E_PROTOCOL;
	for (unsigned i = 0; i < ret->n_fields; i++) {
		decode_field(&r, &ret->fields[i]);
		if (r.bad || !field_fits(&ret->fields[i], ret->n, ret->n_bytes))
			return E_PROTOCOL;
	}
	return 0;
}

const struct batch_field *batch_head_field(const struct batch_head *h, const char *name)
{
	for (unsigned i = 0; i < h->n_fields; i++)
		if (strcmp(h->fields[i].name, name) == 0)
			return &h->fields[i];
	return NULL;
}
