/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hdfs/local.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fd.h"
#include "wire/hadoop/pb.h"

#define LOCAL_THREADS 4u
#define KEEP_NS (300 * NS_PER_S)	/* dfs.client.read.shortcircuit.streams.cache.expiry.ms */
#define DISABLE_NS (600 * NS_PER_S)	/* dfs.domain.socket.disable.interval.seconds */
#define ASK_NS (10 * NS_PER_S)
#define MAX_ADDRESSES 64u
#define MAX_PORTS 64u			/* DataNodes of one host */
#define ANSWER_MAX 4096u
#define OP_MAX_BYTES (1u << 20)

/* A replica whose descriptors are here, or asked for. */
struct kept_replica {
	struct local *local;
	struct list list;	/* the longest unused first */
	struct list waiting;	/* local_reads, until it is open */
	unsigned n_users;
	bool open, gone;	/* gone: in no list, freed by its last user */
	char *pool;
	uint64_t id, stamp, used_ns;
	uint16_t port;
	int data_fd, meta_fd;
	struct replica_meta meta;
	/* The question. */
	struct conn *conn;
	struct timer timer;
	struct buf op;
	size_t n_sent, n_answer;
	uint8_t answer[ANSWER_MAX];
	int fds[2];
	unsigned n_fds;
};

struct local {
	struct loop *loop;
	const struct hdfs_conf *conf;
	struct pool *pool;
	char addresses[MAX_ADDRESSES][INET6_ADDRSTRLEN];
	unsigned n_addresses;
	struct {
		uint16_t port;
		uint64_t until_ns;
	} disabled[MAX_PORTS];
	struct list replicas;
	unsigned n_replicas;
};

/* -- Where this is ------------------------------------------------------------------------------------------------ */

static void add_address(struct local *l, const struct sockaddr *a)
{
	const void *bytes;

	if (!a || l->n_addresses == MAX_ADDRESSES)
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
	for (unsigned i = 0; i < MAX_PORTS; i++)
		if (l->disabled[i].port == port && l->disabled[i].until_ns > loop_now(l->loop))
			return true;
	return false;
}

/*
 * Whether a failure says that all of the node's replicas are better asked for elsewhere: not a block that it cannot give, a
 * queue that was full just then, nor what this process is short of.
 */
static bool is_of_node(int code)
{
	return code != -EREMOTEIO && code != -EAGAIN && code != -ENOMEM && code != -EMFILE && code != -ENFILE;
}

