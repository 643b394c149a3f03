/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas of this host by descriptors, from a domain socket that says all sorts of things: bytes that are right, or an error
 * of the right kind; and no descriptor stays behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/loop.h"
#include "store/hdfs/dn/local.h"
#include "unit/open_fds.h"
#include "wire/hadoop/pb.h"

#define N_BYTES 5000u
#define CHUNK 512u
#define PORT 9866

/* What the DataNode does when it is asked. */
enum way {
	GIVES, GIVES_BY_BYTES, GIVES_WITH_THE_ANSWER, GIVES_MORE,
	GIVES_NONE, GIVES_ONE, GIVES_PIPES, GIVES_SWAPPED, GIVES_NO_META, GIVES_A_SHORT_ONE, GIVES_A_BAD_ONE,
	REFUSES, CLOSES, SAYS_RUBBISH, SAYS_NO_END, SAYS_HALF
};

/* A server of one socket, on the loop of who asks. */
struct node {
	struct loop *loop;
	char dir[64], path[108];
	int listener;
	struct watch watch;
	struct list links;
	enum way way;
	unsigned n_asked;
};

struct link {
	struct node *node;
	struct list list;
	struct watch watch;
};

static uint8_t bytes[N_BYTES];

/* -- What it has ------------------------------------------------------------------------------------------------- */

static int memory_of(const void *p, size_t n)
{
	int fd = memfd_create("replica", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, p, n, 0), n);
	return fd;
}

static int data_of(enum way way)
{
	uint8_t copy[N_BYTES];

	memcpy(copy, bytes, N_BYTES);
	copy[3000] ^= way == GIVES_A_BAD_ONE;
	return memory_of(copy, way == GIVES_A_SHORT_ONE ? 2100 : N_BYTES);
}

static int meta_of(enum way way)
{
	uint8_t meta[REPLICA_META_HEAD + 4 * ((N_BYTES + CHUNK - 1) / CHUNK)] = {0, 1, CRC_C, 0, 0, CHUNK >> 8, CHUNK & 255};

	crc_fill(CRC_C, CHUNK, bytes, N_BYTES, meta + REPLICA_META_HEAD);
	return memory_of(meta, way == GIVES_NO_META ? 5 : sizeof(meta));
}

/* How many there are in fds. */
static unsigned fds_of(enum way way, int fds[3])
{
	if (way == GIVES_NONE)
		return 0;
	if (way == GIVES_PIPES) {
		assert_int_equal(pipe(fds), 0);
		return 2;
	}
	fds[way == GIVES_SWAPPED] = data_of(way);
	fds[way != GIVES_SWAPPED] = meta_of(way);
	fds[2] = meta_of(way);
	if (way == GIVES_ONE)
		close(fds[1]);
	if (way != GIVES_MORE)
		close(fds[2]);
	return way == GIVES_MORE ? 3 : way == GIVES_ONE ? 1 : 2;
}

/* -- What it says ------------------------------------------------------------------------------------------------ */

static void say(int to, const void *p, size_t n, const int *fds, unsigned n_fds)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(3 * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)p, n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (n_fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	assert_int_equal(sendmsg(to, &m, MSG_NOSIGNAL), n);
}

static void say_fds(int to, const uint8_t *answer, size_t n, enum way way)
{
	int fds[3];
	unsigned n_fds = fds_of(way, fds);

	if (way == GIVES_WITH_THE_ANSWER) {
		say(to, answer, n, fds, n_fds);
		say(to, "", 1, NULL, 0);
	} else {
		for (size_t i = 0; way == GIVES_BY_BYTES && i < n; i++)
			say(to, answer + i, 1, NULL, 0);
		if (way != GIVES_BY_BYTES)
			say(to, answer, n, NULL, 0);
		say(to, "", 1, fds, n_fds);
	}
	for (unsigned i = 0; i < n_fds; i++)
		close(fds[i]);
}

