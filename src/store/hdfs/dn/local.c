/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/dn/local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/hdfs/dn/local_int.h"

#define LOCAL_THREADS 4u
#define KEEP_NS (300 * NS_PER_S)	/* dfs.client.read.shortcircuit.streams.cache.expiry.ms */
#define DISABLE_NS (600 * NS_PER_S)	/* dfs.domain.socket.disable.interval.seconds */

/* -- Where this is ------------------------------------------------------------------------------------------------ */

static void add_address(struct local *l, const struct sockaddr *a)
{
	const void *bytes;

	if (!a || l->n_addresses == LOCAL_MAX_ADDRESSES)
		return;
	if (a->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)a)->sin_addr;
	else if (a->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)a)->sin6_addr;
	else
		return;
	if (inet_ntop(a->sa_family, bytes, l->addresses[l->n_addresses], INET6_ADDRSTRLEN))
		l->n_addresses++;
}

static void find_addresses(struct local *l)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		return;
	for (struct ifaddrs *i = all; i; i = i->ifa_next)
		add_address(l, i->ifa_addr);
	freeifaddrs(all);
}

int local_new(struct loop *loop, const struct hdfs_conf *conf, struct local **ret)
{
	AUTO_FREE struct local *l = mem_zalloc(sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->conf = conf;
	list_init(&l->replicas);
	r = pool_new(LOCAL_THREADS, &l->pool);
	if (r < 0)
		return r;
	find_addresses(l);
	*ret = TAKE(l);
	return 0;
}

bool local_is_here(const struct local *l, const struct hdfs_node *node)
{
	for (unsigned i = 0; i < l->n_addresses; i++)
		if (strcmp(l->addresses[i], node->ip) == 0)
			return true;
	return false;
}

static bool is_disabled(const struct local *l, uint16_t port)
{
	for (unsigned i = 0; i < LOCAL_MAX_PORTS; i++)
		if (l->disabled[i].port == port && l->disabled[i].until_ns > loop_now(l->loop))
			return true;
	return false;
}

bool local_is_of_node(int code)
{
	return code != -EREMOTEIO && code != -EAGAIN && code != -ENOMEM && code != -EMFILE && code != -ENFILE;
}

/* In the place of its own, or of the one that ends first. */
void local_disable(struct local *l, uint16_t port)
{
	unsigned best = 0;

	for (unsigned i = 0; i < LOCAL_MAX_PORTS; i++) {
		if (l->disabled[i].port == port) {
			best = i;
			break;
		}
		if (l->disabled[i].until_ns < l->disabled[best].until_ns)
			best = i;
	}
	l->disabled[best].port = port;
	l->disabled[best].until_ns = loop_now(l->loop) + DISABLE_NS;
}

bool local_serves(const struct local *l, const struct hdfs_node *node)
{
	return l->conf->short_circuit && l->conf->domain_socket && !loop_is_virtual(l->loop) && local_is_here(l, node) &&
		!is_disabled(l, node->xfer_port);
}

/* -- Descriptors -------------------------------------------------------------------------------------------------- */

static void replica_free(struct kept_replica *k)
{
	for (unsigned i = 0; i < k->n_fds; i++)
		close(k->fds[i]);
	if (k->open) {
		close(k->data_fd);
		close(k->meta_fd);
	}
	timer_clear(&k->timer);
	conn_close(k->conn);
	buf_release(&k->op);
	mem_free(k->pool);
	mem_free(k);
}

static void replica_drop(struct kept_replica *k)
{
	if (!k->gone) {
		list_del(&k->list);
		k->local->n_replicas--;
		k->gone = true;
	}
	if (!k->n_users)
		replica_free(k);
}

void local_free(struct local *l)
{
	if (!l)
		return;
	while (!list_empty(&l->replicas))
		replica_drop(container_of(l->replicas.next, struct kept_replica, list));
	pool_free(l->pool);
	mem_free(l);
}

static void replicas_expire(struct local *l)
{
	LIST_EACH(e, &l->replicas) {
		struct kept_replica *k = container_of(e, struct kept_replica, list);
		bool old = k->used_ns + KEEP_NS < loop_now(l->loop);

		if (!k->n_users && (old || l->n_replicas > LOCAL_MAX_REPLICAS))
			replica_drop(k);
		else if (!old && l->n_replicas <= LOCAL_MAX_REPLICAS)
			break;
	}
}

static struct kept_replica *replica_find(struct local *l, const struct local_read *r)
{
	LIST_EACH(e, &l->replicas) {
		struct kept_replica *k = container_of(e, struct kept_replica, list);

		if (k->id == r->block->id && k->stamp == r->block->stamp && k->port == r->node->xfer_port &&
			strcmp(k->pool, r->block->pool) == 0)
			return k;
	}
	return NULL;
}

static void read_work(struct job *job)
{
	struct local_read *r = container_of(job, struct local_read, job);

	r->code = replica_read(&r->read);
}

/* The user goes first: what it does next may need the replica. */
static void read_end(struct local_read *r, int code)
{
	struct kept_replica *k = r->replica;

	k->n_users--;
	if (code < 0 || k->gone)
		replica_drop(k);
	r->done(r, code);
}

static void read_done(struct job *job)
{
	struct local_read *r = container_of(job, struct local_read, job);

	read_end(r, r->code);
}

static void read_go(struct local_read *r)
{
	struct kept_replica *k = r->replica;

	r->read = (struct replica_read){.data_fd = k->data_fd, .meta_fd = k->meta_fd, .meta = k->meta, .offset = r->offset,
		.segs = r->segs, .n_segs = r->n_segs};
	r->job = (struct job){.work = read_work, .done = read_done};
	pool_submit(r->local->pool, r->local->loop, &r->job);
}

void local_answered(struct kept_replica *k, int code)
{
	struct list now, *e;

	timer_clear(&k->timer);
	conn_close(TAKE(k->conn));
	buf_release(&k->op);
	list_init(&now);
	while ((e = list_pop(&k->waiting)))
		list_add(&now, e);
	if (code < 0 && !k->gone) {
		list_del(&k->list);
		k->local->n_replicas--;
		k->gone = true;
	}
	while ((e = list_pop(&now))) {
		struct local_read *r = container_of(e, struct local_read, list);

		if (code < 0)
			read_end(r, code);
		else
			read_go(r);
	}
}

static struct kept_replica *replica_new(struct local *l, const struct local_read *r)
{
	struct kept_replica *k = mem_zalloc(sizeof(*k));

	if (!k)
		return NULL;
	k->local = l;
	k->id = r->block->id;
	k->stamp = r->block->stamp;
	k->port = r->node->xfer_port;
	k->pool = mem_strdup(r->block->pool);
	list_init(&k->waiting);
	buf_init(&k->op, LOCAL_OP_MAX_BYTES);
	list_add(&l->replicas, &k->list);
	l->n_replicas++;
	return k;
}

static int replica_make(struct local *l, struct local_read *r, struct kept_replica **ret)
{
	struct kept_replica *k = replica_new(l, r);
	int code;

	if (!k)
		return -ENOMEM;
	code = k->pool ? local_ask(k, r) : -ENOMEM;
	if (code < 0) {
		if (local_is_of_node(code))
			local_disable(l, k->port);
		replica_drop(k);
		return code;
	}
	*ret = k;
	return 0;
}

int local_read_start(struct local *l, struct local_read *r)
{
	struct kept_replica *k;
	int code = 0;

	replicas_expire(l);
	k = replica_find(l, r);
	if (!k)
		code = replica_make(l, r, &k);
	if (code < 0)
		return code;
	r->local = l;
	r->replica = k;
	k->n_users++;
	k->used_ns = loop_now(l->loop);
	list_del(&k->list);
	list_add(&l->replicas, &k->list);
	if (k->open)
		read_go(r);
	else
		list_add(&k->waiting, &r->list);
	return 0;
}
