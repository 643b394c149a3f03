/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a loader, and opening it again at the same place when an olddog-loader was lost. */
#include "feed/client.h"

#include <limits.h>
#include <string.h>

#include "feed/job.h"

/* olddog-loaders that may be lost one after another, with no batch in between, before that is an error. */
#define MAX_DEATHS 5

/* What OPEN will say. */

static int add_text(struct olddog_loader *l, const char *text, const char **ret)
{
	*ret = arena_strndup(&l->texts, text, strlen(text));
	return *ret ? 0 : -ENOMEM;
}

/* "scheme:": letters, digits, + . - before the first colon. */
static bool is_url(const char *path)
{
	size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

	return n > 0 && path[n] == ':';
}

/* Ranks of a job may be started in different folders. */
static int add_path(struct olddog_loader *l, const char *path, const char **ret)
{
	char folder[PATH_MAX];

	if (path[0] == '/' || is_url(path))
		return add_text(l, path, ret);
	if (!getcwd(folder, sizeof(folder)))
		return -errno;
	AUTO_FREE char *whole = mem_printf("%s/%s", folder, path);

	return whole ? add_text(l, whole, ret) : -ENOMEM;
}

static int take_texts(struct olddog_loader *l, const struct olddog_loader_conf *c)
{
	struct rankmsg *m = &l->open;
	int r = 0;

	for (m->n_paths = 0; m->n_paths < c->n_paths && r == 0; m->n_paths++)
		r = add_path(l, c->paths[m->n_paths], &m->paths[m->n_paths]);
	for (m->n_fields = 0; c->fields && m->n_fields < c->n_fields && r == 0; m->n_fields++)
		r = add_text(l, c->fields[m->n_fields], &m->fields[m->n_fields]);
	if (r == 0 && c->transform)
		r = add_text(l, c->transform, &m->transform);
	return r;
}

static int take_state(struct olddog_loader *l, const char *text, struct err *e)
{
	struct resume state;
	int r;

	if (!text)
		return 0;
	r = resume_parse(text, strlen(text), &state, e);
	if (r < 0)
		return r;
	l->open.consumed = state.consumed;
	l->open.has_order_id = true;
	memcpy(l->open.order_id, state.order_id, SHA256_BYTES);
	if (state.has_fields_id)
		memcpy(l->open.fields_id, state.fields_id, SHA256_BYTES);
	return 0;
}

static int check_conf(const struct olddog_loader_conf *c, struct err *e)
{
	if (c->n_paths < 1 || c->n_paths > RANKMSG_MAX_PATHS)
		return err_set(e, -EINVAL, "%u paths; there must be 1 to %d: a glob or brace range is one", c->n_paths,
			RANKMSG_MAX_PATHS);
	if (c->n_fields > RECIPE_MAX_FIELDS)
		return err_set(e, -EINVAL, "%u fields; at most %d", c->n_fields, RECIPE_MAX_FIELDS);
	if (c->dp_size && c->dp_rank >= c->dp_size)
		return err_set(e, -EINVAL, "dp_rank %u of dp_size %u: ranks go from 0 to dp_size - 1", c->dp_rank, c->dp_size);
	return 0;
}

static int take_conf(struct olddog_loader *l, const struct olddog_loader_conf *c, struct err *e)
{
	int r = check_conf(c, e);

	if (r < 0)
		return r;
	l->open = (struct rankmsg){.type = RANKMSG_OPEN, .version = RANKMSG_VERSION, .dp_rank = c->dp_rank,
		.dp_size = c->dp_size ? c->dp_size : 1, .batch = c->batch, .batch_is_global = c->batch_is_global,
		.tail = c->tail, .consumed = c->consumed, .n_epochs = c->n_epochs, .n_workers = c->n_workers,
		.max_bytes = c->max_bytes};
	l->warn = c->warn;
	l->ctx = c->ctx;
	l->job = job_name(c->job);
	r = l->job ? take_texts(l, c) : -ENOMEM;
	if (r < 0)
		return err_set(e, r, "paths, fields and transform could not be kept (at most %u bytes): %s",
			RANKMSG_MAX_BYTES, err_text(r));
	return take_state(l, c->state, e);
}

