/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the next bytes of a flow are to be received: heads and checksums to memory of the flow's own, each byte of the file
 * that somebody wants straight to where it belongs. Packets are foretold as the last one was.
 */
#include "base/scope.h"
#include "store/hdfs/dn/block_flow.h"
#include "wire/hadoop/pb.h"

struct layout {
	struct block_flow *f;
	uint64_t pos, seg_at;
	unsigned seg;
	size_t n_meta, n_sink, n_bytes;
};

static bool layout_full(const struct layout *l)
{
	return l->f->n_iov == FLOW_MAX_IOV || l->n_bytes >= FLOW_RECV_BYTES;
}

static void layout_add(struct layout *l, void *p, size_t n, bool is_data)
{
	struct block_flow *f = l->f;

	f->iov[f->n_iov] = (struct iovec){.iov_base = p, .iov_len = n};
	f->is_data[f->n_iov++] = is_data;
	l->n_bytes += n;
}

/* false: the layout ends here. */
static bool layout_meta(struct layout *l, size_t n)
{
	size_t part = MIN(n, FLOW_META_BYTES - l->n_meta);

	if (part && !layout_full(l))
		layout_add(l, l->f->scratch + l->n_meta, part, false);
	l->n_meta += part;
	return part == n && !layout_full(l);
}

/* As much of n as one piece of memory takes. 0: the layout ends here. */
static size_t layout_piece(struct layout *l, uint64_t n)
{
	struct block_flow *f = l->f;
	uint8_t *sink = f->scratch + FLOW_META_BYTES + l->n_sink;
	bool wanted = l->pos >= f->offset && l->pos < f->offset + f->length;

	if (l->pos < f->offset)
		n = MIN(n, f->offset - l->pos);
	if (wanted)
		n = MIN(n, f->segs[l->seg].n - l->seg_at);
	if (wanted && f->segs[l->seg].buf) {
		layout_add(l, f->segs[l->seg].buf + l->seg_at, n, true);
	} else {
		n = MIN(n, FLOW_SINK_BYTES - l->n_sink);
		if (n)
			layout_add(l, sink, n, true);
		l->n_sink += n;
	}
	l->pos += n;
	if (wanted)
		l->seg_at += n;
	if (wanted && l->seg_at == f->segs[l->seg].n) {
		l->seg++;
		l->seg_at = 0;
	}
	return n;
}

static bool layout_data(struct layout *l, uint64_t n)
{
	while (n && !layout_full(l)) {
		size_t part = layout_piece(l, n);

		if (!part)
			return false;
		n -= part;
	}
	return n == 0 && !layout_full(l);
}

/* The message, and in it the status (2 bytes) and what is said of checksums; found by counting. */
static size_t usual_answer(const struct block_flow *f)
{
	return 1 + 2 + 2 + 7 + 1 + pb_varint_bytes(f->offset / FLOW_USUAL_CHUNK * FLOW_USUAL_CHUNK);
}

static uint64_t usual_data(const struct layout *l)
{
	uint64_t end = flow_end(l->f);

	return l->pos < end ? MIN(l->f->usual_data, end - l->pos) : 0;
}

/* What is left of the packet that has begun. */
static bool layout_begun(struct layout *l)
{
	struct block_flow *f = l->f;
	uint64_t n_data = usual_data(l), usual = usual_answer(f);

	switch (f->phase) {
	case FLOW_ANSWER:
		l->pos = f->offset / f->chunk_bytes * f->chunk_bytes;
		return layout_meta(l, f->answer.n < usual ? usual - f->answer.n : 1);
	case FLOW_HEAD:
		if (!f->n_head)
			return true;
		if (!layout_meta(l, (f->n_head < f->usual_head ? f->usual_head - f->n_head : 1) + flow_sums(f, n_data)))
			return false;
		return layout_data(l, n_data);
	case FLOW_SUMS:
		return layout_meta(l, f->packet.n_sums - f->sums.n) && layout_data(l, f->packet.n_data);
	case FLOW_DATA:
		return layout_data(l, f->data_left);
	case FLOW_END:
		break;
	}
	return false;
}

void flow_layout(struct block_flow *f)
{
	struct layout l = {.f = f, .pos = f->pos, .seg = f->seg, .seg_at = f->seg_at};
	bool more;

	f->n_iov = 0;
	for (more = layout_begun(&l); more;) {
		uint64_t n_data = usual_data(&l);

		/* Behind the last data one empty packet is to come. */
		more = layout_meta(&l, f->usual_head + flow_sums(f, n_data)) && n_data && layout_data(&l, n_data);
	}
}