static void answer(int to, enum way way)
{
	static const uint8_t yes[] = {5, 8, 0, 42, 1, 'x'}, no[] = {5, 8, 1, 42, 1, 'x'};
	static const uint8_t endless[5000] = {0xff, 0x7f};

	switch (way) {
	case REFUSES:
		say(to, no, sizeof(no), NULL, 0);
		break;
	case SAYS_RUBBISH:
		say(to, "\2\xff\xff", 3, NULL, 0);
		break;
	case SAYS_NO_END:
		say(to, endless, sizeof(endless), NULL, 0);
		break;
	case SAYS_HALF:
		say(to, yes, 3, NULL, 0);
		break;
	case CLOSES:
		break;
	default:
		say_fds(to, yes, sizeof(yes), way);
	}
}

static void link_end(struct link *l)
{
	list_del(&l->list);
	watch_stop(&l->watch);
	close(l->watch.fd);
	free(l);
}

/* The operation is small, and comes at once. */
static void link_ready(struct watch *w, uint32_t events)
{
	struct link *l = container_of(w, struct link, watch);
	uint8_t op[4096];
	ssize_t n = read(w->fd, op, sizeof(op));

	if (n > 0) {
		assert_true(n > 4 && op[0] == 0 && op[1] == TRANSFER_VERSION && op[2] == TRANSFER_SHORT_CIRCUIT_FDS);
		l->node->n_asked++;
		answer(w->fd, l->node->way);
	}
	if (n <= 0 || l->node->way == CLOSES || l->node->way == SAYS_HALF)
		link_end(l);
}

static void accept_ready(struct watch *w, uint32_t events)
{
	struct node *node = container_of(w, struct node, watch);
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);
	struct link *l = calloc(1, sizeof(*l));

	assert_true(l && fd >= 0);
	l->node = node;
	list_add(&node->links, &l->list);
	assert_int_equal(watch_start(&l->watch, node->loop, fd, EPOLLIN, link_ready), 0);
}

static void node_start(struct node *node, struct loop *loop, enum way way)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	*node = (struct node){.loop = loop, .dir = "/tmp/olddog-local-XXXXXX", .way = way};
	list_init(&node->links);
	assert_non_null(mkdtemp(node->dir));
	snprintf(node->path, sizeof(node->path), "%s/dn_PORT", node->dir);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/dn%u", node->dir, PORT);
	node->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(node->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(node->listener, 1), 0);
	assert_int_equal(watch_start(&node->watch, loop, node->listener, EPOLLIN, accept_ready), 0);
}

static void node_end(struct node *node)
{
	char socket_path[108];

	while (!list_empty(&node->links))
		link_end(container_of(node->links.next, struct link, list));
	watch_stop(&node->watch);
	close(node->listener);
	snprintf(socket_path, sizeof(socket_path), "%s/dn%u", node->dir, PORT);
	unlink(socket_path);
	rmdir(node->dir);
}

/* -- Who asks ---------------------------------------------------------------------------------------------------- */

struct world {
	struct loop *loop;
	struct node node;
	struct hdfs_conf conf;
	struct local *local;
	struct hdfs_node at;
};

struct reading {
	struct local_read read;
	struct hdfs_block block;
	struct block_seg segs[3];
	uint8_t out[N_BYTES];
	bool done;
	int r;
};

static void on_done(struct local_read *r, int code)
{
	struct reading *g = r->ctx;

	assert_false(g->done);
	g->done = true;
	g->r = code;
}

static void world_init(struct world *w, enum way way)
{
	*w = (struct world){.at = {.uuid = "u", .ip = "127.0.0.1", .host = "h", .rack = "", .xfer_port = PORT}};
	assert_int_equal(loop_new(&w->loop), 0);
	node_start(&w->node, w->loop, way);
	w->conf = (struct hdfs_conf){.short_circuit = true, .domain_socket = w->node.path};
	assert_int_equal(local_new(w->loop, &w->conf, &w->local), 0);
}

static void world_release(struct world *w)
{
	local_free(w->local);
	node_end(&w->node);
	loop_free(w->loop);
}

/* n bytes at offset, with a stretch that nobody wants in their middle when there are three segments. */
static int reading_start(struct world *w, struct reading *g, uint64_t id, uint64_t offset, uint64_t n, unsigned n_segs)
{
	uint64_t part = n / n_segs;

	*g = (struct reading){.block = {"BP-1", id, 7, N_BYTES}};
	memset(g->out, 0xa5, sizeof(g->out));
	for (unsigned i = 0; i < n_segs; i++)
		g->segs[i] = (struct block_seg){i == 1 ? NULL : g->out + i * part, i + 1 == n_segs ? n - i * part : part};
	g->read = (struct local_read){.block = &g->block, .token = {"", 0}, .node = &w->at, .offset = offset, .segs = g->segs,
		.n_segs = n_segs, .done = on_done, .ctx = g};
	return local_read_start(w->local, &g->read);
}

