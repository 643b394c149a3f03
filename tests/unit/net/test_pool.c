/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: every job once and done on its loop, never more threads than allowed, one thread of order on virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "net/pool.h"

#define N_JOBS 300
#define N_THREADS 3

struct crowd {
	struct pool *pool;
	struct loop *loop;
	pthread_t loop_thread;
	_Atomic unsigned n_working, n_most;
	unsigned n_done, order[N_JOBS];
	struct sum {
		struct job job;
		struct crowd *crowd;
		unsigned id, n_worked, n_done;
		bool done_on_loop;
	} sums[N_JOBS];
};

static void sum_work(struct job *job)
{
	struct sum *s = container_of(job, struct sum, job);
	unsigned now = atomic_fetch_add(&s->crowd->n_working, 1) + 1, most = atomic_load(&s->crowd->n_most);

	while (now > most && !atomic_compare_exchange_weak(&s->crowd->n_most, &most, now))
		;
	s->n_worked++;
	atomic_fetch_sub(&s->crowd->n_working, 1);
}

static void sum_done(struct job *job)
{
	struct sum *s = container_of(job, struct sum, job);

	s->n_done++;
	s->done_on_loop = pthread_equal(pthread_self(), s->crowd->loop_thread);
	s->crowd->order[s->crowd->n_done++] = s->id;
}

static void crowd_submit(struct crowd *c, struct loop *loop, struct pool *pool)
{
	*c = (struct crowd){.pool = pool, .loop = loop, .loop_thread = pthread_self()};
	for (unsigned i = 0; i < N_JOBS; i++) {
		c->sums[i] = (struct sum){.job = {.work = sum_work, .done = sum_done}, .crowd = c, .id = i};
		pool_submit(pool, loop, &c->sums[i].job);
	}
	assert(c->n_done == 0);
}

static void check_once_and_on_the_loop(struct crowd *c)
{
	assert_int_equal(c->n_done, N_JOBS);
	for (unsigned i = 0; i < N_JOBS; i++) {
		assert_int_equal(c->sums[i].n_worked, 1);
		assert_int_equal(c->sums[i].n_done, 1);
		assert_true(c->sums[i].done_on_loop);
	}
}

static void threads_do_each_job_once(void **state)
{
	AUTO(pool) struct pool *pool = NULL;
	AUTO(loop) struct loop *loop = NULL;
	static struct crowd c;

	assert_int_equal(pool_new(N_THREADS, &pool), 0);
	assert_int_equal(loop_new(&loop), 0);
	for (unsigned i = 0; i < 3; i++) {
		crowd_submit(&c, loop, pool);
		assert_int_equal(loop_run(loop), 0);
		check_once_and_on_the_loop(&c);
		assert_true(c.n_most >= 1 && c.n_most <= N_THREADS);
	}
}

struct meeting {
	struct job job;
	pthread_barrier_t *all;
};

static void meeting_work(struct job *job)
{
	pthread_barrier_wait(container_of(job, struct meeting, job)->all);
}

static void meeting_done(struct job *job)
{
}

/* Each blocks until all are at it at once: hangs when one thread too few is called. Fresh threads first, then idle ones. */
static void jobs_that_block_get_all_threads(void **state)
{
	AUTO(pool) struct pool *pool = NULL;
	AUTO(loop) struct loop *loop = NULL;
	struct meeting m[N_THREADS];
	pthread_barrier_t all;

	assert_int_equal(pool_new(N_THREADS, &pool), 0);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(pthread_barrier_init(&all, NULL, N_THREADS), 0);
	for (unsigned turn = 0; turn < 100; turn++) {
		for (unsigned i = 0; i < N_THREADS; i++) {
			m[i] = (struct meeting){.job = {.work = meeting_work, .done = meeting_done}, .all = &all};
			pool_submit(pool, loop, &m[i].job);
		}
		assert_int_equal(loop_run(loop), 0);
	}
	pthread_barrier_destroy(&all);
}

/* One thread, held up until all have been submitted. */
#define MAX_RANKED 200

struct ranked {
	sem_t begun, go;
	struct job holder;
	struct ranked_job {
		struct job job;
		struct ranked *all;
	} jobs[MAX_RANKED];
	unsigned order[MAX_RANKED], n_done;
};

static void holder_work(struct job *job)
{
	struct ranked *r = container_of(job, struct ranked, holder);

	sem_post(&r->begun);
	sem_wait(&r->go);
}

static void ranked_work(struct job *job)
{
}

static void ranked_done(struct job *job)
{
	struct ranked_job *j = container_of(job, struct ranked_job, job);

	j->all->order[j->all->n_done++] = (unsigned)(j - j->all->jobs);
}

static void ranked_run(struct ranked *r, unsigned n, bool (*is_urgent)(unsigned i))
{
	AUTO(pool) struct pool *pool = NULL;
	AUTO(loop) struct loop *loop = NULL;

	*r = (struct ranked){.holder = {.work = holder_work, .done = meeting_done}};
	assert_int_equal(sem_init(&r->begun, 0, 0), 0);
	assert_int_equal(sem_init(&r->go, 0, 0), 0);
	assert_int_equal(pool_new(1, &pool), 0);
	assert_int_equal(loop_new(&loop), 0);
	pool_submit(pool, loop, &r->holder);
	sem_wait(&r->begun);
	for (unsigned i = 0; i < n; i++) {
		r->jobs[i] = (struct ranked_job){
			.job = {.work = ranked_work, .done = ranked_done, .urgent = is_urgent(i)}, .all = r};
		pool_submit(pool, loop, &r->jobs[i].job);
	}
	sem_post(&r->go);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(r->n_done, n);
}