void client_at(struct olddog_loader *l, uint64_t consumed, const struct rankmsg *m)
{
	l->open.consumed = l->info.consumed = consumed;
	l->info.epoch = consumed / l->info.epoch_len;
	l->info.n_batches_left = m->n_left;
	l->info.n_batches = m->n_batches;
}

bool client_is_forked(const struct olddog_loader *l, struct err *e)
{
	if (l->pid == getpid())
		return false;
	err_set(e, -ECHILD, "this loader belongs to process %d, before its fork(); open one here", (int)l->pid);
	return true;
}

void client_warn(struct olddog_loader *l, const char *words)
{
	if (l->warn)
		l->warn(l->ctx, words ? words : "");
}

static bool is_zero(const uint8_t id[SHA256_BYTES])
{
	static const uint8_t zero[SHA256_BYTES];

	return memcmp(id, zero, SHA256_BYTES) == 0;
}

static uint64_t end_of(uint64_t consumed, uint64_t n_epochs, uint64_t epoch_len)
{
	uint64_t end;

	if (n_epochs == 0 || __builtin_add_overflow(consumed / epoch_len, n_epochs, &end) ||
		__builtin_mul_overflow(end, epoch_len, &end))
		return UINT64_MAX;
	return end;
}

static int take_opened(struct olddog_loader *l, const struct rankmsg *m)
{
	if (m->epoch_len == 0)
		return E_PROTOCOL;
	if (l->incarnation == 0) {
		l->end = end_of(l->open.consumed, l->open.n_epochs, m->epoch_len);
		if (!is_zero(l->open.fields_id) && memcmp(l->open.fields_id, m->fields_id, SHA256_BYTES) != 0)
			client_warn(l, "the state was kept with other fields or transforms: positions go on, pixels differ");
	}
	if (m->pid)
		l->loader_pid = (pid_t)m->pid;
	l->info = (struct olddog_loader_info){.n_samples = m->n_samples, .epoch_len = m->epoch_len,
		.global_batch = m->global_batch, .seed = m->seed};
	client_at(l, l->open.consumed, m);
	memcpy(l->info.order_id, m->order_id, SHA256_BYTES);
	memcpy(l->info.fields_id, m->fields_id, SHA256_BYTES);
	/* Whatever is opened later in place of this must be the same. */
	memcpy(l->open.order_id, m->order_id, SHA256_BYTES);
	l->open.has_order_id = true;
	l->incarnation++;
	return 0;
}

static int protocol_failed(struct err *e)
{
	return err_set(e, E_PROTOCOL, "olddog-loader sent what it should not: it and this library are of different "
		"versions, or one is broken");
}

static int take_refusal(const struct rankmsg *m, struct err *e)
{
	return err_set(e, m->code < 0 ? m->code : E_PROTOCOL, "%s", m->words ? m->words : err_text(m->code));
}

/* The answer to OPEN. Past the deadline, -EAGAIN, it is still awaited. */
static int await_opened(struct olddog_loader *l, uint64_t deadline_ns, struct err *e)
{
	struct rankmsg m;
	int fd = -1, r;

	while ((r = client_recv(l, deadline_ns, &m, &fd)) == 0) {
		fd_closep(&fd);
		fd = -1;
		if (m.type == RANKMSG_FAIL)
			return take_refusal(&m, e);
		if (m.type == RANKMSG_OPENED)
			return take_opened(l, &m) < 0 ? protocol_failed(e) : 0;
		if (m.type != RANKMSG_WARN)
			return protocol_failed(e);
		if (l->incarnation == 0)
			client_warn(l, m.words);
	}
	return r == E_PROTOCOL ? protocol_failed(e) : err_set(e, r, "%s", err_text(r));
}

/* 1: asked, the answer is awaited. */
static int ask_to_open(struct olddog_loader *l, uint64_t deadline_ns, struct err *e)
{
	int r = link_connect(&l->link, l->job, deadline_ns, e);

	if (r == -ETIMEDOUT)
		return -EAGAIN;
	if (r < 0)
		return r;
	client_see_peer(l);
	r = link_send(&l->link, &l->open);
	/* Who was turned away at once finds the reason still waiting to be read. */
	if (r == -EPIPE)
		return 1;
	return r < 0 ? err_set(e, r, "asking olddog-loader: %s", err_text(r)) : 1;
}

