/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of olddog.h: a rank's side of the loader. */
#include "feed/client.h"

#include <string.h>

_Static_assert((int)OLDDOG_E_BAD_SAMPLE == (int)E_BAD_SAMPLE && (int)OLDDOG_E_CHANGED == (int)E_CHANGED &&
	(int)OLDDOG_E_OTHER_ORDER == (int)E_OTHER_ORDER && (int)OLDDOG_E_END == (int)E_END, "olddog.h has base/err.h's numbers");
_Static_assert((int)OLDDOG_IMAGE == (int)FIELD_IMAGE && (int)OLDDOG_JSON == (int)FIELD_JSON &&
	(int)OLDDOG_UINT8 == (int)DTYPE_UINT8 && (int)OLDDOG_FLOAT64 == (int)DTYPE_FLOAT64, "and recipes' numbers");
_Static_assert(sizeof(struct olddog_error) == sizeof(struct err), "one struct under two names");

const char *olddog_version(void)
{
	return OLDDOG_VERSION;
}

const char *olddog_strerror(int code)
{
	return err_text(code);
}

/* Batches. */

static void batch_link(struct olddog_loader *l, struct olddog_batch *b)
{
	b->loader = l;
	b->next = l->batches;
	b->prev = &l->batches;
	if (b->next)
		b->next->prev = &b->next;
	l->batches = b;
}

/* The head is decoded out of a copy: what is mapped can change under us. */
static int read_head(struct olddog_batch *b, uint32_t n)
{
	AUTO_FREE uint8_t *copy = mem_alloc(BATCHHEAD_ROOM);

	if (!copy)
		return -ENOMEM;
	if (n > BATCHHEAD_ROOM)
		return E_PROTOCOL;
	memcpy(copy, b->map->p, n);
	return batch_head_decode(copy, n, b->map->n_bytes, &b->head);
}

static int take_batch(struct olddog_loader *l, const struct rankmsg *m, int fd, struct olddog_batch **ret, struct err *e)
{
	struct olddog_batch *b = mem_zalloc(sizeof(*b));
	int r = b ? client_map(l, m->slot, fd, m->slot_bytes, &b->map) : -ENOMEM;

	r = r < 0 ? r : read_head(b, m->head_bytes);
	if (r < 0) {
		if (b)
			mapping_unref(b->map);
		mem_free(b);
		return err_set(e, r, "a batch of olddog-loader's cannot be used: %s", err_text(r));
	}
	b->pid = l->pid;
	b->slot = m->slot;
	b->incarnation = l->incarnation;
	batch_link(l, b);
	l->n_deaths = 0;
	client_at(l, m->end, m);
	*ret = b;
	return 0;
}

static int take_end(struct olddog_loader *l, const struct rankmsg *m, struct err *e)
{
	client_at(l, MAX(l->info.consumed, m->end), m);
	return err_set(e, E_END, "%s", err_text(E_END));
}

/* ENOBUFS passes when the user releases something; all else is the end (m->over). */
static int take_fail(const struct rankmsg *m, struct err *e)
{
	return err_set(e, m->code < 0 ? m->code : E_PROTOCOL, "%s", m->words ? m->words : err_text(m->code));
}

/* 1: a record that was no answer. */
static int take_answer(struct olddog_loader *l, const struct rankmsg *m, int fd, struct olddog_batch **ret, struct err *e)
{
	if (m->type == RANKMSG_BATCH) {
		l->asked = false;
		return take_batch(l, m, fd, ret, e);
	}
	fd_closep(&fd);
	if (m->type == RANKMSG_WARN) {
		client_warn(l, m->words);
		return 1;
	}
	l->asked = false;
	if (m->type == RANKMSG_END)
		return take_end(l, m, e);
	if (m->type == RANKMSG_FAIL)
		return take_fail(m, e);
	return err_set(e, E_PROTOCOL, "olddog-loader sent what it should not");
}

/* 1: again. */
static int ask_and_wait(struct olddog_loader *l, uint64_t deadline_ns, struct olddog_batch **ret, struct err *e)
{
	struct rankmsg m;
	int fd = -1, r = 0;

	if (!l->asked)
		r = link_send(&l->link, &(struct rankmsg){.type = RANKMSG_NEXT});
	l->asked = r == 0;
	r = r < 0 ? r : client_recv(l, deadline_ns, &m, &fd);
	if (r == -EPIPE)
		return client_lost(l, e);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : take_answer(l, &m, fd, ret, e);
}

