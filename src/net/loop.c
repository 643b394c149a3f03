/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: epoll for descriptors, net/timers.c for timers, an eventfd for what other threads post. */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "net/timers.h"

#define MAX_EVENTS 64
#define NAP_NS (100 * NS_PER_US) /* and as much again, which is the kernel's slack for ordinary threads */
#define VIRTUAL_START_NS NS_PER_S

struct loop {
	bool is_virtual, running, stopped, no_pwait2, gathers;
	int epoll_fd, event_fd;
	uint64_t now_ns;
	struct timers timers;
	size_t n_watches, n_holds;
	struct epoll_event events[MAX_EVENTS];
	int n_events;
	pthread_mutex_t lock; /* of what is posted, and of falling asleep: from then on a post has to wake */
	struct task *posted, **posted_tail;
	_Atomic bool asleep;
};

static int loop_open_fds(struct loop *loop)
{
	struct epoll_event ev = {.events = EPOLLIN};

	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->epoll_fd < 0 || loop->event_fd < 0 ||
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->event_fd, &ev) < 0)
		return -errno;
	return 0;
}

static int loop_new_of(bool is_virtual, struct loop **ret_loop)
{
	AUTO(loop) struct loop *loop = mem_zalloc(sizeof(*loop));
	int r;

	if (!loop)
		return -ENOMEM;
	loop->is_virtual = is_virtual;
	loop->epoll_fd = loop->event_fd = -1;
	loop->posted_tail = &loop->posted;
	loop->now_ns = is_virtual ? VIRTUAL_START_NS : clock_monotonic_ns();
	pthread_mutex_init(&loop->lock, NULL);
	r = timers_init(&loop->timers);
	if (r == 0)
		r = loop_open_fds(loop);
	if (r < 0)
		return r;
	*ret_loop = TAKE(loop);
	return 0;
}

int loop_new(struct loop **ret_loop)
{
	return loop_new_of(false, ret_loop);
}

int loop_new_virtual(struct loop **ret_loop)
{
	return loop_new_of(true, ret_loop);
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	assert(!timers_first(&loop->timers) && !loop->n_watches && !loop->n_holds && !loop->posted && !loop->running);
	fd_closep(&loop->epoll_fd);
	fd_closep(&loop->event_fd);
	pthread_mutex_destroy(&loop->lock);
	timers_release(&loop->timers);
	mem_free(loop);
}

static void loop_tick(struct loop *loop)
{
	if (!loop->is_virtual)
		loop->now_ns = clock_monotonic_ns();
}

uint64_t loop_now(struct loop *loop)
{
	if (!loop->running)
		loop_tick(loop);
	return loop->now_ns;
}

bool loop_is_virtual(const struct loop *loop)
{
	return loop->is_virtual;
}

struct timers *loop_timers(struct loop *loop)
{
	return &loop->timers;
}

static bool loop_goes_on(const struct loop *loop, const bool *flag)
{
	return !loop->stopped && !(flag && *flag);
}

/* Those that were due and set before this turn; what they set themselves waits for the next. */
static void run_timers(struct loop *loop, const bool *flag)
{
	uint64_t now_ns = loop->now_ns, seq = loop->timers.seq;

	while (loop_goes_on(loop, flag)) {
		struct timer *t = timers_first(&loop->timers);

		if (!t || t->at_ns > now_ns || t->seq >= seq)
			return;
		timer_clear(t);
		loop_tick(loop);
		t->fn(t);
	}
}

/* Descriptors. */

int watch_start(struct watch *w, struct loop *loop, int fd, uint32_t events, void (*fn)(struct watch *, uint32_t))
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	if (loop->is_virtual)
		return -EOPNOTSUPP;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	*w = (struct watch){.loop = loop, .fd = fd, .events = events, .fn = fn};
	loop->n_watches++;
	return 0;
}

int watch_change(struct watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	if (w->events == events)
		return 0;
	if (epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev) < 0)
		return -errno;
	w->events = events;
	return 0;
}

void watch_stop(struct watch *w)
{
	struct loop *loop = w->loop;

	if (!loop)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	for (int i = 0; i < loop->n_events; i++)
		if (loop->events[i].data.ptr == w)
			loop->events[i].events = 0;
	loop->n_watches--;
	w->loop = NULL;
}

static void drain_event_fd(struct loop *loop)
{
	uint64_t count;

	/* Only wakes: the list of tasks is looked at every turn anyway. */
	if (read(loop->event_fd, &count, sizeof(count)) < 0)
		return;
}

static void run_events(struct loop *loop, const bool *flag)
{
	for (int i = 0; i < loop->n_events && loop_goes_on(loop, flag); i++) {
		struct watch *w = loop->events[i].data.ptr;
		uint32_t events = loop->events[i].events;

		/* Zero: stopped meanwhile, and perhaps freed. */
		if (!events)
			continue;
		if (!w) {
			drain_event_fd(loop);
			continue;
		}
		loop_tick(loop);
		w->fn(w, events);
	}
	loop->n_events = 0;
}

/* Tasks. */

