/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: timers, descriptors, and messages from other threads. One loop per thread; everything here but
 * loop_post() is called on the loop's own thread.
 *
 * There are two: the real one (epoll, CLOCK_MONOTONIC), and a virtual one whose time jumps to the next timer as soon
 * as nothing can run, so that client and server meet in one thread under any schedule (CONTRACTS C8). Code above
 * cannot tell them apart, as long as it asks loop_now() for the time and nobody else.
 */
#ifndef OLDDOG_NET_LOOP_H
#define OLDDOG_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/scope.h"

struct loop;

/* 0, -ENOMEM or what epoll said. */
int loop_new(struct loop **ret_loop);
/* Virtual time, from 1 second on. Has no descriptors: loop_watch() is -EOPNOTSUPP. */
int loop_new_virtual(struct loop **ret_loop);
/* Nothing may be armed, watched or posted any more (asserted). */
void loop_free(struct loop *loop);
DEFINE_AUTO(loop);

/* Nanoseconds, monotonic; constant while one callback runs. */
uint64_t loop_now(struct loop *loop);
bool loop_is_virtual(const struct loop *loop);

/*
 * Runs until loop_stop(), or until nothing is armed, watched or expected from another thread.
 * 0, or what epoll said.
 */
int loop_run(struct loop *loop);
/* Runs callbacks until *flag is true (0), or as loop_run() ends before that (-EDEADLK). */
int loop_run_until(struct loop *loop, const bool *flag);
/* The run that is on, or else the next one, ends after the callback that is on. */
void loop_stop(struct loop *loop);

/* A timer: one shot, embedded in its user's struct. */
struct timer {
	struct loop *loop;
	uint64_t at_ns, seq;	/* equal times fire in the order of timer_set() */
	size_t heap_index;	/* 0: not armed */
	bool reserved;
	void (*fn)(struct timer *t);
};

void timer_init(struct timer *t, struct loop *loop, void (*fn)(struct timer *t));
/*
 * Arms, or moves when it was armed. A time that has passed counts as now, and fires at the next turn, never inside.
 * -ENOMEM possible, unless the timer was reserved.
 */
int timer_set(struct timer *t, uint64_t at_ns);
void timer_clear(struct timer *t);
/* Room for this timer from here on, so that timer_set() cannot fail, until timer_unreserve() (which clears it). */
int timer_reserve(struct timer *t);
void timer_unreserve(struct timer *t);
static inline bool timer_armed(const struct timer *t)
{
	return t->heap_index != 0;
}

/* A descriptor to watch. */
struct watch {
	struct loop *loop;
	int fd;
	uint32_t events;	/* EPOLLIN, EPOLLOUT; level-triggered */
	void (*fn)(struct watch *w, uint32_t revents);
};

int watch_start(struct watch *w, struct loop *loop, int fd, uint32_t events, void (*fn)(struct watch *, uint32_t));
int watch_change(struct watch *w, uint32_t events);
/* After this fn is not called again, also when an event was already fetched. The fd stays open. */
void watch_stop(struct watch *w);

/*
 * Many small answers are under way, and waking for each would cost more than what they say: before this loop sleeps next it
 * naps for 100 us or so, as network cards do with interrupts, and finds those that came meanwhile together. Once; a virtual
 * loop needs no naps.
 */
void loop_gather(struct loop *loop);

/* A message to the loop's thread, embedded in its user's struct. */
struct task {
	struct task *next;
	void (*fn)(struct task *t);
};

/* From any thread: fn runs on the loop's thread, in the order of posting, never inside. */
void loop_post(struct loop *loop, struct task *t);
/*
 * Says that a loop_post() from another thread will come, so that loop_run() waits for it. Each hold is ended by one
 * drop; both on the loop's thread.
 */
void loop_hold(struct loop *loop);
void loop_drop(struct loop *loop);

#endif
