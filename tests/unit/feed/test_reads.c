/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests the engine makes of samples that follow one another in a shard, and that all of them are the right ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "base/str.h"
#include "feed/digest.h"
#include "feed/engine.h"
#include "store/engine.h"
#include "tiny.h"
#include "unit/tar_make.h"
#include "worker/serve.h"

#define N_SAMPLES 256
#define BATCH 16
#define LARGE_EACH 32
#define LARGE_BYTES (3u << 20)

#define SPEC                                                                                                 \
	"sources: [{data: 'ram:reads/0.tar'}]\n"                                                             \
	"fields: {txt: {from: txt, as: text}, bin: {from: bin, as: bytes}}\n"                                \
	"global_batch: 16\n"                                                                                 \
	"order: "

/* A store that counts what it is asked for, and breaks one range in so many. */
struct counter {
	struct store store;
	struct store *next;
	unsigned n_requests, n_ranges, n_urgent, break_each;
	uint64_t most_bytes;	/* from the first to the last of a request */
};

static void counter_submit(struct store *s, struct store_req *req)
{
	struct counter *c = container_of(s, struct counter, store);
	const struct store_range *last = &req->ranges[req->n_ranges - 1];

	c->n_requests++;
	c->n_urgent += req->prio == STORE_PRIO_URGENT;
	c->most_bytes = MAX(c->most_bytes, last->offset + last->length - req->ranges[0].offset);
	for (unsigned i = 0; i < req->n_ranges; i++) {
		struct store_range *range = &req->ranges[i];

		assert_true(i == 0 || range->offset >= range[-1].offset + range[-1].length);
		if (c->break_each && ++c->n_ranges % c->break_each == 0) {
			range->done = range->length / 2;
			range->r = -EIO;
		} else {
			range->done = range->length;
		}
		assert_int_equal(store_pread(c->next, req->path, NULL, range->buf, range->done, range->offset, NULL), 0);
	}
	store_req_finish(req, 0);
}

static void counter_free(struct store *s)
{
}

static const struct store_ops counter_ops = {.name = "counter", .submit = counter_submit, .free = counter_free};

static struct store *make_data(bool with_large)
{
	struct store *s = NULL;
	AUTO_FREE char *path = NULL, *large = mem_zalloc(LARGE_BYTES);
	AUTO_BUF struct buf tar;
	char name[32], text[32];

	buf_init(&tar, 64u << 20);
	for (unsigned i = 0; i < N_SAMPLES; i++) {
		snprintf(name, sizeof(name), "%04u.bin", i);
		tar_header(&tar, name, '0', with_large && i % LARGE_EACH == 5 ? LARGE_BYTES : 300);
		tar_data(&tar, large, with_large && i % LARGE_EACH == 5 ? LARGE_BYTES : 300);
		snprintf(name, sizeof(name), "%04u.txt", i);
		snprintf(text, sizeof(text), "sample %u", i);
		tar_file(&tar, name, text);
	}
	tar_end(&tar);
	assert_int_equal(store_open("ram:reads/", &s, &path, NULL), 0);
	assert_int_equal(store_write_all(s, "0.tar", tar.ptr, tar.n, NULL), 0);
	return s;
}

struct run {
	struct loop *loop;
	struct engine *engine;
	struct stream *stream;
	struct engine_counts counts;
	uint64_t n;
	bool in_order, ended, closed;
};

static void check_sample(struct run *run, const struct stream_batch *b, uint32_t i)
{
	AUTO_BUF struct buf scratch;
	struct sample_view v;
	char want[32];

	buf_init(&scratch, 1 << 20);
	for (unsigned k = 0; k < b->head.n_fields; k++) {
		const struct batch_field *f = &b->head.fields[k];

		if (strcmp(f->name, "txt") != 0)
			continue;
		assert_int_equal(sample_view(&b->head, b->slot->p, f, i, &scratch, &v), 0);
		snprintf(want, sizeof(want), "sample %llu", (unsigned long long)run->n);
		assert_true(v.n_bytes >= strlen("sample 0"));
		if (run->in_order)
			assert_memory_equal(v.p, want, MAX(v.n_bytes, strlen(want)));
	}
	run->n++;
}

