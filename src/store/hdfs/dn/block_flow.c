/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/dn/block_flow.h"

#include <assert.h>
#include <string.h>

#include "base/scope.h"
#include "wire/hadoop/pb.h"

#define USUAL_HEAD (PACKET_LENGTHS + 25u)
#define USUAL_DATA 65536u

enum { STATUS_SUCCESS = 0, STATUS_ERROR_ACCESS_TOKEN = 5 };

int flow_init(struct block_flow *f, uint64_t offset, uint64_t length, const struct block_seg *segs, unsigned n_segs)
{
	*f = (struct block_flow){.offset = offset, .length = length, .segs = segs, .n_segs = n_segs, .usual_head = USUAL_HEAD,
		.usual_data = USUAL_DATA, .chunk_bytes = FLOW_USUAL_CHUNK, .kind = CRC_C};
	buf_init(&f->answer, FLOW_MAX_ANSWER);
	buf_init(&f->sums, PACKET_MAX);
	f->scratch = mem_alloc(FLOW_META_BYTES + FLOW_SINK_BYTES);
	return f->scratch ? 0 : -ENOMEM;
}

void flow_release(struct block_flow *f)
{
	buf_release(&f->answer);
	buf_release(&f->sums);
	mem_free(TAKE(f->scratch));
}

uint64_t flow_end(const struct block_flow *f)
{
	return (f->offset + f->length + f->chunk_bytes - 1) / f->chunk_bytes * f->chunk_bytes;
}

uint32_t flow_sums(const struct block_flow *f, uint64_t n_data)
{
	return f->kind == CRC_NONE ? 0 : (uint32_t)((n_data + f->chunk_bytes - 1) / f->chunk_bytes * 4);
}

static int answer_sums(struct block_flow *f, struct str message, uint64_t *ret_pos)
{
	struct pb p = pb_of(message.p, message.n), sum = pb_of(NULL, 0);
	uint64_t kind = CRC_NONE, chunk_bytes = 0, pos = 0;

	while (pb_next(&p)) {
		if (p.field == 1)
			sum = pb_of(p.bytes.p, p.bytes.n);
		else if (p.field == 2)
			pos = p.value;
	}
	while (pb_next(&sum)) {
		if (sum.field == 1)
			kind = sum.value;
		else if (sum.field == 2)
			chunk_bytes = sum.value;
	}
	if (p.rd.bad || sum.rd.bad || kind > CRC_C || !chunk_bytes || chunk_bytes > BLOCK_MAX_CHUNK)
		return err_set(&f->err, E_PROTOCOL, "it answers with checksums that nobody knows");
	f->kind = (enum crc_kind)kind;
	f->chunk_bytes = (uint32_t)chunk_bytes;
	*ret_pos = pos;
	return 0;
}

static int answer_status(struct block_flow *f, uint64_t status, struct str words)
{
	char text[160];

	if (status == STATUS_SUCCESS)
		return 0;
	str_printable(words, text, sizeof(text));
	if (status == STATUS_ERROR_ACCESS_TOKEN)
		return err_set(&f->err, -EACCES, "it does not take the block's token: %s", text);
	return err_set(&f->err, -EREMOTEIO, "it answers with status %u: %s", (unsigned)status, text);
}

static int answer_parse(struct block_flow *f, struct str message)
{
	struct pb p = pb_of(message.p, message.n);
	struct str words = str_of(""), sums = str_of("");
	uint64_t status = 1, pos = 0;
	int r;

	while (pb_next(&p)) {
		if (p.field == 1)
			status = p.value;
		else if (p.field == 4)
			sums = p.bytes;
		else if (p.field == 5)
			words = p.bytes;
	}
	if (p.rd.bad)
		return err_set(&f->err, E_PROTOCOL, "its answer is none");
	r = answer_status(f, status, words);
	if (r < 0)
		return r;
	r = answer_sums(f, sums, &pos);
	if (r < 0)
		return r;
	if (pos != f->offset / f->chunk_bytes * f->chunk_bytes)
		return err_set(&f->err, E_PROTOCOL, "it sends from another offset than was asked for");
	f->pos = pos;
	f->phase = FLOW_HEAD;
	return 0;
}

/* Each of these takes what it can of n bytes at p, and says how many. */
static int64_t take_answer(struct block_flow *f, const uint8_t *p, size_t n)
{
	size_t before = f->answer.n;
	struct str message;
	int64_t used;
	int r;

	n = MIN(n, FLOW_MAX_ANSWER - before);
	r = buf_add(&f->answer, p, n);
	if (r < 0)
		return r;
	used = transfer_delimited(f->answer.ptr, f->answer.n, &message);
	if (used < 0 || (used == 0 && f->answer.n == FLOW_MAX_ANSWER))
		return err_set(&f->err, E_PROTOCOL, "its answer is none, or has no end");
	if (used == 0)
		return (int64_t)n;
	r = answer_parse(f, message);
	return r < 0 ? r : used - (int64_t)before;
}

