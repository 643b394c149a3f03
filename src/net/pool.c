/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of threads: one queue. A wake-up costs more than a short job (a read from the page cache), so there is at most
 * one thread on its way at a time: who comes with a job wakes the first, and each that is up wakes the next before it
 * begins a job, as long as others wait. Jobs that are short are done by the one or two that are up before more have come;
 * jobs that block have all threads within as many wake-ups. doc/design/0014-host-process.md.
 */
#include "net/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

struct pool {
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t work_came;
	struct job *queue, **queue_tail;
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
	pool->queue_tail = &pool->queue;
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
	assert(!pool->queue);
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

/* The next job, or NULL when the pool ends. With the lock held. */
static struct job *pool_next(struct pool *pool)
{
	struct job *job;

	while (!pool->queue && !pool->ending) {
		pool->n_idle++;
		pthread_cond_wait(&pool->work_came, &pool->lock);
		pool->n_idle--;
		pool->coming = false;
	}
	job = pool->queue;
	if (!job)
		return NULL;
	pool->queue = job->next;
	if (!pool->queue)
		pool->queue_tail = &pool->queue;
	else
		pool_call(pool);
	return job;
}

static void *pool_main(void *arg)
{
	struct pool *pool = arg;
	struct job *job;

	pthread_mutex_lock(&pool->lock);
	pool->coming = false;
	while ((job = pool_next(pool)) != NULL) {
		pthread_mutex_unlock(&pool->lock);
		job->work(job);
		/* From here on the job is the loop's, which may be through with it before this returns. */
		loop_post(job->loop, &job->task);
		pthread_mutex_lock(&pool->lock);
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

/* Whether a thread will take it. */
static bool pool_enqueue(struct pool *pool, struct job *job)
{
	bool taken;

	pthread_mutex_lock(&pool->lock);
	pool_call(pool);
	taken = pool->n_threads > 0;
	if (taken) {
		job->next = NULL;
		*pool->queue_tail = job;
		pool->queue_tail = &job->next;
	}
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
