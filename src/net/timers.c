/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of a loop: a binary heap. */
#include "net/timers.h"

#include "base/scope.h"

#define MAX_TIMERS (1u << 24)

int timers_init(struct timers *ts)
{
	*ts = (struct timers){.heap.max = MAX_TIMERS};
	return VEC_PUSH(&ts->heap, NULL);
}

void timers_release(struct timers *ts)
{
	vec_release(&ts->heap);
}

static bool timer_before(const struct timer *a, const struct timer *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->seq < b->seq;
}

static void heap_put(struct timers *ts, size_t i, struct timer *t)
{
	ts->heap.ptr[i] = t;
	t->heap_index = i;
}

static void heap_up(struct timers *ts, size_t i, struct timer *t)
{
	struct timer **heap = ts->heap.ptr;

	for (; i > 1 && timer_before(t, heap[i / 2]); i /= 2)
		heap_put(ts, i, heap[i / 2]);
	heap_put(ts, i, t);
}

static void heap_down(struct timers *ts, size_t i, struct timer *t)
{
	struct timer **heap = ts->heap.ptr;
	size_t n = ts->heap.n;

	for (size_t child = 2 * i; child < n; i = child, child = 2 * i) {
		if (child + 1 < n && timer_before(heap[child + 1], heap[child]))
			child++;
		if (!timer_before(heap[child], t))
			break;
		heap_put(ts, i, heap[child]);
	}
	heap_put(ts, i, t);
}

static void heap_fix(struct timers *ts, size_t i, struct timer *t)
{
	if (i > 1 && timer_before(t, ts->heap.ptr[i / 2]))
		heap_up(ts, i, t);
	else
		heap_down(ts, i, t);
}

void timer_init(struct timer *t, struct loop *loop, void (*fn)(struct timer *t))
{
	*t = (struct timer){.loop = loop, .fn = fn};
}

/* Room for one more beside all that were promised theirs: so theirs never has to grow. */
static int heap_room(struct timers *ts)
{
	return VEC_RESERVE(&ts->heap, ts->heap.n + ts->n_reserved + 1);
}

int timer_reserve(struct timer *t)
{
	int r = heap_room(loop_timers(t->loop));

	if (r < 0)
		return r;
	loop_timers(t->loop)->n_reserved++;
	t->reserved = true;
	return 0;
}

void timer_unreserve(struct timer *t)
{
	if (!t->reserved)
		return;
	timer_clear(t);
	loop_timers(t->loop)->n_reserved--;
	t->reserved = false;
}

int timer_set(struct timer *t, uint64_t at_ns)
{
	struct timers *ts = loop_timers(t->loop);
	int r;

	if (!timer_armed(t) && !t->reserved) {
		r = heap_room(ts);
		if (r < 0)
			return r;
	}
	/* What has passed counts as now: so a timer that is set by a timer comes after all that were due before it. */
	t->at_ns = MAX(at_ns, loop_now(t->loop));
	t->seq = ts->seq++;
	if (timer_armed(t))
		heap_fix(ts, t->heap_index, t);
	else
		heap_up(ts, ts->heap.n++, t);
	return 0;
}

void timer_clear(struct timer *t)
{
	size_t i = t->heap_index;
	struct timers *ts;
	struct timer *last;

	if (!timer_armed(t))
		return;
	ts = loop_timers(t->loop);
	t->heap_index = 0;
	last = ts->heap.ptr[--ts->heap.n];
	if (last != t)
		heap_fix(ts, i, last);
}

struct timer *timers_first(const struct timers *ts)
{
	return ts->heap.n > 1 ? ts->heap.ptr[1] : NULL;
}