static int head_check(struct block_flow *f)
{
	const struct packet *pk = &f->packet;

	if (pk->seqno != f->seqno++ || (pk->n_data == 0) != pk->last || pk->n_sums != flow_sums(f, pk->n_data))
		return err_set(&f->err, E_PROTOCOL, "it sends packets that do not follow each other");
	if (pk->last)
		return 0;
	if (pk->offset != f->pos || pk->n_data > flow_end(f) - f->pos || f->pos % f->chunk_bytes)
		return err_set(&f->err, E_PROTOCOL, "it sends bytes that were not asked for");
	f->usual_head = pk->n_head;
	if (f->pos + pk->n_data < flow_end(f))
		f->usual_data = pk->n_data;
	return 0;
}

static void head_begin(struct block_flow *f)
{
	buf_clear(&f->sums);
	f->data_left = f->packet.n_data;
	f->chunk_have = f->chunk_crc = f->chunk_index = 0;
	f->n_head = 0;
	f->phase = f->packet.last ? FLOW_END : f->packet.n_sums ? FLOW_SUMS : FLOW_DATA;
}

static int64_t take_head(struct block_flow *f, const uint8_t *p, size_t n)
{
	unsigned before = f->n_head;
	int used;
	int r;

	n = MIN(n, sizeof(f->head) - before);
	memcpy(f->head + before, p, n);
	f->n_head += (unsigned)n;
	used = packet_parse(f->head, f->n_head, &f->packet);
	if (used < 0 || (used == 0 && f->n_head == sizeof(f->head)))
		return err_set(&f->err, E_PROTOCOL, "it sends what is no packet");
	if (used == 0)
		return (int64_t)n;
	r = head_check(f);
	if (r < 0)
		return r;
	head_begin(f);
	return used - (int64_t)before;
}

static int64_t take_sums(struct block_flow *f, const uint8_t *p, size_t n)
{
	int r;

	n = MIN(n, f->packet.n_sums - f->sums.n);
	r = buf_add(&f->sums, p, n);
	if (r < 0)
		return r;
	if (f->sums.n == f->packet.n_sums)
		f->phase = FLOW_DATA;
	return (int64_t)n;
}

static int bad_sum(struct block_flow *f)
{
	return err_set(&f->err, -EBADMSG, "its bytes differ from their checksum at %llu of the block",
		(unsigned long long)(f->pos / f->chunk_bytes * f->chunk_bytes));
}

static const uint8_t *next_sum(const struct block_flow *f)
{
	return f->sums.ptr + (size_t)f->chunk_index * 4;
}