void loop_post(struct loop *loop, struct task *t)
{
	uint64_t one = 1;

	t->next = NULL;
	pthread_mutex_lock(&loop->lock);
	*loop->posted_tail = t;
	loop->posted_tail = &t->next;
	/*
	 * Inside the lock: once it is open, the loop may run the task, end and close the descriptor. A failing write
	 * means that the counter is full, and so that the loop will wake.
	 */
	if (atomic_exchange(&loop->asleep, false) && write(loop->event_fd, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN);
	pthread_mutex_unlock(&loop->lock);
}

static bool has_posted(struct loop *loop)
{
	bool has;

	pthread_mutex_lock(&loop->lock);
	has = loop->posted != NULL;
	pthread_mutex_unlock(&loop->lock);
	return has;
}

/* Whether it may: from now on a post wakes it. */
static bool fall_asleep(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->asleep = !loop->posted;
	pthread_mutex_unlock(&loop->lock);
	return loop->asleep;
}

static struct task *take_posted(struct loop *loop)
{
	struct task *first;

	pthread_mutex_lock(&loop->lock);
	first = TAKE(loop->posted);
	loop->posted_tail = &loop->posted;
	pthread_mutex_unlock(&loop->lock);
	return first;
}

/* What was not run comes before what was posted since. */
static void give_back_posted(struct loop *loop, struct task *first)
{
	struct task **tail = &first->next;

	while (*tail)
		tail = &(*tail)->next;
	pthread_mutex_lock(&loop->lock);
	*tail = loop->posted;
	if (!loop->posted)
		loop->posted_tail = tail;
	loop->posted = first;
	pthread_mutex_unlock(&loop->lock);
}

/* As many as there are now: a task that posts itself again does not starve timers and descriptors. */
static void run_posted(struct loop *loop, const bool *flag)
{
	struct task *t = take_posted(loop), *next;

	for (; t && loop_goes_on(loop, flag); t = next) {
		next = t->next;
		loop_tick(loop);
		t->fn(t);
	}
	if (t)
		give_back_posted(loop, t);
}

void loop_hold(struct loop *loop)
{
	loop->n_holds++;
}

void loop_drop(struct loop *loop)
{
	assert(loop->n_holds);
	loop->n_holds--;
}

/* Turns. */

static bool loop_is_idle(struct loop *loop)
{
	return !timers_first(&loop->timers) && !loop->n_watches && !loop->n_holds && !has_posted(loop);
}

/*
 * How long this turn may sleep. On virtual time not at all, unless another thread owes us a post (its work takes no
 * time); when nothing can run, time jumps to the first timer.
 */
static uint64_t sleep_ns(struct loop *loop)
{
	struct timer *first = timers_first(&loop->timers);

	if (has_posted(loop) || (first && first->at_ns <= loop->now_ns))
		return 0;
	if (!loop->is_virtual)
		return first ? first->at_ns - loop->now_ns : UINT64_MAX;
	if (loop->n_holds)
		return UINT64_MAX;
	loop->now_ns = first->at_ns;
	return 0;
}

/* Kernels before 5.11 only sleep whole milliseconds; rounded up, so that the timer is due when we wake. */
static int wait_ms(struct loop *loop, uint64_t ns)
{
	uint64_t ms = ns / NS_PER_MS + (ns % NS_PER_MS ? 1 : 0);

	return epoll_wait(loop->epoll_fd, loop->events, MAX_EVENTS, ns == UINT64_MAX ? -1 : (int)MIN(ms, INT_MAX));
}

static int wait_events(struct loop *loop, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
	int n = -1;

	if (!loop->no_pwait2) {
		n = epoll_pwait2(loop->epoll_fd, loop->events, MAX_EVENTS, ns == UINT64_MAX ? NULL : &t, NULL);
		/* Containers' older profiles say EPERM of calls that they have not heard of. */
		loop->no_pwait2 = n < 0 && (errno == ENOSYS || errno == EPERM);
	}
	return loop->no_pwait2 ? wait_ms(loop, ns) : n;
}

void loop_gather(struct loop *loop)
{
	loop->gathers = true;
}

static void nap(struct loop *loop, uint64_t at_most_ns)
{
	struct timespec t = {.tv_nsec = (long)MIN(NAP_NS, at_most_ns)};

	loop->gathers = false;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static int sleep_until_due(struct loop *loop)
{
	uint64_t ns = sleep_ns(loop);
	int n, failed;

	if (loop->is_virtual && !ns)
		return 0;
	if (ns && loop->gathers && !loop->is_virtual)
		nap(loop, ns);
	if (ns && !fall_asleep(loop))
		ns = 0;
	n = wait_events(loop, ns);
	failed = n < 0 && errno != EINTR ? -errno : 0;
	/* Without the lock, which who woke us may still have. */
	if (ns)
		loop->asleep = false;
	loop->n_events = MAX(n, 0);
	return failed;
}

static int loop_turn(struct loop *loop, const bool *flag)
{
	int r;

	loop_tick(loop);
	r = sleep_until_due(loop);
	if (r < 0)
		return r;
	loop_tick(loop);
	run_events(loop, flag);
	run_posted(loop, flag);
	run_timers(loop, flag);
	return 0;
}

static int loop_run_to(struct loop *loop, const bool *flag)
{
	int r = 0;

	assert(!loop->running);
	loop->running = true;
	while (r == 0 && loop_goes_on(loop, flag) && !loop_is_idle(loop))
		r = loop_turn(loop, flag);
	loop->running = loop->stopped = false;
	return r;
}

int loop_run(struct loop *loop)
{
	return loop_run_to(loop, NULL);
}

int loop_run_until(struct loop *loop, const bool *flag)
{
	int r = loop_run_to(loop, flag);

	return r < 0 || *flag ? r : -EDEADLK;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