static int reading_wait(struct world *w, struct reading *g)
{
	assert_int_equal(loop_run_until(w->loop, &g->done), 0);
	for (unsigned i = 0, at = 0; i < g->read.n_segs; at += (unsigned)g->segs[i++].n)
		if (g->segs[i].buf && at + g->segs[i].n <= g->read.read.n_done)
			assert_memory_equal(g->segs[i].buf, bytes + g->read.offset + at, g->segs[i].n);
	return g->r;
}

static int read_once(struct world *w, uint64_t offset, uint64_t n, unsigned n_segs)
{
	struct reading g;
	int r = reading_start(w, &g, 1, offset, n, n_segs);

	return r < 0 ? r : reading_wait(w, &g);
}

/* -- Tests -------------------------------------------------------------------------------------------------------- */

static void descriptors_are_asked_for_once_and_read(void **state)
{
	static const enum way ways[] = {GIVES, GIVES_BY_BYTES, GIVES_WITH_THE_ANSWER, GIVES_MORE};
	unsigned n_before = n_open_fds();

	for (unsigned i = 0; i < N_ELEMS(ways); i++) {
		struct world w;

		world_init(&w, ways[i]);
		assert_true(local_serves(w.local, &w.at));
		assert_int_equal(read_once(&w, 0, N_BYTES, 1), 0);
		assert_int_equal(read_once(&w, 700, 3000, 3), 0);
		assert_int_equal(read_once(&w, N_BYTES - 1, 1, 1), 0);
		/* Of no byte past the end is anything told. */
		assert_int_equal(read_once(&w, N_BYTES - 10, 11, 1), -ENODATA);
		assert_int_equal(w.node.n_asked, 1);
		assert_true(local_serves(w.local, &w.at));
		world_release(&w);
		assert_int_equal(n_open_fds(), n_before);
	}
}

static void those_who_come_meanwhile_wait_for_the_same_answer(void **state)
{
	static struct reading g[20];
	struct world w;

	world_init(&w, GIVES);
	for (unsigned i = 0; i < N_ELEMS(g); i++)
		assert_int_equal(reading_start(&w, &g[i], 1, i * 200, 300, 1), 0);
	for (unsigned i = 0; i < N_ELEMS(g); i++)
		assert_int_equal(reading_wait(&w, &g[i]), 0);
	assert_int_equal(w.node.n_asked, 1);
	world_release(&w);
}

/* serves: others of the same node are tried by descriptors all the same. */
static void wrong(enum way way, int r, uint64_t n_right, bool serves)
{
	unsigned n_before = n_open_fds();
	static struct reading g[2];
	struct world w;

	world_init(&w, way);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(reading_start(&w, &g[i], 1, 0, N_BYTES, 1), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(reading_wait(&w, &g[i]), r);
		assert_int_equal(g[i].read.read.n_done, n_right);
		assert_memory_equal(g[i].out, bytes, n_right);
	}
	assert_int_equal(local_serves(w.local, &w.at), serves);
	world_release(&w);
	assert_int_equal(n_open_fds(), n_before);
}

static void what_is_wrong_is_told_and_leaves_nothing_behind(void **state)
{
	wrong(REFUSES, -EREMOTEIO, 0, true);
	wrong(CLOSES, -EPIPE, 0, false);
	wrong(SAYS_HALF, -EPIPE, 0, false);
	wrong(SAYS_RUBBISH, E_PROTOCOL, 0, false);
	wrong(SAYS_NO_END, E_PROTOCOL, 0, false);
	wrong(GIVES_NONE, E_PROTOCOL, 0, false);
	wrong(GIVES_ONE, E_PROTOCOL, 0, false);
	wrong(GIVES_PIPES, -ESPIPE, 0, false);
	wrong(GIVES_SWAPPED, E_PROTOCOL, 0, false);
	wrong(GIVES_NO_META, -ENODATA, 0, false);
	wrong(GIVES_A_SHORT_ONE, -ENODATA, 0, true);
	wrong(GIVES_A_BAD_ONE, -EBADMSG, 0, true);
}

