/* SPDX-License-Identifier: Apache-2.0 */
/* A file is created, or opened to be appended to. */
#include "store/hdfs/write/write_file.h"
#include "wire/hadoop/pb.h"
#include "wire/hadoop/status.h"

/* Where the bytes go, behind `at` that are in the block already. */
static int bytes_init(struct write_file *f, uint64_t at)
{
	const struct hdfs_conf *c = f->w->conf;
	int r = packets_init(&f->packets, c->checksum_kind, c->bytes_per_sum, c->packet_bytes, f->how.block_bytes, at);

	f->has_packets = true;
	if (r == -EINVAL)
		err_set(&f->err, r, "%s: blocks of %llu bytes do not hold whole chunks of %u (dfs.bytes-per-checksum)", f->path,
			(unsigned long long)f->how.block_bytes, c->bytes_per_sum);
	return r;
}

static int open_status(struct write_file *f, struct str message)
{
	struct hdfs_status s;
	int r = hdfs_status_parse(message, &s);

	if (r < 0)
		return err_set(&f->err, r, "%s: the NameNode's answer has no file", f->path);
	f->name.file_id = s.file_id;
	if (s.encrypted)
		return err_set(&f->err, -EOPNOTSUPP, "%s lies in an encryption zone, which is not built yet", f->path);
	if (s.erasure_coded)
		return err_set(&f->err, -EOPNOTSUPP, "%s would be erasure-coded, which is not built yet: use a directory with"
			" the policy REPLICATION", f->path);
	if (f->how.append) {
		f->how.block_bytes = s.block_bytes;
		f->how.replication = s.replication;
	}
	return 0;
}

static void opened(struct write_file *f)
{
	lease_use(&f->w->lease);
	f->leased = true;
	f->phase = FILE_IDLE;
	write_file_step_end(f, 0);
}

/* An empty file that nobody can write to is not left behind. */
static void removed(struct write_file *f, int r, struct str answer)
{
	write_file_step_end(f, f->r);
}

/* The words are the caller's now: a call has its own. */
static void will_end(struct write_file *f, int r)
{
	f->r = r;
	if (f->step && f->step->err && !f->step->err->code)
		err_set(f->step->err, r, "%s", write_file_words(f, r));
}

static void open_refused(struct write_file *f, int r)
{
	struct buf *b;

	will_end(f, r);
	b = write_file_call(f, "delete", NN_AT_MOST_ONCE, removed);
	buf_pb_str(b, 1, f->path);
	buf_pb_u64(b, 2, 0);
	write_file_call_go(f);
}

static void created(struct write_file *f, int r, struct str answer)
{
	struct str message = {0};

	if (r < 0) {
		f->r = r;
		err_prefix(&f->err, r, "%s cannot be created: ", f->path);
		write_file_step_end(f, r);
		return;
	}
	message_field(answer, 1, &message);
	r = open_status(f, message);
	if (r == 0)
		r = bytes_init(f, 0);
	if (r < 0)
		open_refused(f, r);
	else
		opened(f);
}

static void create(struct write_file *f)
{
	uint16_t mode = f->how.mode ? f->how.mode : 0666;
	struct create_call c = {.mode = f->how.mode ? mode : (uint16_t)(mode & ~f->w->conf->umask), .unmasked = mode,
		.overwrite = !f->how.exclusive, .replication = f->how.replication, .block_bytes = f->how.block_bytes};

	put_create(write_file_call(f, "create", NN_AT_MOST_ONCE, created), &f->name, &c);
	write_file_call_go(f);
}

/* The last block is opened again when it is not full; else the next one is as of a new file. */
static int reopen(struct write_file *f, struct str located)
{
	int r;

	if (!located.n)
		return bytes_init(f, 0);
	r = write_file_take_block(f, located);
	if (r < 0)
		return r;
	if (f->block.n_bytes >= f->how.block_bytes) {
		f->has_block = false;
		f->previous = f->block;
		f->has_previous = true;
		return bytes_init(f, 0);
	}
	return bytes_init(f, f->block.n_bytes);
}

/* Nor is a file left open that we, or this engine's other writers, would keep from everybody by renewing the lease. */
static void recover(struct write_file *f)
{
	put_recover_lease(write_file_call(f, "recoverLease", NN_IDEMPOTENT, removed), &f->name);
	write_file_call_go(f);
}

static void completed(struct write_file *f, int r, struct str answer)
{
	if (r == 0 && !message_number(answer, 1, 0))
		recover(f);
	else
		write_file_step_end(f, f->r);
}

/* Whether append was executed is not known: complete() closes what this client has open, and nobody else's. */
static void append_lost(struct write_file *f, int r)
{
	will_end(f, r);
	put_complete(write_file_call(f, "complete", NN_IDEMPOTENT, completed), &f->name, NULL);
	write_file_call_go(f);
}

bool write_was_refused(int r)
{
	return r == -EACCES || r == -EPERM || r == -ENOENT || r == -ENOTDIR || r == -EDQUOT || r == -EROFS || r == -EINVAL;
}

static void append_failed(struct write_file *f, int r)
{
	err_prefix(&f->err, r, "%s cannot be appended to: ", f->path);
	if (write_was_refused(r)) {
		f->r = r;
		write_file_step_end(f, r);
	} else {
		append_lost(f, r);
	}
}

static void appended(struct write_file *f, int r, struct str answer)
{
	struct str located = {0}, status = {0};

	if (r < 0) {
		append_failed(f, r);
		return;
	}
	message_field(answer, 1, &located);
	message_field(answer, 2, &status);
	r = open_status(f, status);
	if (r == 0)
		r = reopen(f, located);
	if (r < 0) {
		will_end(f, r);
		recover(f);
		return;
	}
	opened(f);
	if (f->has_block)
		write_file_reopen(f);
}

void write_file_open(struct write_file *f)
{
	int r = 0;

	f->phase = FILE_OPENING;
	f->pipe = (struct pipeline){.loop = f->w->loop, .dns = f->w->dns, .conf = f->w->conf, .packets = &f->packets};
	r = pipeline_init(&f->pipe);
	f->has_pipe = r == 0;
	write_file_pipe_calls(f);
	if (r == 0)
		r = ask_init(&f->ask, f->w->loop, f->w->dns);
	f->has_ask = f->has_pipe;
	if (r < 0) {
		f->r = r;
		write_file_step_end(f, r);
	} else if (f->how.append) {
		put_append(write_file_call(f, "append", NN_AT_MOST_ONCE, appended), &f->name);
		write_file_call_go(f);
	} else {
		create(f);
	}
}
