/* SPDX-License-Identifier: Apache-2.0 */
/* Samples out of batches, and their digests. */
#include "feed/digest.h"

#include <string.h>

#include "base/str.h"

static const char *type_of(const struct batch_field *f)
{
	switch (f->kind) {
	case FIELD_TEXT:
		return "text";
	case FIELD_JSON:
		return "json";
	case FIELD_BYTES:
		return "bytes";
	default:
		return dtype_name(f->dtype);
	}
}

static const uint8_t *at(const void *base, uint64_t offset)
{
	return (const uint8_t *)base + offset;
}

/* The sample's own shape out of the table of sizes; it must fit what holds it. */
static int own_dims(const void *base, const struct batch_field *f, uint32_t i, uint64_t dims[3])
{
	uint32_t sizes[3];

	memcpy(sizes, at(base, f->sizes_offset + 12ull * i), sizeof(sizes));
	for (unsigned k = 0; k < 3; k++) {
		if (f->form == FORM_ARRAY && sizes[k] > f->dims[k + 1])
			return E_PROTOCOL;
		dims[k] = sizes[k];
	}
	return 0;
}

static int view_ragged(const void *base, const struct batch_field *f, uint32_t i, struct sample_view *ret)
{
	uint64_t size = dtype_bytes(f->dtype), offsets[2], n = size;

	memcpy(offsets, at(base, f->offsets_offset + 8ull * i), sizeof(offsets));
	if (offsets[0] > offsets[1] || offsets[1] > f->dims[0])
		return E_PROTOCOL;
	ret->p = at(base, f->data_offset + offsets[0] * size);
	ret->n_bytes = (offsets[1] - offsets[0]) * size;
	ret->n_dims = 1;
	ret->dims[0] = offsets[1] - offsets[0];
	if (!f->sizes_offset)
		return 0;
	ret->n_dims = 3;
	if (own_dims(base, f, i, ret->dims) < 0)
		return E_PROTOCOL;
	for (unsigned k = 0; k < 3; k++)
		if (__builtin_mul_overflow(n, ret->dims[k], &n))
			return E_PROTOCOL;
	return n == ret->n_bytes ? 0 : E_PROTOCOL;
}

/* Out of the frame that `collate: pad` put around it. */
static int view_framed(const void *base, const struct batch_field *f, uint32_t i, struct buf *scratch,
	struct sample_view *ret)
{
	uint64_t size = dtype_bytes(f->dtype), row, n_rows;
	const uint8_t *from = at(base, f->data_offset + f->data_bytes / f->dims[0] * i);

	if (own_dims(base, f, i, ret->dims) < 0)
		return E_PROTOCOL;
	/* As they were put there: see put_framed() in collate.c. */
	n_rows = ret->dims[2] == f->dims[3] ? 1 : ret->dims[1];
	row = ret->dims[2] * size * (n_rows == 1 ? ret->dims[1] : 1);
	buf_clear(scratch);
	for (uint64_t a = 0; a < ret->dims[0]; a++)
		for (uint64_t b = 0; b < n_rows; b++)
			buf_add(scratch, from + (a * f->dims[2] + b) * f->dims[3] * size, row);
	ret->n_dims = 3;
	ret->p = scratch->ptr;
	ret->n_bytes = scratch->n;
	return scratch->r;
}

static void view_array(const void *base, const struct batch_field *f, uint32_t i, struct sample_view *ret)
{
	ret->n_dims = f->n_dims - 1;
	for (unsigned k = 1; k < f->n_dims; k++)
		ret->dims[k - 1] = f->dims[k];
	ret->n_bytes = f->data_bytes / f->dims[0];
	ret->p = at(base, f->data_offset + ret->n_bytes * i);
}

int sample_view(const struct batch_head *head, const void *base, const struct batch_field *f, uint32_t i,
	struct buf *scratch, struct sample_view *ret)
{
	*ret = (struct sample_view){.name = f->name, .type = type_of(f), .dtype = f->dtype};
	if (i >= head->n)
		return E_PROTOCOL;
	if (f->form == FORM_RAGGED)
		return view_ragged(base, f, i, ret);
	if (f->sizes_offset)
		return view_framed(base, f, i, scratch, ret);
	view_array(base, f, i, ret);
	return 0;
}

uint64_t sample_position(const struct batch_head *head, const void *base, uint32_t i)
{
	const struct batch_field *f = batch_head_field(head, BATCHHEAD_POSITION);
	uint64_t position = 0;

	if (f && f->data_bytes == 8ull * head->n && i < head->n)
		memcpy(&position, at(base, f->data_offset + 8ull * i), sizeof(position));
	return position;
}

struct str sample_text(const struct batch_head *head, const void *base, const char *name, uint32_t i)
{
	const struct batch_field *f = batch_head_field(head, name);
	struct sample_view v;

	if (!f || i >= head->n || f->form != FORM_RAGGED || view_ragged(base, f, i, &v) < 0)
		return (struct str){"", 0};
	return (struct str){v.p, v.n_bytes};
}

static void add_view(struct sha256 *h, const struct sample_view *v)
{
	sha256_add_str(h, v->name, strlen(v->name));
	sha256_add_str(h, v->type, strlen(v->type));
	sha256_add_u32(h, v->n_dims);
	for (unsigned k = 0; k < v->n_dims; k++)
		sha256_add_u64(h, v->dims[k]);
	sha256_add(h, v->p, v->n_bytes);
}

int digest_sample(const struct batch_head *head, const void *base, uint32_t i, uint8_t ret[SHA256_BYTES])
{
	AUTO(sha256) struct sha256 *h = sha256_new();
	AUTO_BUF struct buf scratch;
	struct sample_view v;
	int r = h ? 0 : -ENOMEM;

	buf_init(&scratch, SIZE_MAX / 2);
	for (unsigned k = 0; r == 0 && k < head->n_fields; k++) {
		if (head->fields[k].name[0] == '.')
			continue;
		r = sample_view(head, base, &head->fields[k], i, &scratch, &v);
		if (r == 0)
			add_view(h, &v);
	}
	if (r == 0)
		sha256_finish(h, ret);
	return r;
}

int digest_batch(const struct batch_head *head, const void *base, uint8_t ret[SHA256_BYTES])
{
	AUTO(sha256) struct sha256 *h = sha256_new();
	uint8_t one[SHA256_BYTES];
	int r = h ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < head->n; i++) {
		r = digest_sample(head, base, i, one);
		if (r == 0)
			sha256_add(h, one, sizeof(one));
	}
	if (r == 0)
		sha256_finish(h, ret);
	return r;
}