static void a_replica_that_failed_is_asked_for_again(void **state)
{
	struct world w;

	world_init(&w, GIVES_A_BAD_ONE);
	assert_int_equal(read_once(&w, 0, N_BYTES, 1), -EBADMSG);
	w.node.way = GIVES;
	assert_int_equal(read_once(&w, 0, N_BYTES, 1), 0);
	assert_int_equal(w.node.n_asked, 2);
	world_release(&w);
}

static void few_replicas_are_kept_open(void **state)
{
	unsigned n_before;
	struct world w;

	world_init(&w, GIVES);
	n_before = n_open_fds();
	for (uint64_t id = 1; id <= LOCAL_MAX_REPLICAS + 50; id++) {
		struct reading g;

		assert_int_equal(reading_start(&w, &g, id, 0, 100, 1), 0);
		assert_int_equal(reading_wait(&w, &g), 0);
	}
	/* One more, which the next that comes closes; and the node's end of a connection that is closed. */
	assert_in_range(n_open_fds() - n_before, 2 * LOCAL_MAX_REPLICAS, 2 * LOCAL_MAX_REPLICAS + 4);
	world_release(&w);
}

/* That we are short of something, or the node's queue is full just then, says nothing of the node. */
static void our_own_want_does_not_shut_the_node_out(void **state)
{
	static struct reading g[20];
	unsigned n_begun = 0;
	struct rlimit limit, none;
	struct world w;
	int r;

	world_init(&w, GIVES);
	for (unsigned i = 0; i < N_ELEMS(g); i++) {
		r = reading_start(&w, &g[n_begun], i + 1, 0, 100, 1);
		assert_true(r == 0 || r == -EAGAIN);
		n_begun += r == 0;
	}
	assert_true(n_begun < N_ELEMS(g));
	for (unsigned i = 0; i < n_begun; i++)
		assert_int_equal(reading_wait(&w, &g[i]), 0);
	assert_true(local_serves(w.local, &w.at));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){1, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = reading_start(&w, &g[0], 99, 0, 100, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(r, -EMFILE);
	assert_true(local_serves(w.local, &w.at));
	world_release(&w);
}

static void where_nobody_listens_it_is_not_tried_again(void **state)
{
	struct hdfs_node far = {.uuid = "u", .ip = "203.0.113.1", .host = "h", .rack = "", .xfer_port = PORT};
	struct world w;

	world_init(&w, GIVES);
	assert_false(local_serves(w.local, &far));
	w.at.xfer_port = PORT + 1;
	assert_int_equal(read_once(&w, 0, 100, 1), -ENOENT);
	assert_false(local_serves(w.local, &w.at));
	w.at.xfer_port = PORT;
	assert_true(local_serves(w.local, &w.at));
	world_release(&w);
}

static void any_allocation_may_fail(void **state)
{
	unsigned n_before = n_open_fds();
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		struct world w;
		int r;

		world_init(&w, GIVES);
		mem_fail_nth(nth);
		r = read_once(&w, 100, 1000, 1);
		failed = mem_failed();
		mem_fail_nth(0);
		assert_true(r == 0 || (failed && r == -ENOMEM));
		assert_true(local_serves(w.local, &w.at));
		assert_int_equal(read_once(&w, 100, 1000, 1), 0);
		world_release(&w);
		assert_int_equal(n_open_fds(), n_before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_are_asked_for_once_and_read),
		cmocka_unit_test(those_who_come_meanwhile_wait_for_the_same_answer),
		cmocka_unit_test(what_is_wrong_is_told_and_leaves_nothing_behind),
		cmocka_unit_test(a_replica_that_failed_is_asked_for_again),
		cmocka_unit_test(few_replicas_are_kept_open),
		cmocka_unit_test(our_own_want_does_not_shut_the_node_out),
		cmocka_unit_test(where_nobody_listens_it_is_not_tried_again),
		cmocka_unit_test(any_allocation_may_fail),
	};

	for (unsigned i = 0; i < N_BYTES; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