static bool every_third(unsigned i)
{
	return i % 3 == 2;
}

static void urgent_jobs_go_before_others_each_in_their_order(void **state)
{
	static const unsigned want[] = {2, 5, 8, 0, 1, 3, 4, 6, 7};
	static struct ranked r;

	ranked_run(&r, N_ELEMS(want), every_third);
	assert_memory_equal(r.order, want, sizeof(want));
}

static bool all_but_the_first(unsigned i)
{
	return i > 0;
}

static void no_job_is_overtaken_for_ever(void **state)
{
	static struct ranked r;
	unsigned at = 0;

	ranked_run(&r, MAX_RANKED, all_but_the_first);
	while (r.order[at] != 0)
		at++;
	assert_in_range(at, 1, MAX_RANKED / 2);
	for (unsigned i = 1; i < MAX_RANKED; i++)
		assert_int_equal(r.order[i <= at ? i - 1 : i], i);
}

static void virtual_time_does_jobs_in_order_on_one_thread(void **state)
{
	AUTO(pool) struct pool *pool = NULL;
	AUTO(loop) struct loop *loop = NULL;
	static struct crowd c;

	assert_int_equal(pool_new(N_THREADS, &pool), 0);
	assert_int_equal(loop_new_virtual(&loop), 0);
	crowd_submit(&c, loop, pool);
	assert_int_equal(loop_run(loop), 0);
	check_once_and_on_the_loop(&c);
	assert_int_equal(c.n_most, 1);
	for (unsigned i = 0; i < N_JOBS; i++)
		assert_int_equal(c.order[i], i);
}

struct signals {
	struct job job;
	sigset_t blocked;
};

static void signals_work(struct job *job)
{
	struct signals *s = container_of(job, struct signals, job);

	pthread_sigmask(SIG_SETMASK, NULL, &s->blocked);
}

static void signals_done(struct job *job)
{
}

/* A handler on a pool's thread would run beside the loop, and make its system calls fail with EINTR. */
static void signals_are_left_to_the_loops_thread(void **state)
{
	struct signals s = {.job = {.work = signals_work, .done = signals_done}};
	AUTO(pool) struct pool *pool = NULL;
	AUTO(loop) struct loop *loop = NULL;
	sigset_t mine;

	assert_int_equal(pool_new(1, &pool), 0);
	assert_int_equal(loop_new(&loop), 0);
	pool_submit(pool, loop, &s.job);
	assert_int_equal(loop_run(loop), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	assert_true(sigismember(&s.blocked, SIGTERM) && sigismember(&s.blocked, SIGCHLD));
	assert_false(sigismember(&mine, SIGTERM));
}

static void *own_loop_main(void *arg)
{
	struct crowd *c = arg;
	struct pool *pool = c->pool;
	struct loop *loop;

	if (loop_new(&loop) < 0)
		return NULL;
	crowd_submit(c, loop, pool);
	loop_run(loop);
	loop_free(loop);
	return NULL;
}

static void several_loops_share_a_pool(void **state)
{
	AUTO(pool) struct pool *pool = NULL;
	static struct crowd crowds[4];
	pthread_t threads[4];

	assert_int_equal(pool_new(N_THREADS, &pool), 0);
	for (unsigned i = 0; i < N_ELEMS(threads); i++) {
		crowds[i].pool = pool;
		assert_int_equal(pthread_create(&threads[i], NULL, own_loop_main, &crowds[i]), 0);
	}
	for (unsigned i = 0; i < N_ELEMS(threads); i++) {
		pthread_join(threads[i], NULL);
		check_once_and_on_the_loop(&crowds[i]);
	}
}

/* Jobs that submit jobs, on a pool of one thread. */
struct chain {
	struct job job;
	struct pool *pool;
	struct loop *loop;
	unsigned left;
};

static void chain_work(struct job *job)
{
	container_of(job, struct chain, job)->left--;
}

static void chain_done(struct job *job)
{
	struct chain *c = container_of(job, struct chain, job);

	if (c->left)
		pool_submit(c->pool, c->loop, job);
}

static void a_done_job_may_be_submitted_again(void **state)
{
	AUTO(pool) struct pool *pool = NULL;
	AUTO(loop) struct loop *loop = NULL;
	struct chain c;

	assert_int_equal(pool_new(1, &pool), 0);
	assert_int_equal(loop_new(&loop), 0);
	c = (struct chain){.job = {.work = chain_work, .done = chain_done}, .pool = pool, .loop = loop, .left = 50};
	pool_submit(pool, loop, &c.job);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(c.left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_do_each_job_once),
		cmocka_unit_test(signals_are_left_to_the_loops_thread),
		cmocka_unit_test(jobs_that_block_get_all_threads),
		cmocka_unit_test(urgent_jobs_go_before_others_each_in_their_order),
		cmocka_unit_test(no_job_is_overtaken_for_ever),
		cmocka_unit_test(virtual_time_does_jobs_in_order_on_one_thread),
		cmocka_unit_test(several_loops_share_a_pool),
		cmocka_unit_test(a_done_job_may_be_submitted_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
