/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over sockets: bounds of records, descriptors, ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "net/conn.h"
#include "unit/open_fds.h"

struct pair {
	struct loop *loop;
	struct conn *a, *b;
};

static struct pair pair_new(int type)
{
	struct pair p;
	int fds[2];

	assert_int_equal(loop_new(&p.loop), 0);
	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(conn_of_fd(p.loop, fds[0], &p.a), 0);
	assert_int_equal(conn_of_fd(p.loop, fds[1], &p.b), 0);
	return p;
}

static void pair_free(struct pair *p)
{
	conn_close(p->a);
	conn_close(p->b);
	loop_free(p->loop);
}

static void records_keep_their_bounds(void **state)
{
	struct pair p = pair_new(SOCK_SEQPACKET);
	char got[8];

	assert_int_equal(conn_recv(p.b, got, sizeof(got), NULL, NULL), -EAGAIN);
	assert_int_equal(conn_send(p.a, "abc", 3, NULL, 0), 3);
	assert_int_equal(conn_send(p.a, "too long a record", 17, NULL, 0), 17);
	assert_int_equal(conn_send(p.a, "de", 2, NULL, 0), 2);
	assert_int_equal(conn_recv(p.b, got, sizeof(got), NULL, NULL), 3);
	assert_memory_equal(got, "abc", 3);
	assert_int_equal(conn_recv(p.b, got, sizeof(got), NULL, NULL), -EMSGSIZE);
	assert_int_equal(conn_recv(p.b, got, sizeof(got), NULL, NULL), 2);
	assert_memory_equal(got, "de", 2);
	pair_free(&p);
}

static void pieces_are_one_run_of_bytes(struct conn *from, struct conn *to)
{
	struct iovec out[] = {{(void *)"ab", 2}, {(void *)"", 0}, {(void *)"cdefg", 5}};
	char a[3] = "", b[4] = "";
	struct iovec in[] = {{a, 3}, {b, 4}};

	assert_int_equal(conn_sendv(from, out, 3), 7);
	assert_int_equal(conn_recvv(to, in, 2), 7);
	assert_memory_equal(a, "abc", 3);
	assert_memory_equal(b, "defg", 4);
}

static void pieces_are_sent_and_received_as_one_run_of_bytes(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct pair p = pair_new(i ? SOCK_STREAM : SOCK_SEQPACKET);
		struct conn *a, *b;

		pieces_are_one_run_of_bytes(p.a, p.b);
		assert_int_equal(conn_pipe(p.loop, i == 0, 64, NULL, &a, &b), 0);
		pieces_are_one_run_of_bytes(a, b);
		conn_close(a);
		conn_close(b);
		pair_free(&p);
	}
}

static void a_closed_side_reads_as_the_end_and_breaks_sends(void **state)
{
	struct pair p = pair_new(SOCK_SEQPACKET);
	char got[8];

	assert_int_equal(conn_send(p.a, "last", 4, NULL, 0), 4);
	conn_close(TAKE(p.a));
	assert_int_equal(conn_recv(p.b, got, sizeof(got), NULL, NULL), 4);
	assert_int_equal(conn_recv(p.b, got, sizeof(got), NULL, NULL), 0);
	assert_int_equal(conn_send(p.b, "x", 1, NULL, 0), -EPIPE);
	pair_free(&p);
}

