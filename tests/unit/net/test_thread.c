/* SPDX-License-Identifier: Apache-2.0 */
/* A loop on a thread of its own: what is posted runs there, in order, and all of it before the end; signals stay away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "net/thread.h"

#define N_POSTS 1000

/* A message there and back. */
struct ping {
	struct task task;
	struct loop *home, *away;
	pthread_t ran_on;
	unsigned *order, at, n_away, n_home;
	bool *all_home;
	unsigned *n_left;
};

static void ping_home(struct task *t)
{
	struct ping *p = container_of(t, struct ping, task);

	p->n_home++;
	loop_drop(p->home);
	if (--*p->n_left == 0)
		*p->all_home = true;
}

static void ping_away(struct task *t)
{
	struct ping *p = container_of(t, struct ping, task);

	p->ran_on = pthread_self();
	p->at = (*p->order)++;
	p->n_away++;
	t->fn = ping_home;
	loop_post(p->home, t);
}

static void messages_go_there_and_back_in_order(void **state)
{
	AUTO(loop_thread) struct loop_thread *t = NULL;
	AUTO(loop) struct loop *loop = NULL;
	static struct ping pings[N_POSTS];
	unsigned order = 0, n_left = N_POSTS;
	bool all_home = false;

	assert_int_equal(loop_thread_new("test", &t), 0);
	assert_int_equal(loop_new(&loop), 0);
	for (unsigned i = 0; i < N_POSTS; i++) {
		pings[i] = (struct ping){.task.fn = ping_away, .home = loop, .away = loop_thread_loop(t), .order = &order,
			.n_left = &n_left, .all_home = &all_home};
		loop_hold(loop);
		loop_post(loop_thread_loop(t), &pings[i].task);
	}
	assert_int_equal(loop_run_until(loop, &all_home), 0);
	for (unsigned i = 0; i < N_POSTS; i++) {
		assert_int_equal(pings[i].at, i);
		assert_int_equal(pings[i].n_away, 1);
		assert_int_equal(pings[i].n_home, 1);
		assert_false(pthread_equal(pings[i].ran_on, pthread_self()));
	}
}

struct note {
	struct task task;
	struct timer timer;
	struct loop *loop;
	unsigned *n_seen;
	bool blocked;
};

static void note_timer(struct timer *t)
{
	(*container_of(t, struct note, timer)->n_seen)++;
}

static void note_task(struct task *task)
{
	struct note *n = container_of(task, struct note, task);
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	n->blocked = sigismember(&now, SIGTERM) && sigismember(&now, SIGINT);
	(*n->n_seen)++;
	timer_init(&n->timer, n->loop, note_timer);
	timer_set(&n->timer, loop_now(n->loop) + NS_PER_MS);
}

/* Also what they arm themselves runs to its end. */
static void the_end_waits_for_what_was_posted(void **state)
{
	static struct note notes[N_POSTS];
	struct loop_thread *t;
	unsigned n_seen = 0;

	assert_int_equal(loop_thread_new("fifteen letters", &t), 0);
	for (unsigned i = 0; i < N_POSTS; i++) {
		notes[i] = (struct note){.task.fn = note_task, .loop = loop_thread_loop(t), .n_seen = &n_seen};
		loop_post(notes[i].loop, &notes[i].task);
	}
	loop_thread_free(t);
	assert_int_equal(n_seen, 2 * N_POSTS);
	for (unsigned i = 0; i < N_POSTS; i++)
		assert_true(notes[i].blocked);
}

static void threads_come_and_go(void **state)
{
	for (unsigned i = 0; i < 50; i++) {
		AUTO(loop_thread) struct loop_thread *t = NULL;

		assert_int_equal(loop_thread_new("test", &t), 0);
	}
}

static void short_of_memory_is_told(void **state)
{
	unsigned n = 0, n_refused = 0;

	do {
		AUTO(loop_thread) struct loop_thread *t = NULL;
		int r;

		mem_fail_nth(++n);
		r = loop_thread_new("test", &t);
		assert_true(r == -ENOMEM || r == 0);
		n_refused += r == -ENOMEM;
	} while (mem_failed());
	mem_fail_nth(0);
	assert_true(n_refused >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_go_there_and_back_in_order),
		cmocka_unit_test(the_end_waits_for_what_was_posted),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(short_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
