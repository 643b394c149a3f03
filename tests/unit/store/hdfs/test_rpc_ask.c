/* SPDX-License-Identifier: Apache-2.0 */
/* One call to one server, on a connection of its own: answered, refused, cut, late, given up, or short of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fake_nn.h"
#include "store/hdfs/nn/rpc.h"

#define PORT 8020

struct world {
	struct loop *loop;
	struct fake_net *net;
	struct fake_nn *fake;
	bool close;
	uint64_t delay_ns;
	struct rpc_ask ask;
	char answer[64];
	int r;
	bool done;
};

/* Echoes the request with the user's name in front. */
static void echo(void *ctx, const struct fake_call *call, struct fake_answer *answer)
{
	struct world *w = ctx;

	answer->delay_ns = w->delay_ns;
	answer->close = w->close;
	buf_printf(&answer->body, "%s:%.*s", call->user, STR_ARG(call->body));
	if (strcmp(call->method, "fail") == 0) {
		answer->exception = "java.io.FileNotFoundException";
		answer->words = "File does not exist: /x";
	}
}

static void world_init(struct world *w)
{
	*w = (struct world){0};
	assert_int_equal(loop_new_virtual(&w->loop), 0);
	w->net = fake_net_new(w->loop);
	w->fake = fake_nn_new(w->loop, w->net, "one", PORT, echo, w);
}

static void world_release(struct world *w)
{
	fake_nn_free(w->fake);
	assert_int_equal(loop_run(w->loop), 0);
	fake_net_free(w->net);
	loop_free(w->loop);
}

static void on_asked(struct rpc_ask *ask, int r)
{
	struct world *w = ask->ctx;

	w->r = r;
	if (r == 0)
		snprintf(w->answer, sizeof(w->answer), "%.*s", STR_ARG(ask->answer));
	w->done = true;
}

static void ask_start(struct world *w, const char *method, uint16_t port)
{
	w->done = false;
	w->ask = (struct rpc_ask){.loop = w->loop, .dialer = fake_net_dialer(w->net), .protocol = RPC_HA_PROTOCOL, .user = "bob",
		.method = method, .body = "?", .n = 1, .deadline_ns = loop_now(w->loop) + NS_PER_S, .done = on_asked, .ctx = w};
	rpc_ask(&w->ask, "one", port);
	assert_false(w->done);
}

static int ask(struct world *w, const char *method, uint16_t port)
{
	ask_start(w, method, port);
	assert_int_equal(loop_run_until(w->loop, &w->done), 0);
	return w->r;
}

static void one_call_to_one_server_needs_no_pool(void **state)
{
	struct world w;

	world_init(&w);
	assert_int_equal(ask(&w, "getServiceStatus", PORT), 0);
	assert_string_equal(w.answer, "bob:?");
	assert_int_equal(ask(&w, "fail", PORT), -ENOENT);
	assert_string_equal(w.ask.err.words, "one:8020: File does not exist: /x");
	assert_int_equal(ask(&w, "x", 1), -ENOENT);
	w.close = true;
	assert_int_equal(ask(&w, "x", PORT), -ECONNRESET);
	w.close = false;
	w.delay_ns = 10 * NS_PER_S;
	assert_int_equal(ask(&w, "x", PORT), -ETIMEDOUT);
	world_release(&w);
}

struct cancelling {
	struct timer timer;
	struct world *w;
	bool over;
};

static void cancel_now(struct timer *t)
{
	struct cancelling *c = container_of(t, struct cancelling, timer);

	if (!c->w->done)
		rpc_ask_cancel(&c->w->ask);
	c->over = true;
}

static void what_is_given_up_is_not_told(void **state)
{
	unsigned n_told = 0;

	for (uint64_t i = 0; i < 40; i++) {
		struct cancelling c = {0};
		struct world w;

		world_init(&w);
		w.delay_ns = 2 * NS_PER_MS;
		ask_start(&w, "x", PORT);
		c.w = &w;
		timer_init(&c.timer, w.loop, cancel_now);
		assert_int_equal(timer_set(&c.timer, loop_now(w.loop) + i * 100 * NS_PER_US), 0);
		assert_int_equal(loop_run_until(w.loop, &c.over), 0);
		n_told += w.done;
		world_release(&w);
	}
	assert_in_range(n_told, 1, 39);
}

static void any_allocation_may_fail(void **state)
{
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		struct world w;
		int r;

		world_init(&w);
		mem_fail_nth(nth);
		r = ask(&w, "x", PORT);
		failed = mem_failed();
		mem_fail_nth(0);
		assert_true(r == 0 || (failed && w.ask.err.words[0]));
		world_release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_call_to_one_server_needs_no_pool),
		cmocka_unit_test(what_is_given_up_is_not_told),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
