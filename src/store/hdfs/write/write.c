/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/write/write.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/hdfs/write/write_file.h"

#define LEASE_POLL_NS NS_PER_MS

static void tell_refused(struct timer *t)
{
	struct writes *w = container_of(t, struct writes, refused_timer);

	for (struct list *e = list_pop(&w->refused); e; e = list_pop(&w->refused)) {
		struct write_step *step = container_of(e, struct write_step, list);

		step->done(step, err_set(step->err, -ENOMEM, "no memory to write a file"));
	}
}

int writes_new(struct loop *loop, const struct hdfs_conf *conf, struct nn *nn, struct dn_pool *dns,
	struct hdfs_counters *counters, struct writes **ret)
{
	AUTO_FREE struct writes *w = mem_zalloc(sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	*w = (struct writes){.loop = loop, .conf = conf, .nn = nn, .dns = dns, .counters = counters};
	list_init(&w->refused);
	timer_init(&w->refused_timer, loop, tell_refused);
	r = timer_reserve(&w->refused_timer);
	if (r == 0)
		r = lease_init(&w->lease, loop, nn, counters);
	if (r < 0) {
		timer_unreserve(&w->refused_timer);
		return r;
	}
	*ret = TAKE(w);
	return 0;
}

void writes_free(struct writes *w)
{
	if (!w)
		return;
	lease_release(&w->lease);
	timer_unreserve(&w->refused_timer);
	mem_free(w);
}

/* Calls. */

static void call_done(struct nn_call *call)
{
	struct write_file *f = call->ctx;

	f->calling = false;
	if (f->phase == FILE_ABORTING && !f->letting_go) {
		write_file_abort(f);
	} else if (f->phase != FILE_FAILED) {
		f->err = call->err;
		f->answered(f, call->r, call->answer);
	}
	nn_call_release(call);
}

struct buf *write_file_call(struct write_file *f, const char *method, enum nn_kind kind, write_file_answered *answered)
{
	struct nn_call *call = &f->calls[f->i_call ^= 1];

