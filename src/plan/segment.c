/* SPDX-License-Identifier: Apache-2.0 */
/* Reading segments. Made from bytes of unknown origin: each number is checked before it is an index. */
#include "plan/segment.h"

#include <string.h>

#include "base/rd.h"
#include "base/scope.h"

#define KEYS_PER_START 16u

static const char magic[8] = "olddseg\n";

int segment_peek(const void *p, size_t n, uint64_t *ret_bytes)
{
	struct rd r = rd_of(p, n);
	const uint8_t *m = rd_bytes(&r, sizeof(magic));
	uint64_t n_bytes;

	if (!m || memcmp(m, magic, sizeof(magic)) != 0 || rd_u32(&r) != SEGMENT_VERSION || rd_u32(&r) != 0)
		return E_FORMAT;
	n_bytes = rd_u64(&r);
	if (r.bad || n_bytes < SEGMENT_HEADER_BYTES || n_bytes > SEGMENT_MAX_BYTES)
		return E_FORMAT;
	*ret_bytes = n_bytes;
	return 0;
}

static int column_open(struct rd *r, const uint8_t *p, size_t n, struct segment *s)
{
	uint32_t id = rd_u32(r), width = rd_u32(r);
	uint64_t count = rd_u64(r), offset = rd_u64(r);

	rd_skip(r, 8);
	if (r->bad || width < 1 || width > 8 || offset > n || count > (n - offset) / width)
		return E_FORMAT;
	if (id == 0 || id >= COLUMN_IDS)
		return 0;
	if (s->columns[id].p)
		return E_FORMAT;
	s->columns[id] = (struct column){p + offset, count, width};
	return 0;
}

/* Columns that a kind needs, with as many elements as the header promises. */
static bool columns_fit(const struct segment *s)
{
	const struct column *c = s->columns;
	uint64_t n = s->n_samples, n_starts = (n + KEYS_PER_START - 1) / KEYS_PER_START;

	switch (s->kind) {
	case SEGMENT_TAR:
	case SEGMENT_FILES:
		return c[COLUMN_FIRST].count == n + 1 && c[COLUMN_EXT].count == s->n_members &&
		       c[COLUMN_LENGTH].count == s->n_members && c[COLUMN_KEY_STARTS].count == n_starts &&
		       (!c[COLUMN_OFFSET].p || c[COLUMN_OFFSET].count == s->n_members) &&
		       (!c[COLUMN_CLASS].p || c[COLUMN_CLASS].count == n) &&
		       c[COLUMN_EXT_BYTES].width <= 1 && c[COLUMN_KEY_BYTES].width <= 1;
	case SEGMENT_REMOVED:
		return c[COLUMN_REMOVED].count == n;
	case SEGMENT_VERSIONS:
		return c[COLUMN_VERSION_ENDS].count == s->n_members && c[COLUMN_VERSION_BYTES].width <= 1;
	}
	return false;
}

int segment_open(const void *p, size_t n, struct segment *ret)
{
	struct segment s = {0};
	uint64_t n_bytes, checksum;
	uint32_t n_columns;
	struct rd r = rd_of(p, n);
	int err = segment_peek(p, n, &n_bytes);

	if (err < 0 || n_bytes != n)
		return E_FORMAT;
	rd_skip(&r, 24);
	checksum = rd_u64(&r);
	n_columns = rd_u32(&r);
	s.n_samples = rd_u32(&r);
	s.n_members = rd_u32(&r);
	s.kind = rd_u32(&r);
	rd_copy(&r, s.origin, sizeof(s.origin));
	rd_copy(&r, s.identity, sizeof(s.identity));
	if (r.bad || n_columns > SEGMENT_MAX_COLUMNS || checksum != xxh3_of((const uint8_t *)p + 32, n - 32))
		return E_FORMAT;
	for (uint32_t i = 0; i < n_columns && err == 0; i++)
		err = column_open(&r, p, n, &s);
	if (err < 0 || !columns_fit(&s))
		return E_FORMAT;
	*ret = s;
	return 0;
}

uint64_t column_at(const struct column *c, uint64_t i)
{
	const uint8_t *p = c->p + i * c->width;
	uint64_t v = 0;

	for (uint32_t k = c->width; k-- > 0;)
		v = v << 8 | p[k];
	return v;
}

