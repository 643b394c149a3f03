/* SPDX-License-Identifier: Apache-2.0 */
/* wan: the link itself: for each direction a queue, a rate, losses and a delay. */
#include "wan.h"

#include <errno.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MAX_PKT (65536 + 64)
#define RING_BYTES ((size_t)256 << 20)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

struct rec {
	uint64_t due;
	uint32_t len;
	uint32_t pad;
};

/* One direction: packets wait in a byte ring, in order of due time. */
struct dir {
	int in, out;
	unsigned char *ring;
	size_t head, tail, used;
	uint64_t free_at;	/* when the transmitter is idle again */
	struct counters *c;
	uint64_t rng;
};

static double rnd(struct dir *d)
{
	uint64_t x = d->rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	d->rng = x;
	return (double)(x >> 11) / 9007199254740992.0;
}

static size_t rec_size(uint32_t len)
{
	return sizeof(struct rec) + (((size_t)len + 15) & ~(size_t)15);
}

/* Room for one record without wrapping; a record with len 0 marks the wrap. */
static struct rec *ring_put(struct dir *d, uint32_t len)
{
	size_t need = rec_size(len);
	struct rec *r;

	if (d->head + need + sizeof(struct rec) > RING_BYTES) {
		size_t skip = RING_BYTES - d->head;

		if (d->used + skip + need > RING_BYTES)
			return NULL;
		r = (struct rec *)(d->ring + d->head);
		r->len = 0;
		d->used += skip;
		d->head = 0;
	}
	if (d->used + need > RING_BYTES)
		return NULL;
	r = (struct rec *)(d->ring + d->head);
	d->head += need;
	d->used += need;
	return r;
}

static struct rec *ring_peek(struct dir *d)
{
	struct rec *r;

	if (!d->used)
		return NULL;
	r = (struct rec *)(d->ring + d->tail);
	if (!r->len) {
		d->used -= RING_BYTES - d->tail;
		d->tail = 0;
		if (!d->used)
			return NULL;
		r = (struct rec *)d->ring;
	}
	return r;
}

static void ring_pop(struct dir *d, struct rec *r)
{
	size_t n = rec_size(r->len);

	d->tail += n;
	d->used -= n;
	/* From the start again, where the memory is still in the cache. */
	if (!d->used)
		d->head = d->tail = 0;
}

/* Packets on the wire that one TSO segment stands for, and their bytes. */
static unsigned wire(const unsigned char *buf, uint32_t len, unsigned mtu, uint64_t *bytes)
{
	const struct virtio_net_hdr *h = (const void *)buf;
	uint32_t ip = len - (uint32_t)sizeof(*h);
	uint32_t hdr = h->hdr_len;
	unsigned n;

	if (h->gso_type == VIRTIO_NET_HDR_GSO_NONE || !h->gso_size || ip <= mtu) {
		*bytes = ip;
		return 1;
	}
	if (!hdr || hdr >= ip)
		hdr = 52;
	n = (ip - hdr + h->gso_size - 1) / h->gso_size;
	*bytes = (uint64_t)ip + (uint64_t)(n - 1) * hdr;
	return n;
}

static void admit(struct dir *d, const struct conf *cf, const unsigned char *buf, uint32_t len,
		  uint64_t now)
{
	uint64_t bytes, backlog = 0, end;
	unsigned n = wire(buf, len, cf->mtu, &bytes);
	struct rec *r;

	d->c->segs++;
	d->c->pkts += n;
	d->c->bytes += bytes;
	if (cf->loss > 0) {
		unsigned i, hit = 0;

		for (i = 0; i < n; i++)
			hit += rnd(d) < cf->loss;
		/* With loss on, TSO is off (see up), so n is 1 here. */
		if (hit) {
			d->c->lost += hit;
			return;
		}
	}
	if (cf->rate > 0) {
		if (d->free_at > now)
			backlog = (uint64_t)((double)(d->free_at - now) * cf->rate / 8e9);
		if (backlog > d->c->peak_queue)
			d->c->peak_queue = backlog;
		if (backlog + bytes > cf->queue) {
			d->c->overflow += n;
			return;
		}
		end = (d->free_at > now ? d->free_at : now) +
		      (uint64_t)((double)bytes * 8e9 / cf->rate);
		d->free_at = end;
	} else {
		end = now;
	}
	r = ring_put(d, len);
	if (!r) {
		d->c->overflow += n;
		return;
	}
	r->due = end + cf->delay_ns;
	r->len = len;
	memcpy(r + 1, buf, len);
}

static volatile sig_atomic_t stop_now;

void on_term(int sig)
{
	(void)sig;
	stop_now = 1;
}

static void arm(int tfd, uint64_t at)
{
	struct itimerspec ts = {0};

	ts.it_value.tv_sec = (time_t)(at / 1000000000ull);
	ts.it_value.tv_nsec = (long)(at % 1000000000ull);
	if (at && !ts.it_value.tv_nsec && !ts.it_value.tv_sec)
		ts.it_value.tv_nsec = 1;
	timerfd_settime(tfd, TFD_TIMER_ABSTIME, &ts, NULL);
}

/* Every packet that is due goes out; the wake-up time of the rest comes back. */
static uint64_t release(struct dir *d, uint64_t now)
{
	struct rec *r;

	while ((r = ring_peek(d))) {
		ssize_t w;

		if (r->due > now)
			return r->due;
		w = write(d->out, r + 1, r->len);
		if (w < 0 && errno == EAGAIN)
			return now + 200000;
		if (w >= 0)
			d->c->sent++;
		ring_pop(d, r);
	}
	return 0;
}

void pump(int fda, int fdb, const struct conf *cf, struct counters *cnt)
{
	static unsigned char buf[MAX_PKT];
	struct dir d[2] = {{.in = fda, .out = fdb, .c = &cnt[0]}, {.in = fdb, .out = fda, .c = &cnt[1]}};
	struct pollfd p[3];
	int i, tfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	if (tfd < 0)
		die("timerfd");
	for (i = 0; i < 2; i++) {
		d[i].ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (d[i].ring == MAP_FAILED)
			die("mmap");
		d[i].rng = cf->seed * 2654435761ull + (uint64_t)i * 40503ull + 88172645463325252ull;
	}
	p[0] = (struct pollfd){.fd = fda, .events = POLLIN};
	p[1] = (struct pollfd){.fd = fdb, .events = POLLIN};
	p[2] = (struct pollfd){.fd = tfd, .events = POLLIN};
	while (!stop_now) {
		uint64_t next = 0, now;

		if (poll(p, 3, -1) < 0) {
			if (errno == EINTR)
				continue;
			die("poll");
		}
		if (p[2].revents & POLLIN) {
			uint64_t x;

			if (read(tfd, &x, sizeof(x)) < 0 && errno != EAGAIN)
				die("timer");
		}
		if ((p[0].revents | p[1].revents) & (POLLERR | POLLHUP | POLLNVAL))
			break;
		for (i = 0; i < 2; i++) {
			uint64_t t;
			int k;

			/* A bounded batch, so that neither direction starves the other. */
			for (k = 0; k < 64; k++) {
				ssize_t n = read(d[i].in, buf, sizeof(buf));

				if (n <= (ssize_t)sizeof(struct virtio_net_hdr))
					break;
				admit(&d[i], cf, buf, (uint32_t)n, now_ns());
			}
			now = now_ns();
			t = release(&d[i], now);
			if (t && (!next || t < next))
				next = t;
		}
		arm(tfd, next);
	}
}