static void take(void *ctx)
{
	struct run *run = ctx;
	struct stream_batch *b;
	struct err e = {0};
	int r = 0;

	while (!run->ended && (r = stream_next(run->stream, &b, &e)) == 0) {
		for (uint32_t i = 0; i < b->head.n; i++)
			check_sample(run, b, i);
		stream_release(run->stream, b);
	}
	if (r < 0 && r != -EAGAIN && r != E_END)
		fail_msg("%s", e.words);
	run->ended = r == E_END;
}

static void on_closed(void *ctx)
{
	((struct run *)ctx)->closed = true;
}

static struct engine_counts run_all(const char *order, struct counter *c, bool with_large)
{
	AUTO_STORE struct store *data = make_data(with_large);
	AUTO_FREE char *text = mem_printf(SPEC "%s\n", order);
	struct run run = {.in_order = strcmp(order, "sequential") == 0};
	struct engine_conf conf = {.n_workers = 1, .spawn = worker_serve_spawn, .kill = worker_serve_kill, .through = &c->store};
	struct stream_conf sc = {.dp_size = 1, .n_epochs = 1, .ready = take, .ctx = &run};
	struct plan_conf pc = {.n_threads = 1};
	struct spec *spec = NULL;
	struct plan *plan = NULL;
	struct err e = {0};

	assert_non_null(text);
	store_init(&c->store, &counter_ops);
	c->next = data;
	if (spec_parse("reads", text, strlen(text), &spec, &e) < 0 || plan_make(spec, NULL, &pc, &plan, &e) < 0)
		fail_msg("%s", e.words);
	assert_int_equal(loop_new_virtual(&run.loop), 0);
	conf.loop = run.loop;
	conf.plan = plan;
	assert_int_equal(engine_new(&conf, &run.engine, &e), 0);
	assert_int_equal(stream_open(run.engine, &sc, &run.stream, &e), 0);
	take(&run);
	assert_int_equal(loop_run_until(run.loop, &run.ended), 0);
	assert_int_equal(run.n, N_SAMPLES);
	engine_counts_get(run.engine, &run.counts);
	engine_close(run.engine, on_closed, &run);
	assert_int_equal(loop_run_until(run.loop, &run.closed), 0);
	plan_free(plan);
	loop_free(run.loop);
	return run.counts;
}

static void a_batch_in_order_is_one_request(void **state)
{
	struct counter c = {.break_each = 0};

	run_all("sequential", &c, false);
	assert_int_equal(c.n_requests, N_SAMPLES / BATCH);
	assert_in_range(c.n_urgent, 1, c.n_requests - 1);
}

static void requests_are_bounded(void **state)
{
	struct counter c = {.break_each = 0};

	run_all("sequential", &c, true);
	/* Each large member goes alone. */
	assert_in_range(c.most_bytes, LARGE_BYTES, LARGE_BYTES);
	assert_in_range(c.n_requests, N_SAMPLES / BATCH + N_SAMPLES / LARGE_EACH, 4 * N_SAMPLES / BATCH);
}

static void the_fields_of_a_sample_are_one_request_in_any_order(void **state)
{
	struct counter c = {.break_each = 0};

	run_all("shuffle", &c, false);
	assert_in_range(c.n_requests, N_SAMPLES / BATCH, N_SAMPLES);
}

/* The others of its request have what they asked for. */
static void what_failed_is_read_again_alone(void **state)
{
	struct counter c = {.break_each = 7};
	struct engine_counts counts = run_all("sequential", &c, false);

	assert_int_equal(counts.n_retries, c.n_ranges / 7);
	assert_int_equal(c.n_ranges, 2 * N_SAMPLES + counts.n_retries);
	assert_int_equal(counts.n_samples, N_SAMPLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_in_order_is_one_request),
		cmocka_unit_test(requests_are_bounded),
		cmocka_unit_test(the_fields_of_a_sample_are_one_request_in_any_order),
		cmocka_unit_test(what_failed_is_read_again_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