	assert(!f->calling);
	*call = (struct nn_call){.method = method, .kind = kind, .done = call_done, .ctx = f};
	buf_init(&call->body, MESSAGE_MAX);
	f->answered = answered;
	return &call->body;
}

void write_file_call_go(struct write_file *f)
{
	f->calling = true;
	nn_submit(f->w->nn, &f->calls[f->i_call]);
}

const char *write_file_words(const struct write_file *f, int r)
{
	return err_words(&f->err, r);
}

void write_file_pause(struct write_file *f, uint64_t ns, void (*resume)(struct write_file *f))
{
	f->resume = resume;
	timer_set(&f->pause_timer, loop_now(f->w->loop) + ns); /* reserved */
}

static void pause_over(struct timer *t)
{
	struct write_file *f = container_of(t, struct write_file, pause_timer);

	f->resume(f);
}

/* Steps. */

static void step_ended(struct write_file *f, struct write_step *step, int r)
{
	step->left = (uint64_t)(int64_t)r;
	list_add(&f->ended, &step->list);
	timer_set(&f->end_timer, loop_now(f->w->loop)); /* reserved */
}

void write_file_step_end(struct write_file *f, int r)
{
	struct write_step *step = TAKE(f->step);

	f->flushing = FLUSH_NONE;
	if (r < 0 && step->err && !step->err->code)
		err_set(step->err, r, "%s", write_file_words(f, r));
	step_ended(f, step, r);
}

static bool is_over(const struct write_step *step, int r)
{
	return step->kind == STEP_ABORT || (step->kind == STEP_CLOSE && r == 0) || (step->kind == STEP_OPEN && r < 0);
}

/* The last file waits for the end of a call that renewed its lease: its user may free everything then. */
static bool lease_quiet(struct write_file *f)
{
	struct lease *l = &f->w->lease;

	if (f->leased)
		lease_drop(l);
	f->leased = false;
	if (l->n_users || !l->calling)
		return true;
	timer_set(&f->end_timer, loop_now(f->w->loop) + LEASE_POLL_NS);
	return false;
}

static void tell_ends(struct timer *t)
{
	struct write_file *f = container_of(t, struct write_file, end_timer);
	struct write_step *step = container_of(f->ended.next, struct write_step, list);
	int r = (int)(int64_t)step->left;
	bool over = is_over(step, r);

	if (over && !lease_quiet(f))
		return;
	list_del(&step->list);
	if (!over && !list_empty(&f->ended))
		timer_set(&f->end_timer, loop_now(f->w->loop));
	step->file = over ? NULL : f;
	if (over)
		write_file_free(f);
	step->done(step, r);
}

void write_file_fail(struct write_file *f, int r, const char *fmt, ...)
{
	char words[sizeof(f->err.words)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	err_set(&f->err, r, "%s", words);
	f->r = r;
	if (f->has_pipe)
		pipeline_stop(&f->pipe);
	if (f->has_ask)
		ask_cancel(&f->ask);
	timer_clear(&f->pause_timer);
	if (f->phase != FILE_ABORTING)
		f->phase = FILE_FAILED;
	if (f->step && f->step->kind != STEP_ABORT)
		write_file_step_end(f, r);
}

/* What a step does. */

static void advance_bytes(struct write_file *f)
{
	struct write_step *step = f->step;
	int64_t n = packets_put(&f->packets, step->at, step->left);

	if (n < 0) {
		write_file_fail(f, (int)n, "no memory for what is to be written to %s", f->path);
		return;
	}
	step->at += n;
	step->left -= (uint64_t)n;
	if (!step->left)
		write_file_step_end(f, 0);
}

static void told(struct nn_call *call)
{
	struct write_file *f = call->ctx;
	int r = call->r;
	struct err err = call->err;

	f->telling = false;
	nn_call_release(call);
	if (f->phase == FILE_ABORTING) {
		write_file_abort(f);
	} else if (r < 0 && f->r == 0) {
		write_file_fail(f, r, "the NameNode did not take the length of %s: %s", f->path, err_words(&err, r));
	} else if (f->r == 0) {
		f->told_blocks = f->n_blocks;
		write_file_step_end(f, 0);
	}
}

/* Once for each block: from then on readers ask its DataNodes how long it is. */
static void flush_tell(struct write_file *f)
{
	if (f->told_blocks == f->n_blocks) {
		write_file_step_end(f, 0);
		return;
	}
	f->flushing = FLUSH_TELL;
	f->telling = true;
	f->tell = (struct nn_call){.method = "fsync", .kind = NN_IDEMPOTENT, .done = told, .ctx = f};
	buf_init(&f->tell.body, MESSAGE_MAX);
	put_fsync(&f->tell.body, &f->name, f->has_block ? f->pipe.acked_bytes : f->previous.n_bytes);
	nn_submit(f->w->nn, &f->tell);
}

static void advance_flush(struct write_file *f)
{
	int r;

	if (f->flushing == FLUSH_PUT) {
		r = packets_flush(&f->packets, f->flush_disk, &f->flush_seqno);
		if (r < 0 && r != -EAGAIN)
			write_file_fail(f, r, "no memory for a packet of %s", f->path);
		if (r < 0)
			return;
		f->flushed = true;
		f->flushing = FLUSH_ACK;
	}
	if (f->flushing == FLUSH_ACK && f->pipe.acked_seqno >= f->flush_seqno) {
		f->flushed = f->has_block; /* again: it may not have been there when its bytes were put */
		flush_tell(f);
	}
}

static void advance_close(struct write_file *f)
{
	int r = packets_end(&f->packets);

	if (r < 0 && r != -EAGAIN)
		write_file_fail(f, r, "no memory for a packet of %s", f->path);
	else if (r == 0 && f->phase == FILE_IDLE && list_empty(&f->packets.to_send))
		write_file_complete(f);
}

static void advance_step(struct write_file *f)
{
	switch (f->step->kind) {
	case STEP_BYTES:
		advance_bytes(f);
		break;
	case STEP_FLUSH:
		advance_flush(f);
		break;
	case STEP_CLOSE:
		advance_close(f);
		break;
	}
}

void write_file_advance(struct write_file *f)
{
	if (f->phase == FILE_OPENING || f->phase == FILE_FAILED || f->phase == FILE_ABORTING || f->phase == FILE_COMPLETING)
		return;
	if (f->step)
		advance_step(f);
	if (f->phase == FILE_IDLE && !list_empty(&f->packets.to_send))
		write_file_locate(f);
	else if (f->phase == FILE_STREAMING)
		pipeline_kick(&f->pipe);
}

/* Life. */

static struct write_file *write_file_new(struct writes *w, const char *path, const struct store_how *how)
{
	struct write_file *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->w = w;
	list_init(&f->ended);
	node_set_init(&f->exclude);
	node_set_init(&f->failed);
	buf_init(&f->token, MESSAGE_MAX);
	arena_init(&f->arena, MESSAGE_MAX);
	arena_init(&f->more_arena, MESSAGE_MAX);
	timer_init(&f->end_timer, w->loop, tell_ends);
	timer_init(&f->pause_timer, w->loop, pause_over);
	f->acked_at_break = -1;
	f->path = mem_strdup(path);
	f->name = (struct write_name){.path = f->path, .client = nn_client_name(w->nn)};
	f->how = how ? *how : (struct store_how){0};
	if (!f->how.block_bytes)
		f->how.block_bytes = w->conf->block_bytes;
	if (!f->how.replication)
		f->how.replication = w->conf->replication;
	if (!f->path || timer_reserve(&f->end_timer) < 0 || timer_reserve(&f->pause_timer) < 0) {
		write_file_free(f);
		return NULL;
	}
	return f;
}

void write_file_free(struct write_file *f)
{
	assert(!f->calling && !f->telling && !f->step && !f->leased);
	if (f->has_ask)
		ask_release(&f->ask);
	if (f->has_pipe)
		pipeline_release(&f->pipe);
	if (f->has_packets)
		packets_release(&f->packets);
	timer_unreserve(&f->end_timer);
	timer_unreserve(&f->pause_timer);
	node_set_clear(&f->exclude);
	node_set_clear(&f->failed);
	buf_release(&f->token);
	arena_release(&f->arena);
	arena_release(&f->more_arena);
	mem_free(f->pool);
	mem_free(f->path);
	mem_free(f);
}

static void step_begin(struct write_file *f, struct write_step *step, enum step_kind kind)
{
	assert(!f->step || kind == STEP_ABORT);
	step->file = f;
	step->kind = kind;
	list_init(&step->list);
	f->step = step;
}

void write_open(struct writes *w, struct write_step *step, const char *path, const struct store_how *how)
{
	struct write_file *f = write_file_new(w, path, how);

	if (!f) {
		step->file = NULL;
		list_add(&w->refused, &step->list);
		timer_set(&w->refused_timer, loop_now(w->loop)); /* reserved */
		return;
	}
	step_begin(f, step, STEP_OPEN);
	write_file_open(f);
}

/* Ends at once when nothing more can come of the file. */
static bool step_refused(struct write_file *f)
{
	if (f->r < 0)
		write_file_step_end(f, f->r);
	return f->r < 0;
}

void write_bytes(struct write_file *f, struct write_step *step, const void *p, uint64_t n)
{
	step_begin(f, step, STEP_BYTES);
	step->at = p;
	step->left = n;
	if (!step_refused(f))
		write_file_advance(f);
}

void write_flush(struct write_file *f, struct write_step *step, bool disk)
{
	step_begin(f, step, STEP_FLUSH);
	f->flush_disk = disk;
	f->flushing = FLUSH_PUT;
	if (!step_refused(f))
		write_file_advance(f);
}

void write_close(struct write_file *f, struct write_step *step)
{
	step_begin(f, step, STEP_CLOSE);
	if (!step_refused(f))
		write_file_advance(f);
}

uint64_t write_file_id(const struct write_file *f)
{
	return f->name.file_id;
}

void write_cancel(struct write_file *f)
{
	if (f->r < 0 || f->phase == FILE_ABORTING)
		return;
	if (f->phase != FILE_OPENING)
		write_file_fail(f, -ECANCELED, "writing %s was cancelled", f->path);
	else if (f->calling)
		nn_cancel(&f->calls[f->i_call]);
}

void write_abort(struct write_file *f, struct write_step *step)
{
	if (f->step) {
		err_set(&f->err, -ECANCELED, "writing %s was given up", f->path);
		write_file_step_end(f, -ECANCELED);
	}
	step_begin(f, step, STEP_ABORT);
	f->phase = FILE_ABORTING;
	write_file_abort(f);
}