/* In the place of its own, or of the one that ends first. */
static void disable(struct local *l, uint16_t port)
{
	unsigned best = 0;

	for (unsigned i = 0; i < MAX_PORTS; i++) {
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

/* The answer to the question for descriptors, for all who wait. */
static void replica_answered(struct kept_replica *k, int code)
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

static int replica_open(struct kept_replica *k)
{
	uint8_t head[REPLICA_META_HEAD];
	int r = fd_pread_all(k->fds[1], head, sizeof(head), 0);

	if (r == 0)
		r = replica_meta_parse(head, &k->meta);
	if (r < 0)
		return r;
	k->data_fd = k->fds[0];
	k->meta_fd = k->fds[1];
	k->n_fds = 0;
	k->open = true;
	return 0;
}

/* 1: go on reading. */
static int answer_parse(struct kept_replica *k)
{
	struct str message;
	int64_t used = transfer_delimited(k->answer, k->n_answer, &message);
	struct pb p = pb_of(message.p, used > 0 ? message.n : 0);
	uint64_t status = 1;

	if (used < 0)
		return (int)used;
	if (used == 0)
		return k->n_answer < ANSWER_MAX ? 1 : E_PROTOCOL;
	while (pb_next(&p))
		if (p.field == 1)
			status = p.value;
	if (p.rd.bad)
		return E_PROTOCOL;
	if (status)
		return -EREMOTEIO;
	/* A byte of its own carries the descriptors. */
	if (k->n_answer == (size_t)used)
		return 1;
	return k->n_fds == 2 ? replica_open(k) : E_PROTOCOL;
}

static int replica_receive(struct kept_replica *k)
{
	unsigned n_fds = 2 - k->n_fds;
	ssize_t n;

	if (k->n_answer == ANSWER_MAX)
		return E_PROTOCOL;
	n = conn_recv(k->conn, k->answer + k->n_answer, ANSWER_MAX - k->n_answer, k->fds + k->n_fds, &n_fds);
	if (n == -EAGAIN)
		return 1;
	if (n <= 0)
		return n ? (int)n : -EPIPE;
	k->n_fds += n_fds;
	k->n_answer += (size_t)n;
	return answer_parse(k);
}

static int replica_send(struct kept_replica *k)
{
	ssize_t n = conn_send(k->conn, k->op.ptr + k->n_sent, k->op.n - k->n_sent, NULL, 0);

	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	k->n_sent += (size_t)n;
	return 0;
}

static void replica_ready(struct conn *c, unsigned can, void *ctx)
{
	struct kept_replica *k = ctx;
	int r = 1;

	if (can & CONN_WRITE && k->n_sent < k->op.n) {
		r = replica_send(k);
		if (r == 0)
			r = conn_want(c, CONN_READ | (k->n_sent < k->op.n ? CONN_WRITE : 0u), replica_ready, k);
		r = r == 0 ? 1 : r;
	}
	if (r == 1 && can & CONN_READ)
		r = replica_receive(k);
	if (r == 1)
		return;
	if (r < 0 && is_of_node(r))
		disable(k->local, k->port);
	replica_answered(k, r);
}

static void replica_late(struct timer *t)
{
	struct kept_replica *k = container_of(t, struct kept_replica, timer);

	disable(k->local, k->port);
	replica_answered(k, -ETIMEDOUT);
}

/* "_PORT" in the site's path is the DataNode's. */
static int socket_path(const char *pattern, uint16_t port, char *out, size_t n)
{
	const char *at = strstr(pattern, "_PORT");
	int r = at ? snprintf(out, n, "%.*s%u%s", (int)(at - pattern), pattern, port, at + 5) : snprintf(out, n, "%s", pattern);

	return r < 0 || (size_t)r >= n ? -ENAMETOOLONG : 0;
}

static int socket_connect(struct local *l, uint16_t port, struct conn **ret)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = -1;
	int r = socket_path(l->conf->domain_socket, port, at.sun_path, sizeof(at.sun_path));

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return conn_of_fd(l->loop, TAKE_FD(fd), ret);
}

/* OpRequestShortCircuitAccessProto. */
static int put_op(struct buf *b, const struct local_read *r)
{
	AUTO_BUF struct buf op;

	buf_init(&op, OP_MAX_BYTES);
	buf_hdfs_base(&op, 1, r->block, r->token);
	buf_pb_u64(&op, 2, 1);
	return op.r < 0 ? op.r : transfer_put_op(b, TRANSFER_SHORT_CIRCUIT_FDS, op.ptr, op.n);
}

static int replica_ask(struct kept_replica *k, const struct local_read *r)
{
	int code = put_op(&k->op, r);

	if (code == 0)
		code = socket_connect(k->local, k->port, &k->conn);
	if (code == 0)
		code = replica_send(k);
	if (code == 0)
		code = timer_set(&k->timer, loop_now(k->local->loop) + ASK_NS);
	if (code == 0)
		code = conn_want(k->conn, CONN_READ | (k->n_sent < k->op.n ? CONN_WRITE : 0u), replica_ready, k);
	return code;
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
	buf_init(&k->op, OP_MAX_BYTES);
	timer_init(&k->timer, l->loop, replica_late);
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
	code = k->pool ? replica_ask(k, r) : -ENOMEM;
	if (code < 0) {
		if (is_of_node(code))
			disable(l, k->port);
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
