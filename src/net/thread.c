/* SPDX-License-Identifier: Apache-2.0 */
#include "net/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

struct loop_thread {
	struct loop *loop;
	pthread_t thread;
	struct task end;
	int r; /* what the loop ended with */
};

static void *thread_main(void *arg)
{
	struct loop_thread *t = arg;

	t->r = loop_run(t->loop);
	return NULL;
}

/* On the loop: nothing is expected any more, so that the run ends as soon as nothing is armed or watched. */
static void thread_end(struct task *task)
{
	struct loop_thread *t = container_of(task, struct loop_thread, end);

	loop_drop(t->loop);
}

/* Signals are the main thread's. */
static int thread_start(struct loop_thread *t)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&t->thread, NULL, thread_main, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

int loop_thread_new(const char *name, struct loop_thread **ret)
{
	AUTO_FREE struct loop_thread *t = mem_zalloc(sizeof(*t));
	int r;

	assert(strlen(name) < 16);
	if (!t)
		return -ENOMEM;
	t->end.fn = thread_end;
	r = loop_new(&t->loop);
	if (r < 0)
		return r;
	/* A post is always to be expected, until the end. The loop is this thread's until the other one starts. */
	loop_hold(t->loop);
	r = thread_start(t);
	if (r < 0) {
		loop_drop(t->loop);
		loop_free(t->loop);
		return r;
	}
	pthread_setname_np(t->thread, name);
	*ret = TAKE(t);
	return 0;
}

struct loop *loop_thread_loop(struct loop_thread *t)
{
	return t->loop;
}

void loop_thread_free(struct loop_thread *t)
{
	if (!t)
		return;
	loop_post(t->loop, &t->end);
	pthread_join(t->thread, NULL);
	/* Short of descriptors or memory no epoll_wait() fails: anything else is a bug of the loop's. */
	assert(t->r == 0);
	loop_free(t->loop);
	mem_free(t);
}
