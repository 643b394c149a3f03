/* SPDX-License-Identifier: Apache-2.0 */
/* A PNG of three chunks. */
#include "cli/png_write.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/scope.h"

/* zlib counts in 32 bits. */
#define PNG_MAX_BYTES (1u << 30)

static void put_be32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static int chunk(struct buf *to, const char *type, const void *p, size_t n)
{
	size_t begin = to->n;
	uint8_t number[4];

	put_be32(number, (uint32_t)n);
	buf_add(to, number, 4);
	buf_add(to, type, 4);
	if (buf_add(to, p, n) < 0)
		return to->r;
	/* Of type and data, not of the length. */
	put_be32(number, (uint32_t)crc32(crc32(0, NULL, 0), to->ptr + begin + 4, (uInt)(n + 4)));
	return buf_add(to, number, 4);
}

/* Each row begins with its filter: none. */
static int rows_put(const uint8_t *pixels, uint32_t h, size_t n_row, struct buf *to)
{
	for (uint32_t y = 0; y < h; y++) {
		buf_u8(to, 0);
		buf_add(to, pixels + y * n_row, n_row);
	}
	return to->r;
}

static int data_chunk(const struct buf *rows, struct buf *to)
{
	uLongf n = compressBound(rows->n);
	AUTO_FREE uint8_t *packed = mem_alloc(n);

	if (!packed || compress2(packed, &n, rows->ptr, rows->n, Z_BEST_SPEED) != Z_OK)
		return -ENOMEM;
	return chunk(to, "IDAT", packed, n);
}

int png_write(const uint8_t *pixels, uint32_t h, uint32_t w, uint32_t c, struct buf *to)
{
	static const uint8_t color_types[] = {0, 0, 4, 2, 6};
	uint8_t header[13] = {[8] = 8};
	AUTO_BUF struct buf rows;
	int r;

	buf_init(&rows, PNG_MAX_BYTES);
	if (h == 0 || w == 0 || c == 0 || c > 4)
		return -EINVAL;
	put_be32(header, w);
	put_be32(header + 4, h);
	header[9] = color_types[c];
	r = rows_put(pixels, h, (size_t)w * c, &rows);
	if (r == 0)
		r = buf_add(to, "\x89PNG\r\n\x1a\n", 8);
	if (r == 0)
		r = chunk(to, "IHDR", header, sizeof(header));
	if (r == 0)
		r = data_chunk(&rows, to);
	return r < 0 ? r : chunk(to, "IEND", "", 0);
}
