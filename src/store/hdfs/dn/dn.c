/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/dn/dn.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"

#define N_BUCKETS 1024u
#define MAX_INFOS 65536u
#define MAX_IDLE 256u		/* connections that wait, of all nodes */
/* A DataNode ends a connection that waits 4 s; and half of that is too near to it across a slow link. */
#define MAX_KEEPALIVE_MS 3000u
#define DEAD_FIRST_NS (5 * NS_PER_S)
#define DEAD_MAX_NS (300 * NS_PER_S)

struct idle {
	struct list list;	/* the longest waiting first */
	struct conn *conn;
	uint64_t since_ns;
	char key[80];
};

struct dn_pool {
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct dialer *dialer;
	struct hdfs_counters *counters;
	struct dn_info *infos[N_BUCKETS];
	unsigned n_infos, n_idle;
	struct list idle;
	struct timer timer;	/* the first idle connection's end */
	uint64_t keepalive_ns;
};

static void idle_close(struct dn_pool *p, struct idle *i)
{
	list_del(&i->list);
	p->n_idle--;
	conn_close(i->conn);
	mem_free(i);
}

/* Without a timer the next one that comes, or the pool's end, closes them. */
static void idle_arm(struct dn_pool *p)
{
	struct idle *first = container_of(p->idle.next, struct idle, list);

	if (list_empty(&p->idle))
		timer_clear(&p->timer);
	else
		timer_set(&p->timer, first->since_ns + p->keepalive_ns);
}

static void idle_expire(struct dn_pool *p)
{
	uint64_t now_ns = loop_now(p->loop);

	LIST_EACH(e, &p->idle) {
		struct idle *i = container_of(e, struct idle, list);

		if (i->since_ns + p->keepalive_ns > now_ns)
			break;
		idle_close(p, i);
	}
	idle_arm(p);
}

static void idle_late(struct timer *t)
{
	idle_expire(container_of(t, struct dn_pool, timer));
}

int dn_pool_new(struct loop *loop, const struct hdfs_conf *conf, struct dialer *dialer, struct hdfs_counters *counters,
	struct dn_pool **ret)
{
	struct dn_pool *p = mem_zalloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->loop = loop;
	p->conf = conf;
	p->dialer = dialer;
	p->counters = counters;
	p->keepalive_ns = MIN(conf->socket_keepalive_ms, MAX_KEEPALIVE_MS) * NS_PER_MS;
	list_init(&p->idle);
	timer_init(&p->timer, loop, idle_late);
	*ret = p;
	return 0;
}

void dn_pool_free(struct dn_pool *p)
{
	if (!p)
		return;
	while (!list_empty(&p->idle))
		idle_close(p, container_of(p->idle.next, struct idle, list));
	timer_clear(&p->timer);
	for (unsigned i = 0; i < N_BUCKETS; i++)
		while (p->infos[i]) {
			struct dn_info *info = p->infos[i];

			p->infos[i] = info->next;
			mem_free(info);
		}
	mem_free(p);
}

struct dialer *dn_dialer(const struct dn_pool *p)
{
	return p->dialer;
}

struct dn_info *dn_info_of(struct dn_pool *p, const struct hdfs_node *node)
{
	size_t n = strlen(node->uuid) + 1;
	struct dn_info **bucket = &p->infos[xxh3_of(node->uuid, n) % N_BUCKETS], *info;
	char *uuid;

	for (info = *bucket; info; info = info->next)
		if (strcmp(info->uuid, node->uuid) == 0)
			return info;
	if (p->n_infos == MAX_INFOS)
		return NULL;
	info = mem_zalloc(sizeof(*info) + n);
	if (!info)
		return NULL;
	uuid = (char *)(info + 1);
	memcpy(uuid, node->uuid, n);
	info->uuid = uuid;
	info->next = *bucket;
	*bucket = info;
	p->n_infos++;
	return info;
}

const char *dn_host(const struct dn_pool *p, const struct hdfs_node *node)
{
	return p->conf->use_hostnames && *node->host ? node->host : node->ip;
}

/* Two nodes never have one key: a long name goes in by its hash. */
static void key_of(const char *host, uint16_t port, char ret[80])
{
	if (strlen(host) < 64)
		snprintf(ret, 80, "%s %u", host, port);
	else
		snprintf(ret, 80, "%016llx %u", (unsigned long long)xxh3_of(host, strlen(host)), port);
}

/* Nothing may have come meanwhile: the node's end of it, most likely. */
static bool conn_is_quiet(struct conn *c)
{
	uint8_t byte;

	return conn_recv(c, &byte, 1, NULL, NULL) == -EAGAIN;
}

