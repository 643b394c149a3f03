/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads on one engine: each gets what it asked for, whoever else asks, cancels, or looks at the counters. The thread
 * sanitizer sees what this cannot (scripts/test races).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/thread.h"
#include "read_world.h"
#include "store/hdfs/hdfs.h"

#define N_THREADS 8u
#define N_ROUNDS 30u
#define FILE_BYTES 900000u

/* The engine, the NameNode and the DataNodes, all on one thread. */
struct house {
	struct loop_thread *thread;
	struct task task;
	struct world *world;
	struct store *store;
	pthread_barrier_t met;
};

struct asker {
	struct house *house;
	struct store *store;	/* of a test's own */
	pthread_t thread;
	unsigned id;
	unsigned n_right, n_late;
};

static void house_call(struct house *h, void (*fn)(struct task *t))
{
	h->task.fn = fn;
	loop_post(loop_thread_loop(h->thread), &h->task);
	pthread_barrier_wait(&h->met);
}

static void house_build(struct task *t)
{
	struct house *h = container_of(t, struct house, task);
	static const char xml[] = "<configuration/>";
	AUTO(site) struct site *site = NULL;
	struct hdfs_conf conf;

	h->world = world_new_on(loop_thread_loop(h->thread));
	world_file(h->world, FILE_BYTES, 300000, 2);
	assert_int_equal(site_parse(xml, sizeof(xml) - 1, &site, NULL), 0);
	assert_int_equal(hdfs_conf_of(site, "nn:8020", &conf, NULL), 0);
	assert_int_equal(hdfs_open_with(h->world->loop, &conf, fake_net_dialer(h->world->net), &h->store), 0);
	pthread_barrier_wait(&h->met);
}

static void house_end(struct task *t)
{
	struct house *h = container_of(t, struct house, task);

	store_unref(h->store);
	world_free_on(h->world);
	pthread_barrier_wait(&h->met);
}

static void count(void *ctx, const char *name, uint64_t value)
{
	*(uint64_t *)ctx += value;
}

static void all_of_it(struct asker *a, const struct store_file *file)
{
	uint64_t offset = a->id * 1000, n = FILE_BYTES - offset, seen = 0;
	uint8_t *p = malloc(n);

	store_counters(a->house->store, count, &seen);
	if (store_pread(a->house->store, "f", file, p, n, offset, NULL) == 0)
		a->n_right += memcmp(p, a->house->world->file.bytes + offset, n) == 0;
	store_counters_of_all(count, &seen);
	free(p);
}

struct request {
	struct store_req req;
	bool done;
};

static void on_done(struct store_req *req)
{
	container_of(req, struct request, req)->done = true;
}

/* One that is given up on its way, sooner or later. */
static void part_of_it(struct store *store, const char *path, uint64_t ns, unsigned *n_late)
{
	struct store_range range = {.length = 5000};
	struct request q = {.req = {.op = STORE_READ, .path = path, .ranges = &range, .n_ranges = 1, .done = on_done}};
	AUTO(loop) struct loop *loop = NULL;

	range.buf = malloc(range.length);
	if (loop_new(&loop) == 0) {
		q.req.loop = loop;
		q.req.deadline_ns = loop_now(loop) + ns;
		store_submit(store, &q.req);
		loop_run_until(loop, &q.done);
		*n_late += q.req.r == -ETIMEDOUT;
	}
	free(range.buf);
}

static void *ask(void *arg)
{
	struct asker *a = arg;
	struct store_stat stat;

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		bool known = store_stat(a->house->store, "f", &stat, NULL) == 0;

		all_of_it(a, known && i % 2 ? &stat.file : NULL);
		part_of_it(a->house->store, "f", i * 100 * NS_PER_US, &a->n_late);
	}
	return NULL;
}

static void threads_share_an_engine(void **state)
{
	struct house h = {0};
	struct asker askers[N_THREADS];

	assert_int_equal(pthread_barrier_init(&h.met, NULL, 2), 0);
	assert_int_equal(loop_thread_new("house", &h.thread), 0);
	house_call(&h, house_build);
	for (unsigned i = 0; i < N_THREADS; i++) {
		askers[i] = (struct asker){.house = &h, .id = i};
		assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		pthread_join(askers[i].thread, NULL);
		assert_int_equal(askers[i].n_right, N_ROUNDS);
	}
	house_call(&h, house_end);
	loop_thread_free(h.thread);
	pthread_barrier_destroy(&h.met);
}

/* Each opens and closes, while others do; the first that asks starts the engine's thread, and the last to close ends it. */
static void *come_and_go(void *arg)
{
	struct asker *a = arg;

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		struct store *s = NULL;
		char *path = NULL;

		if (i % 3 == 0)
			part_of_it(a->store, "f", NS_PER_MS, &a->n_late);
		if (store_open("hdfs://127.0.0.1:1/f", &s, &path, NULL) < 0)
			continue;
		part_of_it(s, path, NS_PER_MS, &a->n_late);
		mem_free(path);
		store_unref(s);
	}
	return NULL;
}

static void engines_come_and_go(void **state)
{
	struct asker askers[N_THREADS];
	struct store *s;
	char *path;

	/* Nothing answers at that port, and it is asked again and again until the deadline. */
	setenv("HADOOP_CONF_DIR", "/dev/null/none", 1);
	if (store_open("hdfs://127.0.0.1:1/f", &s, &path, NULL) < 0) {
		unsetenv("HADOOP_CONF_DIR");
		assert_int_equal(store_open("hdfs://127.0.0.1:1/f", &s, &path, NULL), 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		askers[i] = (struct asker){.store = s, .id = i};
		assert_int_equal(pthread_create(&askers[i].thread, NULL, come_and_go, &askers[i]), 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		pthread_join(askers[i].thread, NULL);
		assert_true(askers[i].n_late > 0);
	}
	mem_free(path);
	store_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_an_engine),
		cmocka_unit_test(engines_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