/* n bytes more of the chunk that has begun, which may end with them. */
static int verify_part(struct block_flow *f, const uint8_t *p, size_t n, bool ends)
{
	const uint8_t *sum = next_sum(f);
	uint32_t want = (uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 | (uint32_t)sum[2] << 8 | sum[3];

	f->chunk_crc = crc_of(f->kind, f->chunk_crc, p, n);
	f->chunk_have += (uint32_t)n;
	if (!ends)
		return 0;
	if (f->chunk_crc != want)
		return bad_sum(f);
	f->chunk_have = f->chunk_crc = 0;
	f->chunk_index++;
	return 0;
}

/* The next n bytes of the packet, which lie at p; ends: the packet's last are among them. */
static int verify(struct block_flow *f, const uint8_t *p, size_t n, bool ends)
{
	size_t part = MIN(n, f->chunk_bytes - f->chunk_have), whole;
	int r = 0;

	if (f->kind == CRC_NONE)
		return 0;
	if (f->chunk_have) {
		r = verify_part(f, p, part, part == f->chunk_bytes - f->chunk_have || (ends && part == n));
		p += part;
		n -= part;
	}
	whole = n / f->chunk_bytes;
	if (r == 0 && whole) {
		if (crc_check(f->kind, f->chunk_bytes, p, whole * f->chunk_bytes, next_sum(f)) >= 0)
			return bad_sum(f);
		f->chunk_index += (uint32_t)whole;
		p += whole * f->chunk_bytes;
		n -= whole * f->chunk_bytes;
	}
	if (r == 0 && n)
		r = verify_part(f, p, n, ends);
	return r;
}

/* Where the byte at pos belongs, and how many from there on lie together: NULL when nobody wants them. */
static uint8_t *flow_place(const struct block_flow *f, uint64_t *n)
{
	if (f->pos < f->offset) {
		*n = MIN(*n, f->offset - f->pos);
		return NULL;
	}
	if (f->pos >= f->offset + f->length)
		return NULL;
	*n = MIN(*n, f->segs[f->seg].n - f->seg_at);
	return f->segs[f->seg].buf ? f->segs[f->seg].buf + f->seg_at : NULL;
}

static void flow_step(struct block_flow *f, uint64_t n)
{
	bool wanted = f->pos >= f->offset && f->pos < f->offset + f->length;

	f->pos += n;
	f->data_left -= (uint32_t)n;
	if (!wanted)
		return;
	f->seg_at += n;
	if (f->seg_at == f->segs[f->seg].n) {
		f->seg++;
		f->seg_at = 0;
	}
}

/* What has been verified: all but the chunk that is not whole. */
static void flow_count(struct block_flow *f)
{
	uint64_t right = f->pos - f->chunk_have;

	if (right > f->offset)
		f->n_done = MIN(right - f->offset, f->length);
}

static int64_t take_data(struct block_flow *f, const uint8_t *p, size_t n_bytes)
{
	uint64_t n = MIN(n_bytes, f->data_left);
	uint8_t *to = flow_place(f, &n);
	int r;

	if (to && to != p)
		memcpy(to, p, n);
	r = verify(f, p, n, n == f->data_left);
	if (r < 0)
		return r;
	flow_step(f, n);
	flow_count(f);
	if (!f->data_left)
		f->phase = FLOW_HEAD;
	return (int64_t)n;
}

static int64_t take_end(struct block_flow *f)
{
	return err_set(&f->err, E_PROTOCOL, "it sends more than was asked for");
}

static int64_t take_some(struct block_flow *f, const uint8_t *p, size_t n)
{
	switch (f->phase) {
	case FLOW_ANSWER:
		return take_answer(f, p, n);
	case FLOW_HEAD:
		return take_head(f, p, n);
	case FLOW_SUMS:
		return take_sums(f, p, n);
	case FLOW_DATA:
		return take_data(f, p, n);
	case FLOW_END:
		break;
	}
	return take_end(f);
}

/* Of n bytes at p; with stop_at_data those before the next data. How many were taken. */
static int64_t take_run(struct block_flow *f, const uint8_t *p, size_t n, bool stop_at_data)
{
	size_t at = 0;

	while (at < n && !(stop_at_data && f->phase == FLOW_DATA)) {
		int64_t r = take_some(f, p + at, n - at);

		if (r < 0)
			return r;
		at += (size_t)r;
	}
	return (int64_t)at;
}

/* Whether this piece's bytes lie where they belong, as was foretold. */
static bool is_in_place(const struct block_flow *f, const struct iovec *iov, size_t n)
{
	uint64_t fits = n;
	uint8_t *to;

	if (f->phase != FLOW_DATA || n > f->data_left)
		return false;
	to = flow_place(f, &fits);
	return fits == n && (to ? to == iov->iov_base : (uint8_t *)iov->iov_base >= f->scratch + FLOW_META_BYTES &&
		(uint8_t *)iov->iov_base < f->scratch + FLOW_META_BYTES + FLOW_SINK_BYTES);
}

/* Not as foretold: what lies in the way of what is to be moved is taken out first. */
static int took_elsewhere(struct block_flow *f, unsigned i, size_t at, size_t n)
{
	AUTO_FREE uint8_t *copy = mem_alloc(n);
	size_t have = 0;
	int64_t r;

	if (!copy)
		return -ENOMEM;
	for (; have < n; i++, at = 0) {
		size_t part = MIN(n - have, f->iov[i].iov_len - at);

		memcpy(copy + have, (uint8_t *)f->iov[i].iov_base + at, part);
		have += part;
	}
	r = take_run(f, copy, n, false);
	return r < 0 ? (int)r : 0;
}

static int took_all(struct block_flow *f, size_t n)
{
	for (unsigned i = 0; n; i++) {
		size_t part = MIN(n, f->iov[i].iov_len);
		int64_t taken = 0;

		if (!f->is_data[i] || is_in_place(f, &f->iov[i], part))
			taken = take_run(f, f->iov[i].iov_base, part, !f->is_data[i]);
		if (taken < 0)
			return (int)taken;
		if ((size_t)taken < part)
			return took_elsewhere(f, i, (size_t)taken, n - (size_t)taken);
		n -= part;
	}
	return 0;
}

int flow_took(struct block_flow *f, size_t n)
{
	int r = took_all(f, n);

	if (r < 0 || f->phase != FLOW_END)
		return r;
	if (f->n_done < f->length)
		return err_set(&f->err, -ENODATA, "its replica ends at %llu of the block", (unsigned long long)f->pos);
	return 1;
}
