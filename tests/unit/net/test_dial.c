/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to names: over loopback, so that every answer is there at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "net/dial.h"
#include "unit/open_fds.h"

struct try {
	struct dial dial;
	struct conn *conn;
	bool ended;
	int r;
};

static void try_done(struct dial *d, int r, struct conn *conn)
{
	struct try *t = container_of(d, struct try, dial);

	t->ended = true;
	t->r = r;
	t->conn = conn;
}

/* A listener on a free port of loopback. */
static int listen_on(int family, uint16_t *ret_port, int backlog)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr *at = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t n = family == AF_INET ? sizeof(v4) : sizeof(v6);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, at, n) < 0) {
		close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, at, &n), 0);
	*ret_port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
	if (backlog)
		assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

struct place {
	struct loop *loop;
	struct dialer *dialer;
};

static struct place place_new(void)
{
	struct place p;

	assert_int_equal(loop_new(&p.loop), 0);
	assert_int_equal(dialer_new_tcp(&p.dialer), 0);
	return p;
}

static void place_free(struct place *p)
{
	dialer_free(p->dialer);
	loop_free(p->loop);
}

static int dial_once(struct place *p, const char *host, uint16_t port, struct conn **ret)
{
	struct try t = {.dial = {.loop = p->loop, .done = try_done}};

	t.dial.deadline_ns = loop_now(p->loop) + 30000000000u;
	dial_start(p->dialer, &t.dial, host, port);
	assert_false(t.ended);
	assert_int_equal(loop_run_until(p->loop, &t.ended), 0);
	assert_true((t.r == 0) == (t.conn != NULL));
	*ret = t.conn;
	return t.r;
}

static void exchange(int listener, struct conn *conn)
{
	int fd = accept(listener, NULL, NULL);
	char got[4];

	assert_true(fd >= 0);
	assert_int_equal(conn_send(conn, "ping", 4, NULL, 0), 4);
	assert_int_equal(recv(fd, got, 4, MSG_WAITALL), 4);
	assert_memory_equal(got, "ping", 4);
	close(fd);
}

static void an_address_connects_without_a_name_service(void **state)
{
	struct place p = place_new();
	struct conn *conn;
	uint16_t port;
	int fd = listen_on(AF_INET, &port, 8);

	assert_int_equal(dial_once(&p, "127.0.0.1", port, &conn), 0);
	exchange(fd, conn);
	conn_close(conn);
	close(fd);
	fd = listen_on(AF_INET6, &port, 8);
	if (fd >= 0) {
		assert_int_equal(dial_once(&p, "::1", port, &conn), 0);
		exchange(fd, conn);
		conn_close(conn);
		close(fd);
	}
	place_free(&p);
}

/* localhost is often ::1 first: the refusal there leads to 127.0.0.1. */
static void all_addresses_of_a_name_are_tried(void **state)
{
	struct place p = place_new();
	struct conn *conn;
	uint16_t port;
	int fd = listen_on(AF_INET, &port, 8);

	assert_int_equal(dial_once(&p, "localhost", port, &conn), 0);
	exchange(fd, conn);
	conn_close(conn);
	close(fd);
	place_free(&p);
}

static void a_refusal_and_a_name_that_is_none_are_told_apart(void **state)
{
	struct place p = place_new();
	struct conn *conn;
	uint16_t port;
	int fd = listen_on(AF_INET, &port, 0);
	int r;

	assert_int_equal(dial_once(&p, "127.0.0.1", port, &conn), -ECONNREFUSED);
	r = dial_once(&p, "no-such-name.invalid", port, &conn);
	assert_true(r == -ENOENT || r == -EAGAIN);
	close(fd);
	place_free(&p);
}

static void a_deadline_that_has_passed_is_told_as_such(void **state)
{
	struct place p = place_new();
	uint16_t port;
	int fd = listen_on(AF_INET, &port, 8);

	for (unsigned i = 0; i < 2; i++) {
		struct try t = {.dial = {.loop = p.loop, .done = try_done, .deadline_ns = 1}};

		dial_start(p.dialer, &t.dial, i ? "localhost" : "127.0.0.1", port);
		assert_int_equal(loop_run_until(p.loop, &t.ended), 0);
		assert_int_equal(t.r, -ETIMEDOUT);
	}
	close(fd);
	place_free(&p);
}

/* A backlog that is full answers nobody: the kernel drops what comes. */
static void who_does_not_answer_is_given_up_at_the_deadline(void **state)
{
	struct place p = place_new();
	struct try t[8] = {0};
	uint16_t port;
	int fd = listen_on(AF_INET, &port, 1);
	bool timed_out = false;

	for (unsigned i = 0; i < N_ELEMS(t); i++) {
		t[i].dial = (struct dial){.loop = p.loop, .done = try_done,
			.deadline_ns = loop_now(p.loop) + 50000000u};
		dial_start(p.dialer, &t[i].dial, "127.0.0.1", port);
	}
	for (unsigned i = 0; i < N_ELEMS(t); i++) {
		assert_int_equal(loop_run_until(p.loop, &t[i].ended), 0);
		assert_true(t[i].r == 0 || t[i].r == -ETIMEDOUT);
		timed_out |= t[i].r == -ETIMEDOUT;
		conn_close(t[i].conn);
	}
	assert_true(timed_out);
	close(fd);
	place_free(&p);
}

static void a_cancelled_dial_is_not_told_and_leaves_nothing(void **state)
{
	unsigned n_before = n_open_fds();
	struct place p = place_new();
	static const char *const hosts[] = {"127.0.0.1", "localhost", "no-such-name.invalid"};
	struct try t[3] = {0};
	uint16_t port;
	int fd = listen_on(AF_INET, &port, 8);

	for (unsigned i = 0; i < 3; i++) {
		t[i].dial = (struct dial){.loop = p.loop, .done = try_done};
		dial_start(p.dialer, &t[i].dial, hosts[i], port);
		dial_cancel(&t[i].dial);
	}
	/* The dialer may go before its lookups end. */
	dialer_free(p.dialer);
	assert_int_equal(loop_run(p.loop), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_false(t[i].ended);
	close(fd);
	loop_free(p.loop);
	assert_int_equal(n_open_fds(), n_before);
}

static void every_allocation_may_fail(void **state)
{
	unsigned n_before = n_open_fds();
	uint16_t port;
	int fd = listen_on(AF_INET, &port, 64), r;

	for (uint64_t nth = 1;; nth++) {
		struct place p = place_new();
		struct conn *conn;
		int failed;

		mem_fail_nth(nth);
		r = dial_once(&p, "127.0.0.1", port, &conn);
		failed = mem_failed();
		mem_fail_nth(0);
		assert_true(r == 0 || r == -ENOMEM);
		conn_close(conn);
		place_free(&p);
		if (!failed)
			break;
	}
	close(fd);
	assert_int_equal(n_open_fds(), n_before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_connects_without_a_name_service),
		cmocka_unit_test(all_addresses_of_a_name_are_tried),
		cmocka_unit_test(a_refusal_and_a_name_that_is_none_are_told_apart),
		cmocka_unit_test(a_deadline_that_has_passed_is_told_as_such),
		cmocka_unit_test(who_does_not_answer_is_given_up_at_the_deadline),
		cmocka_unit_test(a_cancelled_dial_is_not_told_and_leaves_nothing),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
