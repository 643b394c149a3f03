/* SPDX-License-Identifier: Apache-2.0 */
/* Making segments. Columns are as narrow as their largest number allows. */
#include <string.h>

#include "base/scope.h"
#include "plan/segment.h"

#define KEYS_PER_START 16u

/* A column to be written: numbers by a function of (ctx, i), or bytes. */
struct column_out {
	enum column_id id;
	uint32_t width;
	uint64_t count;
	uint64_t (*at)(const void *ctx, uint64_t i);
	const void *ctx;	/* of at; or the bytes */
};

static uint32_t width_of(uint64_t largest)
{
	uint32_t width = 1;

	while (width < 8 && largest >> (8 * width))
		width++;
	return width;
}

static void numbers(struct column_out *c, enum column_id id, uint64_t count, const void *ctx,
	uint64_t (*at)(const void *, uint64_t))
{
	uint64_t largest = 0;

	for (uint64_t i = 0; i < count; i++)
		largest = MAX(largest, at(ctx, i));
	*c = (struct column_out){id, width_of(largest), count, at, ctx};
}

static void bytes(struct column_out *c, enum column_id id, const void *p, size_t n)
{
	*c = (struct column_out){id, 1, n, NULL, p};
}

static void column_put(const struct column_out *c, uint8_t *to)
{
	if (!c->at) {
		if (c->count > 0)
			memcpy(to, c->ctx, c->count);
		return;
	}
	for (uint64_t i = 0; i < c->count; i++, to += c->width) {
		uint64_t v = c->at(c->ctx, i);

		for (uint32_t k = 0; k < c->width; k++)
			to[k] = (uint8_t)(v >> (8 * k));
	}
}

static uint64_t aligned(uint64_t n)
{
	return (n + 7) & ~7ull;
}

static void put_u32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static void put_u64(uint8_t *p, uint64_t v)
{
	put_u32(p, (uint32_t)v);
	put_u32(p + 4, (uint32_t)(v >> 32));
}

struct head {
	enum segment_kind kind;
	uint32_t n_samples, n_members;
	uint8_t origin[SHA256_BYTES];
	uint8_t identity[SHA256_BYTES];
};

static void header_put(uint8_t *p, const struct head *h, uint64_t n_bytes, unsigned n_columns)
{
	memcpy(p, "olddseg\n", 8);
	put_u32(p + 8, SEGMENT_VERSION);
	put_u64(p + 16, n_bytes);
	put_u32(p + 32, n_columns);
	put_u32(p + 36, h->n_samples);
	put_u32(p + 40, h->n_members);
	put_u32(p + 44, h->kind);
	memcpy(p + 48, h->origin, SHA256_BYTES);
	memcpy(p + 80, h->identity, SHA256_BYTES);
}

static int segment_put(const struct head *h, const struct column_out *columns, unsigned n_columns, struct buf *to)
{
	uint64_t at = SEGMENT_HEADER_BYTES + n_columns * SEGMENT_COLUMN_BYTES, n_bytes = at;
	uint8_t *p, *row;

	for (unsigned i = 0; i < n_columns; i++)
		n_bytes += aligned(columns[i].count * columns[i].width);
	if (n_bytes > SEGMENT_MAX_BYTES)
		return -E2BIG;
	p = buf_grow(to, n_bytes);
	if (!p)
		return to->r;
	header_put(p, h, n_bytes, n_columns);
	row = p + SEGMENT_HEADER_BYTES;
	for (unsigned i = 0; i < n_columns; i++, row += SEGMENT_COLUMN_BYTES) {
		put_u32(row, columns[i].id);
		put_u32(row + 4, columns[i].width);
		put_u64(row + 8, columns[i].count);
		put_u64(row + 16, at);
		column_put(&columns[i], p + at);
		at += aligned(columns[i].count * columns[i].width);
	}
	put_u64(p + 24, xxh3_of(p + 32, n_bytes - 32));
	return 0;
}

static uint64_t first_at(const void *t, uint64_t i)
{
	const struct table *table = t;

	return i < table->samples.n ? table->samples.ptr[i].first : table->members.n;
}

static uint64_t class_at(const void *t, uint64_t i)
{
	return ((const struct table *)t)->samples.ptr[i].class_no;
}

static uint64_t ext_at(const void *t, uint64_t i)
{
	return ((const struct table *)t)->members.ptr[i].ext;
}

static uint64_t offset_at(const void *t, uint64_t i)
{
	return ((const struct table *)t)->members.ptr[i].offset;
}

static uint64_t length_at(const void *t, uint64_t i)
{
	return ((const struct table *)t)->members.ptr[i].length;
}

/* Names are added at the end of the names' bytes, so these lie side by side in the order of their numbers. */
static uint64_t ext_end_at(const void *t, uint64_t i)
{
	const struct name_place *p = &((const struct table *)t)->exts.all.ptr[i];

	return p->at + p->n;
}

static uint64_t start_at(const void *starts, uint64_t i)
{
	return ((const uint32_t *)starts)[i];
}