int segment_sample(const struct segment *s, uint32_t i, struct segment_sample *ret)
{
	uint64_t first, end;

	if (i >= s->n_samples)
		return -EINVAL;
	first = column_at(&s->columns[COLUMN_FIRST], i);
	end = column_at(&s->columns[COLUMN_FIRST], i + 1ull);
	if (first > end || end > s->n_members)
		return E_FORMAT;
	ret->first = (uint32_t)first;
	ret->n = (uint32_t)(end - first);
	ret->class_no = CLASS_NONE;
	if (s->columns[COLUMN_CLASS].p)
		ret->class_no = (uint32_t)column_at(&s->columns[COLUMN_CLASS], i);
	return 0;
}

/* Piece i of a column of bytes that another column's ends cut. */
static int piece_at(const struct column *ends, const struct column *bytes, uint64_t i, struct str *ret)
{
	uint64_t from, to;

	if (i >= ends->count)
		return E_FORMAT;
	from = i > 0 ? column_at(ends, i - 1) : 0;
	to = column_at(ends, i);
	if (from > to || to > bytes->count)
		return E_FORMAT;
	*ret = (struct str){from < to ? (const char *)bytes->p + from : "", (size_t)(to - from)};
	return 0;
}

int segment_member(const struct segment *s, uint32_t i, struct segment_member *ret)
{
	const struct column *c = s->columns;

	if (i >= s->n_members)
		return -EINVAL;
	ret->offset = c[COLUMN_OFFSET].p ? column_at(&c[COLUMN_OFFSET], i) : 0;
	ret->length = column_at(&c[COLUMN_LENGTH], i);
	return piece_at(&c[COLUMN_EXT_ENDS], &c[COLUMN_EXT_BYTES], column_at(&c[COLUMN_EXT], i), &ret->ext);
}

int segment_version(const struct segment *s, uint32_t i, char *out, size_t n_out)
{
	struct str v;
	int r = piece_at(&s->columns[COLUMN_VERSION_ENDS], &s->columns[COLUMN_VERSION_BYTES], i, &v);

	if (r < 0 || v.n >= n_out)
		return E_FORMAT;
	memcpy(out, v.p, v.n);
	out[v.n] = '\0';
	return 0;
}

static uint64_t leb128_read(struct rd *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte = rd_u8(r);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	r->bad = true;
	return 0;
}

/* The next key over the one before it, which is in out. */
static int key_next(struct rd *r, char *out, size_t *n)
{
	uint64_t shared = leb128_read(r), more = leb128_read(r);

	if (r->bad || shared > *n || more > SEGMENT_KEY_MAX - shared || more > rd_left(r))
		return E_FORMAT;
	rd_copy(r, out + shared, (size_t)more);
	*n = (size_t)(shared + more);
	return 0;
}

int segment_key(const struct segment *s, uint32_t i, char *out, size_t *ret_n)
{
	const struct column *bytes = &s->columns[COLUMN_KEY_BYTES];
	uint64_t at;
	struct rd r;
	size_t n = 0;
	int err = 0;

	if (i >= s->n_samples)
		return -EINVAL;
	at = column_at(&s->columns[COLUMN_KEY_STARTS], i / KEYS_PER_START);
	if (at > bytes->count)
		return E_FORMAT;
	r = rd_of(bytes->p ? bytes->p + at : NULL, (size_t)(bytes->count - at));
	for (uint32_t k = 0; k <= i % KEYS_PER_START && err == 0; k++)
		err = key_next(&r, out, &n);
	if (err < 0)
		return err;
	out[n] = '\0';
	*ret_n = n;
	return 0;
}

uint32_t segment_kept(const struct segment *removed, uint32_t i)
{
	const struct column *c;
	uint64_t low = 0, high;

	if (!removed)
		return i;
	c = &removed->columns[COLUMN_REMOVED];
	high = c->count;
	/* How many of the removed stand before the i-th kept: the first k with removed[k] - k > i. */
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (column_at(c, mid) - mid > i)
			high = mid;
		else
			low = mid + 1;
	}
	return i + (uint32_t)low;
}
