/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: order of timers, virtual time, descriptors that stop under way, posts of other threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/loop.h"

#define N_TIMERS 200

struct tick {
	struct timer timer;
	unsigned id;
};

static unsigned fired[4 * N_TIMERS], n_fired;

static void note_fired(struct timer *t)
{
	fired[n_fired++] = container_of(t, struct tick, timer)->id;
}

static struct loop *new_loop(bool is_virtual)
{
	struct loop *loop;

	assert_int_equal((is_virtual ? loop_new_virtual : loop_new)(&loop), 0);
	n_fired = 0;
	return loop;
}

static void timers_fire_by_time_then_by_order_of_setting(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true);
	struct tick ticks[N_TIMERS];
	uint64_t start_ns = loop_now(loop);

	for (unsigned i = 0; i < N_TIMERS; i++) {
		ticks[i].id = i;
		timer_init(&ticks[i].timer, loop, note_fired);
		assert_int_equal(timer_set(&ticks[i].timer, start_ns + i * 7919 % 10), 0);
	}
	for (unsigned i = 0; i < N_TIMERS; i += 3)
		timer_clear(&ticks[i].timer);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_fired, N_TIMERS - (N_TIMERS + 2) / 3);
	for (unsigned i = 1; i < n_fired; i++) {
		unsigned a = fired[i - 1] * 7919 % 10, b = fired[i] * 7919 % 10;

		assert_true(a < b || (a == b && fired[i - 1] < fired[i]));
		assert_true(fired[i] % 3 != 0);
	}
	assert_int_equal(loop_now(loop), start_ns + 9);
}

static void a_timer_can_be_moved_both_ways(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true);
	struct tick ticks[3];
	uint64_t now_ns = loop_now(loop);

	for (unsigned i = 0; i < 3; i++) {
		ticks[i].id = i;
		timer_init(&ticks[i].timer, loop, note_fired);
		assert_int_equal(timer_set(&ticks[i].timer, now_ns + 10 + i), 0);
	}
	assert_int_equal(timer_set(&ticks[0].timer, now_ns + 50), 0);
	assert_int_equal(timer_set(&ticks[2].timer, now_ns + 1), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_fired, 3);
	assert_true(fired[0] == 2 && fired[1] == 1 && fired[2] == 0);
}

static void virtual_time_jumps_and_real_time_is_the_clock(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true), *real = new_loop(false);
	struct tick tick = {.id = 1};
	uint64_t before_ns = clock_monotonic_ns();

	assert_int_equal(loop_now(loop), NS_PER_S);
	timer_init(&tick.timer, loop, note_fired);
	assert_int_equal(timer_set(&tick.timer, 1000000 * NS_PER_S), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(loop_now(loop), 1000000 * NS_PER_S);
	assert_true(loop_now(real) >= before_ns && loop_now(real) <= clock_monotonic_ns());
	timer_init(&tick.timer, real, note_fired);
	assert_int_equal(timer_set(&tick.timer, before_ns + 2 * NS_PER_MS), 0);
	assert_int_equal(loop_run(real), 0);
	assert_true(clock_monotonic_ns() >= before_ns + 2 * NS_PER_MS);
	assert_int_equal(n_fired, 2);
}

static void again_in_the_past(struct timer *t)
{
	note_fired(t);
	if (n_fired < 4)
		assert_int_equal(timer_set(t, 0), 0);
}

static void a_time_that_has_passed_fires_after_those_that_were_due(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true);
	struct tick again = {.id = 1}, other = {.id = 2};

	timer_init(&again.timer, loop, again_in_the_past);
	timer_init(&other.timer, loop, note_fired);
	assert_int_equal(timer_set(&again.timer, 0), 0);
	assert_int_equal(timer_set(&other.timer, 0), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_fired, 4);
	assert_true(fired[0] == 1 && fired[1] == 2 && fired[2] == 1);
}

static void a_reserved_timer_needs_no_memory(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true);
	struct tick reserved = {.id = 1}, others[100];
	unsigned n = 0;
	int r = 0;

	timer_init(&reserved.timer, loop, note_fired);
	assert_int_equal(timer_reserve(&reserved.timer), 0);
	mem_fail_nth(1);
	for (; r == 0; n += r == 0) {
		timer_init(&others[n].timer, loop, note_fired);
		r = timer_set(&others[n].timer, 5);
	}
	mem_fail_nth(1);
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(timer_set(&reserved.timer, 7), 0);
	mem_fail_nth(0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_fired, n + 1);
	timer_unreserve(&reserved.timer);
}

struct two_watches {
	struct watch a, b;
	unsigned n_calls;
};

static struct two_watches two;

static void stop_both(struct watch *w, uint32_t events)
{
	two.n_calls++;
	watch_stop(&two.a);
	watch_stop(&two.b);
}

static void a_stopped_watch_is_not_called_though_its_event_was_fetched(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(false);
	int a[2], b[2];

	two = (struct two_watches){.n_calls = 0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b), 0);
	assert_int_equal(write(a[1], "x", 1) + write(b[1], "x", 1), 2);
	assert_int_equal(watch_start(&two.a, loop, a[0], EPOLLIN, stop_both), 0);
	assert_int_equal(watch_start(&two.b, loop, b[0], EPOLLIN, stop_both), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(two.n_calls, 1);
	for (unsigned i = 0; i < 2; i++) {
		close(a[i]);
		close(b[i]);
	}
}

static void virtual_loops_have_no_descriptors(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true);
	struct watch w = {0};

	assert_int_equal(watch_start(&w, loop, 0, EPOLLIN, stop_both), -EOPNOTSUPP);
}