static bool passes(int r)
{
	return r >= 0 || r == -EAGAIN || r == -EINTR || r == -ENOBUFS;
}

/* What does not pass is said again by every later call. */
static int step(struct olddog_loader *l, uint64_t deadline_ns, struct olddog_batch **ret, struct err *e)
{
	int r = l->opened ? ask_and_wait(l, deadline_ns, ret, e) : client_open_step(l, deadline_ns, e);

	if (r == E_END)
		l->ended = true;
	else if (!passes(r))
		err_set(&l->failed, r, "%s", err_words(e, r));
	return r;
}

int olddog_loader_next(struct olddog_loader *l, int timeout_ms, struct olddog_batch **ret_batch, struct olddog_error *e)
{
	uint64_t deadline_ns = link_deadline(timeout_ms);
	struct err words = {0};
	int r = 1;

	if (client_is_forked(l, err_of(e)))
		return -ECHILD;
	if (l->failed.code)
		return err_set(err_of(e), l->failed.code, "%s", l->failed.words);
	if (l->ended)
		return err_set(err_of(e), E_END, "%s", err_text(E_END));
	while (r == 1)
		r = step(l, deadline_ns, ret_batch, &words);
	return r < 0 ? err_set(err_of(e), r, "%s", err_words(&words, r)) : 0;
}

void olddog_batch_release(struct olddog_batch *b)
{
	if (!b)
		return;
	/* One of a loader that is gone, or that a parent process has, is nobody's concern there. */
	if (b->loader && b->pid == getpid() && b->incarnation == b->loader->incarnation)
		link_send(&b->loader->link, &(struct rankmsg){.type = RANKMSG_RELEASE, .slot = b->slot});
	if (b->loader) {
		*b->prev = b->next;
		if (b->next)
			b->next->prev = b->prev;
	}
	mapping_unref(b->map);
	mem_free(b);
}

/* Looking. */

void olddog_loader_get_info(const struct olddog_loader *l, struct olddog_loader_info *ret_info)
{
	*ret_info = l->info;
}

uint64_t olddog_loader_len(const struct olddog_loader *l)
{
	return l->info.n_batches_left;
}

const char *olddog_loader_state(struct olddog_loader *l)
{
	struct resume state = {.has_fields_id = true, .consumed = l->info.consumed};

	memcpy(state.order_id, l->info.order_id, SHA256_BYTES);
	memcpy(state.fields_id, l->info.fields_id, SHA256_BYTES);
	mem_free(l->state);
	l->state = resume_format(&state);
	return l->state;
}

int olddog_loader_fd(const struct olddog_loader *l)
{
	return l->link.fd;
}

void olddog_batch_get_info(const struct olddog_batch *b, struct olddog_batch_info *ret_info)
{
	const struct batch_head *h = &b->head;

	*ret_info = (struct olddog_batch_info){.begin = h->begin, .end = h->end, .epoch = h->epoch, .number = h->number,
		.n = h->n, .n_real = h->n_real, .last = h->last, .n_fields = h->n_fields};
}

int olddog_batch_get_field(const struct olddog_batch *b, unsigned i, struct olddog_field *ret_field)
{
	const struct batch_field *f = i < b->head.n_fields ? &b->head.fields[i] : NULL;
	const uint8_t *base = b->map->p;
	int64_t stride;

	if (!f)
		return -EINVAL;
	*ret_field = (struct olddog_field){.name = f->name, .kind = (enum olddog_kind)f->kind,
		.dtype = (enum olddog_dtype)f->dtype, .n_dims = f->n_dims, .data = (void *)(base + f->data_offset),
		.n_bytes = f->data_bytes, .offsets = f->offsets_offset ? (const void *)(base + f->offsets_offset) : NULL,
		.sizes = f->sizes_offset ? (const void *)(base + f->sizes_offset) : NULL};
	stride = dtype_bytes(f->dtype);
	for (unsigned k = f->n_dims; k-- > 0; stride *= (int64_t)f->dims[k]) {
		ret_field->dims[k] = f->dims[k];
		ret_field->strides_bytes[k] = stride;
	}
	return 0;
}
