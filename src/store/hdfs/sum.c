/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/sum.h"

#include <errno.h>

#include "base/scope.h"
#include "wire/hadoop/crc.h"

#define PIECE_BYTES (8u << 20)

static void sum_end(struct sum *s, int r)
{
	mem_free(s->range.buf);
	s->done(s, r);
}

static void sum_more(struct sum *s);

static void sum_read(struct read_job *job, int r)
{
	struct sum *s = job->ctx;

	if (r == 0)
		r = s->range.r;
	if (r < 0) {
		sum_end(s, r);
		return;
	}
	s->crc = crc_of(CRC_C, s->crc, s->range.buf, (size_t)s->range.length);
	s->range.offset += s->range.length;
	sum_more(s);
}

static void sum_more(struct sum *s)
{
	uint64_t length = s->sub.stat.file.length;

	if (s->range.offset == length) {
		s->req->checksum = (struct store_checksum){.length = length, .crc32c = s->crc};
		sum_end(s, 0);
		return;
	}
	if (s->req->cancelled) {
		sum_end(s, s->req->cancelled);
		return;
	}
	s->range.length = MIN(length - s->range.offset, PIECE_BYTES);
	s->range.done = 0;
	s->range.r = 0;
	s->reads_now = true;
	s->read = (struct read_job){.path = s->path, .file = &s->sub.stat.file, .ranges = &s->range, .n_ranges = 1,
		.prio = s->req->prio, .done = sum_read, .ctx = s, .err = s->req->err};
	read_start(s->reads, &s->read);
}

static void sum_looked(struct names_op *op, int r)
{
	struct sum *s = container_of(op, struct sum, op);

	if (r == 0 && s->sub.stat.kind != STORE_FILE)
		r = s->sub.stat.kind == STORE_DIR ? -EISDIR : -EINVAL;
	if (r == 0 && s->sub.stat.file.length) {
		s->range.buf = mem_alloc((size_t)MIN(s->sub.stat.file.length, PIECE_BYTES));
		r = s->range.buf ? 0 : -ENOMEM;
	}
	if (r < 0)
		sum_end(s, r);
	else
		sum_more(s);
}

void sum_start(struct sum *s)
{
	s->range = (struct store_range){0};
	s->crc = 0;
	s->reads_now = false;
	s->sub = (struct store_req){.loop = s->req->loop, .op = STORE_STAT, .path = s->path, .err = s->req->err};
	s->op = (struct names_op){.req = &s->sub, .path = s->path, .done = sum_looked};
	names_start(s->names, &s->op);
}

void sum_cancel(struct sum *s)
{
	if (s->reads_now)
		read_cancel(&s->read);
	else
		names_cancel(&s->op);
}
