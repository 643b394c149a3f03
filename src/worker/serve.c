/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/serve.h"

#include <string.h>

#include "base/hash.h"
#include "base/scope.h"
#include "media/media.h"

int worker_serve_ready(uint8_t reply[WORKMSG_BYTES])
{
	struct workmsg m = {.type = WORKMSG_READY, .version = WORKMSG_VERSION};
	int r = media_fingerprint(m.fingerprint);

	if (r < 0)
		return r;
	workmsg_encode(&m, reply);
	return 0;
}

static bool fits(uint64_t offset, uint64_t n, uint64_t size)
{
	return offset <= size && n <= size - offset;
}

static bool decode_is_valid(const struct recipe *recipe, const struct worker_memory *memory, const struct workmsg *m)
{
	return m->type == WORKMSG_DECODE && m->field < recipe->n_fields &&
		recipe->fields[m->field].kind == FIELD_IMAGE && fits(m->in_offset, m->in_length, memory->in_bytes) &&
		fits(m->out_offset, m->out_capacity, memory->out_bytes);
}

static int run(const struct recipe *recipe, const struct worker_memory *memory, const struct workmsg *m,
	struct media_result *result)
{
	int r;

	if (m->in_length > recipe->max_bytes) {
		snprintf(result->words, sizeof(result->words), "%llu encoded bytes, the limit is %llu",
			(unsigned long long)m->in_length, (unsigned long long)recipe->max_bytes);
		return E_LIMIT;
	}
	r = media_run(recipe, m->field, m->position, memory->in + m->in_offset, m->in_length, memory->out + m->out_offset,
		m->out_capacity, result);
	if ((r == 0 || r == -ENOSPC) && MAX(result->h, result->w) > RECIPE_MAX_SIDE) {
		snprintf(result->words, sizeof(result->words), "%ux%u pixels, the limit of a side is %u", result->h, result->w,
			RECIPE_MAX_SIDE);
		return E_LIMIT;
	}
	return r;
}

int worker_serve_answer(const struct recipe *recipe, const struct worker_memory *memory, const void *p, size_t n,
	uint8_t reply[WORKMSG_BYTES])
{
	struct media_result result = {0};
	struct workmsg m, done = {.type = WORKMSG_DONE};

	if (workmsg_decode(p, n, &m) < 0 || !decode_is_valid(recipe, memory, &m))
		return E_PROTOCOL;
	done.seq = m.seq;
	done.status = run(recipe, memory, &m, &result);
	done.n_warnings = result.n_warnings;
	if (done.status == 0 || done.status == -ENOSPC) {
		done.h = result.h;
		done.w = result.w;
		done.c = result.c;
	}
	if (done.status == 0)
		done.checksum = xxh3_of(memory->out + m.out_offset, (size_t)result.h * result.w * result.c);
	snprintf(done.words, sizeof(done.words), "%s", result.words);
	workmsg_encode(&done, reply);
	return 0;
}

/* Behind a memory pipe. */

struct served {
	struct recipe recipe;
	struct worker_memory memory;
	struct conn *conn;
};

static void served_end(struct served *s)
{
	conn_close(TAKE(s->conn));
}

static void served_can_read(struct conn *c, unsigned can, void *ctx)
{
	struct served *s = ctx;
	uint8_t bytes[WORKMSG_BYTES], reply[WORKMSG_BYTES];
	ssize_t n = conn_recv(c, bytes, sizeof(bytes), NULL, NULL);

	if (n == -EAGAIN)
		return;
	if (n <= 0 || worker_serve_answer(&s->recipe, &s->memory, bytes, (size_t)n, reply) < 0 ||
		conn_send(c, reply, sizeof(reply), NULL, 0) < 0)
		served_end(s);
}

int worker_serve_spawn(void *ctx, struct loop *loop, const struct recipe *recipe, const uint8_t *in, size_t in_bytes,
	uint8_t *out, size_t out_bytes, struct conn *end, void **ret_worker)
{
	struct served *s = mem_zalloc(sizeof(*s));
	uint8_t reply[WORKMSG_BYTES];
	int r;

	if (!s) {
		conn_close(end);
		return -ENOMEM;
	}
	s->recipe = *recipe;
	s->memory = (struct worker_memory){.in = in, .in_bytes = in_bytes, .out = out, .out_bytes = out_bytes};
	s->conn = end;
	r = worker_serve_ready(reply);
	if (r == 0)
		r = (int)MIN(conn_send(end, reply, sizeof(reply), NULL, 0), 0);
	if (r == 0)
		r = conn_want(end, CONN_READ, served_can_read, s);
	if (r < 0) {
		worker_serve_kill(ctx, s);
		return r;
	}
	*ret_worker = s;
	return 0;
}

void worker_serve_kill(void *ctx, void *worker)
{
	struct served *s = worker;

	served_end(s);
	mem_free(s);
}
