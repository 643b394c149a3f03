/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end without success. A file of ours is closed without its last block, so that its lease is let go at once. A file that
 * was appended to keeps what readers may have seen: the NameNode recovers its last block, and closes it.
 */
#include "store/hdfs/write/write_file.h"

static void abort_go(struct write_file *f);

static void answered(struct write_file *f, int r, struct str answer)
{
	abort_go(f);
}

static void give_block_back(struct write_file *f)
{
	f->has_block = false;
	put_abandon(write_file_call(f, "abandonBlock", NN_IDEMPOTENT, answered), &f->name, &f->block);
	write_file_call_go(f);
}

static void recover(struct write_file *f)
{
	f->letting_go = true;
	put_recover_lease(write_file_call(f, "recoverLease", NN_IDEMPOTENT, answered), &f->name);
	write_file_call_go(f);
}

/* The NameNode may count a block that was never heard of here; a new file goes away with its lease. */
static void completed(struct write_file *f, int r, struct str answer)
{
	if (f->how.append && (r < 0 || !message_number(answer, 1, 0)))
		recover(f);
	else
		abort_go(f);
}

static void let_go(struct write_file *f)
{
	if (f->has_block) {
		recover(f);
		return;
	}
	f->letting_go = true;
	put_complete(write_file_call(f, "complete", NN_IDEMPOTENT, completed), &f->name,
		f->has_previous ? &f->previous : NULL);
	write_file_call_go(f);
}

/* What fails on the way is no matter: the NameNode lets go by itself in the end. */
static void abort_go(struct write_file *f)
{
	if (!f->leased || f->letting_go)
		write_file_step_end(f, 0);
	else if (f->has_block && !f->how.append)
		give_block_back(f);
	else
		let_go(f);
}

void write_file_abort(struct write_file *f)
{
	pipeline_stop(&f->pipe);
	ask_cancel(&f->ask);
	timer_clear(&f->pause_timer);
	/* Their ends come back to here. */
	if (f->calling)
		nn_cancel(&f->calls[f->i_call]);
	if (f->telling)
		nn_cancel(&f->tell);
	if (!f->calling && !f->telling)
		abort_go(f);
}