static void descriptors_pass_and_the_surplus_is_closed(void **state)
{
	struct pair p = pair_new(SOCK_SEQPACKET);
	int pipe_fds[2], fds[3], got_fds[2] = {-1, -1};
	unsigned n_fds = 2, n_before;
	char got[8];

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	fds[0] = fds[1] = fds[2] = pipe_fds[1];
	n_before = n_open_fds();
	assert_int_equal(conn_send(p.a, "fds", 3, fds, 3), 3);
	assert_int_equal(conn_recv(p.b, got, sizeof(got), got_fds, &n_fds), 3);
	assert_int_equal(n_fds, 2);
	assert_int_equal(n_open_fds(), n_before + 2);
	assert_int_equal(fcntl(got_fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(got_fds[1], "x", 1), 1);
	assert_int_equal(read(pipe_fds[0], got, 1), 1);
	close(got_fds[0]);
	close(got_fds[1]);
	/* Nobody asks for any, or the record does not fit. */
	assert_int_equal(conn_send(p.a, "fds", 3, fds, 3), 3);
	assert_int_equal(conn_recv(p.b, got, sizeof(got), NULL, NULL), 3);
	assert_int_equal(conn_send(p.a, "fds, too long", 13, fds, 3), 13);
	n_fds = 2;
	assert_int_equal(conn_recv(p.b, got, sizeof(got), got_fds, &n_fds), -EMSGSIZE);
	assert_int_equal(n_fds, 0);
	assert_int_equal(n_open_fds(), n_before);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	pair_free(&p);
}

static void streams_refuse_descriptors_and_virtual_loops_refuse_sockets(void **state)
{
	struct pair p = pair_new(SOCK_STREAM);
	AUTO(loop) struct loop *loop = NULL;
	int fd = 0, fds[2];
	struct conn *c;

	assert_int_equal(conn_send(p.a, "x", 1, &fd, 1), -EOPNOTSUPP);
	pair_free(&p);
	assert_int_equal(loop_new_virtual(&loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(conn_of_fd(loop, fds[0], &c), -EOPNOTSUPP);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	close(fds[1]);
	/* Not a socket: an error, and closed all the same. */
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(loop_run(loop), 0);
	loop_free(TAKE(loop));
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(conn_of_fd(loop, fds[0], &c), -ENOTSOCK);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	close(fds[1]);
}

/* One side sends N_BYTES as it can, the other reads to the end. */
#define N_BYTES (1u << 20)

struct transfer {
	size_t n_sent, n_got;
	bool right, ended;
};

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 2654435761u >> 24);
}

static void send_some(struct conn *c, unsigned can, void *ctx)
{
	struct transfer *t = ctx;
	uint8_t bytes[4096];
	size_t n = MIN(sizeof(bytes), N_BYTES - t->n_sent);
	ssize_t r;

	assert_int_equal(can, CONN_WRITE);
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(t->n_sent + i);
	r = conn_send(c, bytes, n, NULL, 0);
	assert_true(r > 0 || r == -EAGAIN);
	t->n_sent += r > 0 ? (size_t)r : 0;
	if (t->n_sent == N_BYTES)
		conn_close(c);
}

static void recv_some(struct conn *c, unsigned can, void *ctx)
{
	struct transfer *t = ctx;
	uint8_t bytes[3000];
	ssize_t r = conn_recv(c, bytes, sizeof(bytes), NULL, NULL);

	assert_true(r >= 0);
	for (ssize_t i = 0; i < r; i++)
		t->right = t->right && bytes[i] == byte_at(t->n_got + (size_t)i);
	t->n_got += (size_t)r;
	t->ended = r == 0;
	if (t->ended)
		assert_int_equal(conn_want(c, 0, NULL, NULL), 0);
}

static void a_stream_carries_more_than_its_buffer(void **state)
{
	struct pair p = pair_new(SOCK_STREAM);
	struct transfer t = {.right = true};

	assert_int_equal(conn_want(p.a, CONN_WRITE, send_some, &t), 0);
	assert_int_equal(conn_want(p.b, CONN_READ, recv_some, &t), 0);
	assert_int_equal(loop_run_until(p.loop, &t.ended), 0);
	p.a = NULL;
	assert_int_equal(t.n_got, N_BYTES);
	assert_true(t.right);
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_keep_their_bounds),
		cmocka_unit_test(pieces_are_sent_and_received_as_one_run_of_bytes),
		cmocka_unit_test(a_closed_side_reads_as_the_end_and_breaks_sends),
		cmocka_unit_test(descriptors_pass_and_the_surplus_is_closed),
		cmocka_unit_test(streams_refuse_descriptors_and_virtual_loops_refuse_sockets),
		cmocka_unit_test(a_stream_carries_more_than_its_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
