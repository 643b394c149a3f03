/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a file: asked for, set up, full; and the end of the file. */
#include <string.h>

#include "store/hdfs/write/write_file.h"

static int pool_take(struct write_file *f, const char *pool)
{
	if (!f->pool)
		f->pool = mem_strdup(pool);
	if (!f->pool)
		return err_set(&f->err, -ENOMEM, "no memory for a block of %s", f->path);
	return 0;
}

int write_file_take_block(struct write_file *f, struct str located)
{
	struct hdfs_located *at;
	int r;

	f->at = NULL;
	f->n_aside = 0;
	arena_release(&f->arena);
	at = arena_alloc(&f->arena, sizeof(*at));
	r = at ? hdfs_located_parse(&f->arena, located, at) : -ENOMEM;
	if (r == 0 && at->is_group)
		r = -EOPNOTSUPP;
	if (r == 0 && at->n_nodes == 0)
		r = E_PROTOCOL;
	if (r < 0)
		return err_set(&f->err, r, "%s: a block that cannot be written: %s", f->path, err_text(r));
	r = pool_take(f, at->block.pool);
	if (r < 0)
		return r;
	f->at = at;
	f->block = at->block;
	f->block.pool = f->pool;
	f->has_block = true;
	buf_clear(&f->token);
	r = buf_add(&f->token, at->token.p, at->token.n);
	f->n_blocks++;
	f->flushed = false;
	node_set_clear(&f->failed);
	f->pipe.acked_bytes = f->pipe.sent_bytes = f->block.n_bytes;
	f->n_breaks = 0;
	f->wait_since_ns = 0;
	return r;
}

static void up(struct pipeline *p)
{
	struct write_file *f = container_of(p, struct write_file, pipe);

	if (f->phase == FILE_MENDING) {
		write_file_mended(f);
		return;
	}
	f->stage = WRITE_STREAM;
	f->phase = FILE_STREAMING;
	f->n_setups = 0;
	f->excluded_all = false;
	write_file_advance(f);
}

static void acked(struct pipeline *p)
{
	struct write_file *f = container_of(p, struct write_file, pipe);

	f->w->counters->bytes_written += p->n_acked_fresh - f->n_counted;
	f->n_counted = p->n_acked_fresh;
	if (p->ended)
		write_file_block_ended(f);
	else
		write_file_advance(f);
}

static void broke(struct pipeline *p)
{
	struct write_file *f = container_of(p, struct write_file, pipe);

	if (f->calling)
		f->broken = true; /* first what the NameNode says */
	else
		write_file_broke(f);
}

void write_file_pipe_calls(struct write_file *f)
{
	f->pipe.up = up;
	f->pipe.acked = acked;
	f->pipe.broke = broke;
}

static void set_up(struct write_file *f)
{
	struct write_setup s = {.at = f->at, .block = f->block, .token = {(const char *)f->token.ptr, f->token.n},
		.client = f->name.client, .stage = write_wire_stage(WRITE_SETUP, false), .stamp = f->block.stamp,
		.kind = f->packets.kind, .bytes_per_sum = f->packets.bytes_per_sum};

	s.block.n_bytes = f->how.block_bytes;
	f->phase = FILE_SETTING_UP;
	f->stage = WRITE_SETUP;
	pipeline_start(&f->pipe, &s);
}

/* What nobody is left for may go to those that were left out after all: better a slow node than none. */
static bool forgive(struct write_file *f, int r)
{
	if (r != -ENOSPC || !f->exclude.n || f->excluded_all)
		return false;
	f->excluded_all = true;
	node_set_clear(&f->exclude);
	write_file_locate(f);
	return true;
}

static void located(struct write_file *f, int r, struct str answer)
{
	struct str block = {0};
	uint64_t wait_ns;

	wait_ns = r == -EAGAIN ? write_poll_ns(f->n_polls++) : 0;
	if (wait_ns) {
		write_file_pause(f, wait_ns, write_file_locate);
		return;
	}
	if (r < 0 && forgive(f, r))
		return;
	if (r < 0) {
		write_file_fail(f, r, "%s gets no block: %s", f->path, write_file_words(f, r));
		return;
	}
	f->n_polls = 0;
	message_field(answer, 1, &block);
	r = write_file_take_block(f, block);
	if (r < 0)
		write_file_fail(f, r, "%s", write_file_words(f, r));
	else
		set_up(f);
}

void write_file_locate(struct write_file *f)
{
	f->phase = FILE_LOCATING;
	node_set_expire(&f->exclude, loop_now(f->w->loop));
	put_add_block(write_file_call(f, "addBlock", NN_IDEMPOTENT, located), &f->name, f->has_previous ? &f->previous : NULL,
		&f->exclude);
	write_file_call_go(f);
}

void write_file_block_ended(struct write_file *f)
{
	pipeline_stop(&f->pipe);
	f->previous = f->block;
	f->previous.n_bytes = f->pipe.acked_bytes;
	f->has_previous = true;
	f->has_block = false;
	f->phase = FILE_IDLE;
	write_file_advance(f);
}

static void completed(struct write_file *f, int r, struct str answer)
{
	uint64_t wait_ns;

	if (r < 0) {
		write_file_fail(f, r, "%s cannot be closed: %s", f->path, write_file_words(f, r));
		return;
	}
	if (message_number(answer, 1, 0)) {
		write_file_step_end(f, 0);
		return;
	}
	wait_ns = write_poll_ns(f->n_polls++);
	if (wait_ns)
		write_file_pause(f, wait_ns, write_file_complete);
	else
		write_file_fail(f, -EIO, "%s cannot be closed: too few replicas of its last block were reported", f->path);
}

void write_file_complete(struct write_file *f)
{
	f->phase = FILE_COMPLETING;
	put_complete(write_file_call(f, "complete", NN_IDEMPOTENT, completed), &f->name, f->has_previous ? &f->previous : NULL);
	write_file_call_go(f);
}