static void leb128_put(struct buf *b, size_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_u8(b, (uint8_t)(v | 0x80));
	buf_u8(b, (uint8_t)v);
}

static size_t shared_with(struct str a, struct str b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && a.p[n] == b.p[n])
		n++;
	return n;
}

static int keys_put(const struct table *t, struct buf *keys, uint32_t *starts)
{
	for (size_t i = 0; i < t->samples.n; i++) {
		struct str key = table_key(t, i);
		size_t shared = 0;

		if (i % KEYS_PER_START)
			shared = shared_with(table_key(t, i - 1), key);
		else
			starts[i / KEYS_PER_START] = (uint32_t)keys->n;
		leb128_put(keys, shared);
		leb128_put(keys, key.n - shared);
		buf_add(keys, key.p + shared, key.n - shared);
	}
	return keys->r;
}

/* What a table that tells nothing of its source was made from: all that is in it. */
static int origin_of(const struct table *t, struct head *h)
{
	AUTO(sha256) struct sha256 *hash = sha256_new();

	if (!hash)
		return -ENOMEM;
	sha256_add(hash, h->identity, SHA256_BYTES);
	for (size_t i = 0; i < t->samples.n; i++)
		sha256_add_u32(hash, t->samples.ptr[i].class_no);
	sha256_finish(hash, h->origin);
	return 0;
}

static bool has_classes(const struct table *t)
{
	for (size_t i = 0; i < t->samples.n; i++)
		if (t->samples.ptr[i].class_no == CLASS_NONE)
			return false;
	return t->samples.n > 0;
}

int segment_of_table(const struct table *t, const uint8_t origin[SHA256_BYTES], struct buf *to)
{
	struct head h = {t->files ? SEGMENT_FILES : SEGMENT_TAR, (uint32_t)t->samples.n, (uint32_t)t->members.n, {0}, {0}};
	size_t n_starts = (t->samples.n + KEYS_PER_START - 1) / KEYS_PER_START;
	AUTO_FREE uint32_t *starts = mem_calloc(n_starts + 1, sizeof(*starts));
	struct column_out c[COLUMN_IDS];
	AUTO_BUF struct buf keys;
	unsigned n = 0;
	int r;

	buf_init(&keys, SEGMENT_MAX_BYTES);
	if (!starts)
		return -ENOMEM;
	r = table_identity(t, h.identity);
	if (r == 0 && !origin)
		r = origin_of(t, &h);
	else if (origin)
		memcpy(h.origin, origin, SHA256_BYTES);
	if (r == 0)
		r = keys_put(t, &keys, starts);
	if (r < 0)
		return r;
	numbers(&c[n++], COLUMN_FIRST, t->samples.n + 1, t, first_at);
	numbers(&c[n++], COLUMN_EXT, t->members.n, t, ext_at);
	if (!t->files)
		numbers(&c[n++], COLUMN_OFFSET, t->members.n, t, offset_at);
	numbers(&c[n++], COLUMN_LENGTH, t->members.n, t, length_at);
	numbers(&c[n++], COLUMN_EXT_ENDS, t->exts.all.n, t, ext_end_at);
	bytes(&c[n++], COLUMN_EXT_BYTES, t->exts.bytes.ptr, t->exts.bytes.n);
	numbers(&c[n++], COLUMN_KEY_STARTS, n_starts, starts, start_at);
	bytes(&c[n++], COLUMN_KEY_BYTES, keys.ptr, keys.n);
	if (has_classes(t))
		numbers(&c[n++], COLUMN_CLASS, t->samples.n, t, class_at);
	return segment_put(&h, c, n, to);
}

int segment_of_removed(const uint32_t *removed, uint32_t n, const uint8_t origin[SHA256_BYTES], struct buf *to)
{
	struct head h = {SEGMENT_REMOVED, n, 0, {0}, {0}};
	struct column_out c;

	memcpy(h.origin, origin, SHA256_BYTES);
	numbers(&c, COLUMN_REMOVED, n, removed, start_at);
	return segment_put(&h, &c, 1, to);
}

int segment_of_versions(const char *const *versions, uint32_t n, const uint8_t origin[SHA256_BYTES], struct buf *to)
{
	struct head h = {SEGMENT_VERSIONS, 0, n, {0}, {0}};
	AUTO_FREE uint32_t *ends = mem_calloc((size_t)n + 1, sizeof(*ends));
	struct column_out c[2];
	AUTO_BUF struct buf all;

	buf_init(&all, SEGMENT_MAX_BYTES);
	if (!ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		buf_puts(&all, versions[i]);
		ends[i] = (uint32_t)all.n;
	}
	if (all.r < 0)
		return all.r;
	memcpy(h.origin, origin, SHA256_BYTES);
	numbers(&c[0], COLUMN_VERSION_ENDS, n, ends, start_at);
	bytes(&c[1], COLUMN_VERSION_BYTES, all.ptr, all.n);
	return segment_put(&h, c, 2, to);
}