int client_lost(struct olddog_loader *l, struct err *e)
{
	link_close(&l->link);
	l->opened = l->asked = false;
	l->loader_pid = 0;
	l->look_ns = 0;
	client_unmap_all(l);
	/* One that ends just when it is connected to is as one that was not there, but not for ever. */
	if (++l->n_deaths > MAX_DEATHS)
		return err_set(e, -ECONNRESET, "olddog-loader ended %u times with no batch in between; it says why in the "
			"file OLDDOG_LOADER_LOG when that is set (out of memory: in the kernel's log)", l->n_deaths);
	if (l->incarnation > 0 && l->end != UINT64_MAX)
		l->open.n_epochs = l->end / l->info.epoch_len - l->info.consumed / l->info.epoch_len;
	return 1;
}

int client_open_step(struct olddog_loader *l, uint64_t deadline_ns, struct err *e)
{
	int r;

	if (l->incarnation > 0 && l->info.consumed >= l->end)
		return err_set(e, E_END, "%s", err_text(E_END));
	r = l->link.conn ? await_opened(l, deadline_ns, e) : ask_to_open(l, deadline_ns, e);
	if (r == 0)
		l->opened = true;
	return r == -EPIPE ? client_lost(l, e) : r == 0 ? 1 : r;
}

static struct olddog_loader *loader_new(void)
{
	struct olddog_loader *l = mem_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	l->pid = getpid();
	l->maps.max = CLIENT_MAX_SLOTS;
	arena_init(&l->texts, RANKMSG_MAX_BYTES);
	if (link_init(&l->link) == 0)
		return l;
	olddog_loader_close(l);
	return NULL;
}

int olddog_loader_begin(const struct olddog_loader_conf *conf, struct olddog_loader **ret_loader, struct olddog_error *e)
{
	struct olddog_loader_conf c = {.size = sizeof(c)};
	struct olddog_loader *l = loader_new();
	struct err words = {0};
	int r;

	memcpy(&c, conf, MIN(conf->size, sizeof(c)));
	if (!l)
		return err_set(err_of(e), -ENOMEM, "no memory for a loader");
	r = take_conf(l, &c, &words);
	if (r < 0) {
		olddog_loader_close(l);
		return err_set(err_of(e), r, "%s", err_words(&words, r));
	}
	*ret_loader = l;
	return 0;
}

int olddog_loader_await(struct olddog_loader *l, int timeout_ms, struct olddog_error *e)
{
	uint64_t deadline_ns = link_deadline(timeout_ms);
	struct err words = {0};
	int r = 1;

	if (client_is_forked(l, err_of(e)))
		return -ECHILD;
	while (r > 0 && !l->opened)
		r = client_open_step(l, deadline_ns, &words);
	return r < 0 ? err_set(err_of(e), r, "%s", err_words(&words, r)) : 0;
}

int olddog_loader_open(const struct olddog_loader_conf *conf, int timeout_ms, struct olddog_loader **ret_loader,
	struct olddog_error *e)
{
	struct olddog_loader *l;
	int r = olddog_loader_begin(conf, &l, e);

	if (r < 0)
		return r;
	r = olddog_loader_await(l, timeout_ms, e);
	if (r == 0) {
		*ret_loader = l;
		return 0;
	}
	olddog_loader_close(l);
	return r == -EAGAIN ? err_set(err_of(e), -ETIMEDOUT, "olddog-loader did not open the plan within %d ms",
		timeout_ms) : r;
}

void olddog_loader_close(struct olddog_loader *l)
{
	if (!l)
		return;
	for (struct olddog_batch *b = l->batches, *next; b; b = next) {
		next = b->next;
		b->loader = NULL;
		b->prev = NULL;
	}
	client_unmap_all(l);
	vec_release(&l->maps);
	link_release(&l->link);
	arena_release(&l->texts);
	mem_free(l->job);
	mem_free(l->state);
	mem_free(l);
}
