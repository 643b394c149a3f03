/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of threads: one queue. A wake-up costs more than a short job (a read from the page cache), so there is at most
 * one thread on its way at a time: who comes with a job wakes the first, and each that is up wakes the next before it
 * begins a job, as long as others wait. Jobs that are short are done by the one or two that are up before more have come,
 * and handed to their loops several at a time; jobs that block have all threads within as many wake-ups.
 * doc/design/0014-host-process.md.
 */
#include "net/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* Urgent ones that may go before the same other. */
#define MAX_OVERTAKE 64
/* Jobs that a loop is woken for at once. */
#define MAX_KEPT 8

struct pool {
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t work_came;
	struct job *queue, **queue_tail, **urgent_tail; /* the urgent ones first; behind the last of them */
	unsigned n_overtook; /* urgent ones, since another was taken */
	struct job *kept, **kept_tail; /* ended, and not handed to their loops yet */
	unsigned n_kept;
	unsigned n_idle, n_threads, n_max;
	bool coming; /* a thread that was woken or started, and has not taken the lock yet */
	bool ending;
	pthread_t threads[];
};

int pool_new(unsigned n_threads, struct pool **ret_pool)
{
	struct pool *pool;

	assert(n_threads && n_threads <= POOL_MAX_THREADS);
	pool = mem_zalloc(sizeof(*pool) + n_threads * sizeof(pool->threads[0]));
	if (!pool)
		return -ENOMEM;
	pool->n_max = n_threads;
	pool->queue_tail = pool->urgent_tail = &pool->queue;
	pool->kept_tail = &pool->kept;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work_came, NULL);
	*ret_pool = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	assert(!pool->queue && !pool->kept);
	pool->ending = true;
	pthread_cond_broadcast(&pool->work_came);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->n_threads; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->work_came);
	pthread_mutex_destroy(&pool->lock);
	mem_free(pool);
}

static void pool_start_thread(struct pool *pool);

/* Sees to it that a thread comes, if there is one and none is coming. With the lock held. */
static void pool_call(struct pool *pool)
{
	if (pool->coming)
		return;
	if (pool->n_idle) {
		pool->coming = true;
		pthread_cond_signal(&pool->work_came);
	} else if (pool->n_threads < pool->n_max) {
		pool_start_thread(pool);
	}
}

/* The next job, or NULL when there is none. With the lock held. */
static struct job *pool_take(struct pool *pool)
{
	struct job *job = pool->queue;

	if (!job)
		return NULL;
	if (pool->urgent_tail == &pool->queue)
		pool->n_overtook = 0;
	else if (pool->urgent_tail == &job->next)
		pool->urgent_tail = &pool->queue;
	pool->queue = job->next;
	if (!pool->queue)
		pool->queue_tail = &pool->queue;
	else
		pool_call(pool);
	return job;
}

/* With the lock held. */
static void pool_keep(struct pool *pool, struct job *job)
{
	job->next = NULL;
	*pool->kept_tail = job;
	pool->kept_tail = &job->next;
	pool->n_kept++;
}

/*
 * What is to be handed to the loops now. A loop is woken for several jobs at once only as long as a thread is sure to come
 * by soon: this one may be about to block. With the lock held.
 */
static struct job *pool_take_kept(struct pool *pool)
{
	struct job *all = pool->kept;

	if (pool->queue && pool->coming && pool->n_kept < MAX_KEPT)
		return NULL;
	pool->kept = NULL;
	pool->kept_tail = &pool->kept;
	pool->n_kept = 0;
	return all;
}

static void jobs_post(struct job *job)
{
	while (job) {
		struct job *next = job->next;

		/* From here on the job is the loop's, which may be through with it before this returns. */
		loop_post(job->loop, &job->task);
		job = next;
	}
}

/* One job, and what is kept. false: there was neither. With the lock held. */
static bool pool_work(struct pool *pool)
{
	struct job *job = pool_take(pool), *ended = pool_take_kept(pool);

	if (!job && !ended)
		return false;
	pthread_mutex_unlock(&pool->lock);
	jobs_post(ended);
	if (job)
		job->work(job);
	pthread_mutex_lock(&pool->lock);
	if (job)
		pool_keep(pool, job);
	return true;
}

static void *pool_main(void *arg)
{
	struct pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	pool->coming = false;
	while (pool_work(pool) || !pool->ending) {
		if (pool->queue || pool->kept || pool->ending)
			continue;
		pool->n_idle++;
		pthread_cond_wait(&pool->work_came, &pool->lock);
		pool->n_idle--;
		pool->coming = false;
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Signals are the main thread's. With the lock held. */
static void pool_start_thread(struct pool *pool)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&pool->threads[pool->n_threads], NULL, pool_main, pool) == 0) {
		pool->n_threads++;
		pool->coming = true;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void job_done(struct task *task)
{
	struct job *job = container_of(task, struct job, task);

	loop_drop(job->loop);
	job->done(job);
}

static void job_run_on_loop(struct task *task)
{
	struct job *job = container_of(task, struct job, task);

	job->work(job);
	job->done(job);
}

/* With the lock held. */
static void pool_put(struct pool *pool, struct job *job)
{
	bool first = job->urgent && pool->n_overtook < MAX_OVERTAKE;
	struct job **at = first ? pool->urgent_tail : pool->queue_tail;

	job->next = *at;
	*at = job;
	if (!job->next)
		pool->queue_tail = &job->next;
	if (first) {
		pool->urgent_tail = &job->next;
		pool->n_overtook += job->next != NULL;
	}
}

/* Whether a thread will take it. */
static bool pool_enqueue(struct pool *pool, struct job *job)
{
	bool taken;

	pthread_mutex_lock(&pool->lock);
	pool_call(pool);
	taken = pool->n_threads > 0;
	if (taken)
		pool_put(pool, job);
	pthread_mutex_unlock(&pool->lock);
	return taken;
}

void pool_submit(struct pool *pool, struct loop *loop, struct job *job)
{
	job->loop = loop;
	job->task.fn = job_done;
	if (!loop_is_virtual(loop)) {
		loop_hold(loop);
		if (pool_enqueue(pool, job))
			return;
		loop_drop(loop);
	}
	/* On virtual time, or where not even one thread can be had: slower, and as right. */
	job->task.fn = job_run_on_loop;
	loop_post(loop, &job->task);
}