static void running_until_a_flag_that_nobody_sets_is_a_deadlock(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true);
	struct tick tick = {.id = 1};
	bool flag = false;

	timer_init(&tick.timer, loop, note_fired);
	assert_int_equal(timer_set(&tick.timer, 2 * NS_PER_S), 0);
	assert_int_equal(loop_run_until(loop, &flag), -EDEADLK);
	assert_int_equal(n_fired, 1);
	flag = true;
	assert_int_equal(timer_set(&tick.timer, 3 * NS_PER_S), 0);
	assert_int_equal(loop_run_until(loop, &flag), 0);
	assert_int_equal(n_fired, 1);
	timer_clear(&tick.timer);
}

static void stop_at_ten(struct timer *t)
{
	note_fired(t);
	if (n_fired == 10)
		loop_stop(t->loop);
	assert_int_equal(timer_set(t, loop_now(t->loop) + 1), 0);
}

static void stop_ends_the_run_and_the_next_goes_on(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true);
	struct tick tick = {.id = 1};

	timer_init(&tick.timer, loop, stop_at_ten);
	assert_int_equal(timer_set(&tick.timer, 0), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_fired, 10);
	loop_stop(loop);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_fired, 10);
	timer_clear(&tick.timer);
}

/* Posts of other threads. */

#define N_THREADS 4
#define N_POSTS 500

struct poster {
	struct loop *loop;
	struct message {
		struct task task;
		struct poster *poster;
		unsigned n;
	} messages[N_POSTS];
	unsigned n_seen;
	bool in_order;
};

static void message_seen(struct task *t)
{
	struct message *m = container_of(t, struct message, task);
	struct poster *p = m->poster;

	p->in_order = p->in_order && m->n == p->n_seen;
	if (++p->n_seen == N_POSTS)
		loop_drop(p->loop);
}

static void *poster_main(void *arg)
{
	struct poster *p = arg;

	for (unsigned i = 0; i < N_POSTS; i++) {
		p->messages[i] = (struct message){.task.fn = message_seen, .poster = p, .n = i};
		loop_post(p->loop, &p->messages[i].task);
	}
	return NULL;
}

static void posts_of_threads_come_in_order(bool is_virtual)
{
	struct loop *loop = new_loop(is_virtual);
	static struct poster posters[N_THREADS];
	pthread_t threads[N_THREADS];

	for (unsigned i = 0; i < N_THREADS; i++) {
		posters[i] = (struct poster){.loop = loop, .in_order = true};
		loop_hold(loop);
		assert_int_equal(pthread_create(&threads[i], NULL, poster_main, &posters[i]), 0);
	}
	assert_int_equal(loop_run(loop), 0);
	/* At once: a poster may still be on its way out of loop_post(). */
	loop_free(loop);
	for (unsigned i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(posters[i].n_seen, N_POSTS);
		assert_true(posters[i].in_order);
	}
}

static void posts_of_threads_come_in_order_on_a_real_loop(void **state)
{
	posts_of_threads_come_in_order(false);
}

static void posts_of_threads_come_in_order_on_a_virtual_loop(void **state)
{
	posts_of_threads_come_in_order(true);
}

struct self_post {
	struct task task;
	struct loop *loop;
	unsigned left;
};

static void post_again(struct task *t)
{
	struct self_post *p = container_of(t, struct self_post, task);

	if (--p->left)
		loop_post(p->loop, t);
}

static void a_task_may_post_itself_again(void **state)
{
	for (unsigned is_virtual = 0; is_virtual < 2; is_virtual++) {
		AUTO(loop) struct loop *loop = new_loop(is_virtual);
		struct self_post p = {.task.fn = post_again, .loop = loop, .left = 100};

		loop_post(loop, &p.task);
		assert_int_equal(loop_run(loop), 0);
		assert_int_equal(p.left, 0);
	}
}

static void a_virtual_hour_waits_for_another_threads_post(void **state)
{
	AUTO(loop) struct loop *loop = new_loop(true);
	static struct poster poster;
	struct tick tick = {.id = 1};
	pthread_t thread;

	timer_init(&tick.timer, loop, note_fired);
	assert_int_equal(timer_set(&tick.timer, 3600 * NS_PER_S), 0);
	poster = (struct poster){.loop = loop, .in_order = true};
	loop_hold(loop);
	assert_int_equal(pthread_create(&thread, NULL, poster_main, &poster), 0);
	assert_int_equal(loop_run(loop), 0);
	pthread_join(thread, NULL);
	assert_int_equal(poster.n_seen, N_POSTS);
	assert_int_equal(n_fired, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_by_time_then_by_order_of_setting),
		cmocka_unit_test(a_timer_can_be_moved_both_ways),
		cmocka_unit_test(virtual_time_jumps_and_real_time_is_the_clock),
		cmocka_unit_test(a_time_that_has_passed_fires_after_those_that_were_due),
		cmocka_unit_test(a_reserved_timer_needs_no_memory),
		cmocka_unit_test(a_stopped_watch_is_not_called_though_its_event_was_fetched),
		cmocka_unit_test(virtual_loops_have_no_descriptors),
		cmocka_unit_test(running_until_a_flag_that_nobody_sets_is_a_deadlock),
		cmocka_unit_test(stop_ends_the_run_and_the_next_goes_on),
		cmocka_unit_test(posts_of_threads_come_in_order_on_a_real_loop),
		cmocka_unit_test(posts_of_threads_come_in_order_on_a_virtual_loop),
		cmocka_unit_test(a_task_may_post_itself_again),
		cmocka_unit_test(a_virtual_hour_waits_for_another_threads_post),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