/* The one that was used last: it is the least likely to end in our hands. */
static struct conn *idle_take(struct dn_pool *p, const char *key)
{
	struct conn *conn = NULL;

	for (struct list *e = p->idle.prev, *before = e->prev; !conn && e != &p->idle; e = before, before = e->prev) {
		struct idle *i = container_of(e, struct idle, list);

		if (strcmp(i->key, key) != 0)
			continue;
		if (conn_is_quiet(i->conn))
			conn = TAKE(i->conn);
		idle_close(p, i);
	}
	idle_arm(p);
	return conn;
}

static void lease_reused(struct timer *t)
{
	struct dn_lease *l = container_of(t, struct dn_lease, timer);

	l->done(l, 0);
}

static void info_connected(struct dn_info *info, uint64_t ns)
{
	if (!info->rtt_ns || ns < info->rtt_ns)
		info->rtt_ns = MAX(ns, 1);
}

static void lease_dialled(struct dial *d, int r, struct conn *conn)
{
	struct dn_lease *l = container_of(d, struct dn_lease, dial);

	l->dialling = false;
	l->conn = conn;
	if (r == 0 && l->info)
		info_connected(l->info, loop_now(l->pool->loop) - l->dialled_ns);
	l->done(l, r);
}

void dn_take(struct dn_pool *p, struct dn_lease *l, const struct hdfs_node *node, bool fresh)
{
	const char *host = dn_host(p, node);

	l->pool = p;
	l->info = dn_info_of(p, node);
	l->dialling = l->reused = false;
	timer_init(&l->timer, p->loop, lease_reused);
	key_of(host, node->xfer_port, l->key);
	idle_expire(p);
	l->conn = fresh ? NULL : idle_take(p, l->key);
	if (l->conn && timer_set(&l->timer, loop_now(p->loop)) == 0) {
		l->reused = true;
		p->counters->dn_reused++;
		return;
	}
	conn_close(TAKE(l->conn));
	l->dialling = true;
	l->dialled_ns = loop_now(p->loop);
	l->dial = (struct dial){.loop = p->loop, .done = lease_dialled,
		.deadline_ns = loop_now(p->loop) + p->conf->connect_timeout_ms * NS_PER_MS};
	p->counters->dn_connects++;
	dial_start(p->dialer, &l->dial, host, node->xfer_port);
}

void dn_cancel(struct dn_lease *l)
{
	timer_clear(&l->timer);
	if (l->dialling)
		dial_cancel(&l->dial);
	l->dialling = false;
	conn_close(TAKE(l->conn));
}

static void idle_put(struct dn_pool *p, struct conn *conn, const char *key)
{
	struct idle *i = p->keepalive_ns ? mem_zalloc(sizeof(*i)) : NULL;

	if (!i) {
		conn_close(conn);
		return;
	}
	i->conn = conn;
	i->since_ns = loop_now(p->loop);
	memcpy(i->key, key, sizeof(i->key));
	list_add(&p->idle, &i->list);
	p->n_idle++;
	if (p->n_idle > MAX_IDLE)
		idle_close(p, container_of(p->idle.next, struct idle, list));
	idle_arm(p);
}

void dn_give(struct dn_lease *l, bool clean)
{
	struct conn *conn = TAKE(l->conn);

	assert(conn);
	if (clean && conn_want(conn, 0, NULL, NULL) == 0)
		idle_put(l->pool, conn, l->key);
	else
		conn_close(conn);
}

bool dn_is_dead(const struct dn_pool *p, const struct dn_info *info)
{
	return info->dead_until_ns > loop_now(p->loop);
}

void dn_failed(struct dn_pool *p, struct dn_info *info)
{
	uint64_t for_ns;

	if (dn_is_dead(p, info))
		return;
	info->n_failures++;
	for_ns = info->n_failures > 7 ? DEAD_MAX_NS : MIN(DEAD_FIRST_NS << (info->n_failures - 1), DEAD_MAX_NS);
	info->dead_until_ns = loop_now(p->loop) + for_ns;
	p->counters->dead_nodes++;
}

void dn_worked(struct dn_pool *p, struct dn_info *info, uint64_t latency_ns)
{
	(void)p;
	info->dead_until_ns = 0;
	info->n_failures = 0;
	/* An eighth of what is new: as TCP smooths its round trips. */
	info->latency_ns = info->latency_ns ? info->latency_ns - info->latency_ns / 8 + latency_ns / 8 : MAX(latency_ns, 1);
}
