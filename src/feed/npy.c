/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's field as a .npy file. */
#include "feed/npy.h"

#define NPY_ALIGN 64
/* Magic, version, and the length of the header. */
#define NPY_FIXED 10

static const char *descr(enum dtype d)
{
	switch (d) {
	case DTYPE_UINT8:
		return "|u1";
	case DTYPE_INT64:
		return "<i8";
	case DTYPE_FLOAT16:
		return "<f2";
	case DTYPE_BFLOAT16:
		return "<u2";
	case DTYPE_FLOAT32:
		return "<f4";
	case DTYPE_FLOAT64:
		return "<f8";
	}
	return "|u1";
}

static void put_header(const struct sample_view *v, struct buf *h)
{
	buf_printf(h, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr(v->dtype));
	for (unsigned k = 0; k < v->n_dims; k++)
		buf_printf(h, "%llu%s", (unsigned long long)v->dims[k], v->n_dims == 1 || k + 1 < v->n_dims ? "," : "");
	buf_puts(h, "), }");
	while ((NPY_FIXED + h->n + 1) % NPY_ALIGN != 0 && h->r == 0)
		buf_u8(h, ' ');
	buf_u8(h, '\n');
}

int npy_write(const struct sample_view *v, struct buf *to)
{
	AUTO_BUF struct buf h;

	buf_init(&h, 512);
	put_header(v, &h);
	if (h.r < 0)
		return h.r;
	buf_add(to, "\x93NUMPY\x01\x00", 8);
	buf_u16(to, (uint16_t)h.n);
	buf_add(to, h.ptr, h.n);
	return buf_add(to, v->p, v->n_bytes);
}
