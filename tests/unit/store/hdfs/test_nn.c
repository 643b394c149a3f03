/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to NameNodes that are active, standby, dead, silent, full, or cut off, on virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fake_nn.h"
#include "store/hdfs/nn/nn.h"
#include "wire/hadoop/pb.h"

#define MAX_CALLS 400
#define PORT 8020

struct one {
	struct nn_call call;
	struct world *world;
	char answer[64];
	bool done;
};

struct world {
	struct loop *loop;
	struct fake_net *net;
	struct fake_cache *cache;
	struct fake_nn *nns[3];
	unsigned n;
	struct hdfs_conf conf;
	struct hdfs_counters counters;
	struct nn *nn;
	struct one ones[MAX_CALLS];
	unsigned n_ones, n_done;
	bool all_done;
	uint64_t delay_ns;
	unsigned kill_at, close_every, n_seen;
};

static const char *const IDS[] = {"nn1", "nn2", "nn3"};
static const char *const HOSTS[] = {"one", "two", "three"};

/* Echoes the request with the user's name in front. */
static void echo(void *ctx, const struct fake_call *call, struct fake_answer *answer)
{
	struct world *w = ctx;

	w->n_seen++;
	answer->delay_ns = w->delay_ns;
	buf_printf(&answer->body, "%s:%.*s", call->user, STR_ARG(call->body));
	answer->close = w->close_every && w->n_seen % w->close_every == 0;
	if (w->kill_at && w->n_seen == w->kill_at)
		fake_nn_role(w->nns[0], FAKE_STANDBY);
	if (strcmp(call->method, "fail") == 0) {
		answer->exception = "java.io.FileNotFoundException";
		answer->words = "File does not exist: /x\n\tat org.apache";
	}
}

static struct world *world_new(unsigned n)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_int_equal(loop_new_virtual(&w->loop), 0);
	w->net = fake_net_new(w->loop);
	w->cache = fake_cache_new();
	w->n = n;
	w->conf = (struct hdfs_conf){
		.nameservice = n > 1 ? (char *)"cluster" : (char *)"",
		.n_namenodes = n,
		.user = (char *)"alice",
		.failover_max_attempts = 15,
		.failover_base_ms = 500,
		.failover_max_ms = 15000,
		.rpc_timeout_ms = 120000,
		.connect_timeout_ms = 20000,
		.connect_retries = 10,
	};
	for (unsigned i = 0; i < n; i++) {
		w->conf.namenodes[i] = (struct hdfs_namenode){(char *)(n > 1 ? IDS[i] : ""), {(char *)HOSTS[i], PORT}};
		w->nns[i] = fake_nn_new(w->loop, w->net, HOSTS[i], PORT, echo, w);
		fake_nn_role(w->nns[i], i ? FAKE_STANDBY : FAKE_ACTIVE);
		fake_nn_cache(w->nns[i], w->cache);
	}
	return w;
}

static void world_start(struct world *w)
{
	assert_int_equal(nn_new(w->loop, &w->conf, fake_net_dialer(w->net), &w->counters, &w->nn), 0);
}

static void world_free(struct world *w)
{
	for (unsigned i = 0; i < w->n_ones; i++)
		nn_call_release(&w->ones[i].call);
	nn_free(w->nn);
	for (unsigned i = 0; i < w->n; i++)
		fake_nn_free(w->nns[i]);
	assert_int_equal(loop_run(w->loop), 0);
	fake_net_free(w->net);
	fake_cache_free(w->cache);
	loop_free(w->loop);
	free(w);
}

static void on_done(struct nn_call *call)
{
	struct one *one = call->ctx;
	struct world *w = one->world;

	assert_false(one->done);
	one->done = true;
	if (call->r == 0)
		snprintf(one->answer, sizeof(one->answer), "%.*s", STR_ARG(call->answer));
	w->all_done = ++w->n_done == w->n_ones;
}

static struct one *submit_as(struct world *w, const char *method, enum nn_kind kind)
{
	struct one *one = &w->ones[w->n_ones++];

	assert_true(w->n_ones <= MAX_CALLS);
	one->world = w;
	one->call = (struct nn_call){.method = method, .kind = kind, .done = on_done, .ctx = one};
	buf_init(&one->call.body, NN_MAX_BODY);
	buf_printf(&one->call.body, "%u", w->n_ones - 1);
	w->all_done = false;
	nn_submit(w->nn, &one->call);
	assert_false(one->done);
	return one;
}

static struct one *submit(struct world *w, enum nn_kind kind)
{
	return submit_as(w, kind == NN_READ ? "getFileInfo" : "delete", kind);
}

static void run(struct world *w)
{
	assert_int_equal(loop_run_until(w->loop, &w->all_done), 0);
}

static void check_all_right(struct world *w)
{
	char expected[32];

	for (unsigned i = 0; i < w->n_ones; i++) {
		snprintf(expected, sizeof(expected), "alice:%u", i);
		if (w->ones[i].call.r < 0)
			fail_msg("call %u: %d, %s", i, w->ones[i].call.r, w->ones[i].call.err.words);
		assert_string_equal(w->ones[i].answer, expected);
	}
}

static void many_calls_share_one_connection(void **state)
{
	struct world *w = world_new(1);

	world_start(w);
	for (unsigned i = 0; i < 300; i++)
		submit(w, NN_READ);
	run(w);
	check_all_right(w);
	assert_int_equal(fake_net_n_dials(w->net), 1);
	assert_int_equal(w->counters.nn_calls, 300);
	assert_int_equal(w->counters.nn_repeats, 0);
	world_free(w);
}

static void an_exception_is_an_answer_with_words(void **state)
{
	struct world *w = world_new(2);
	struct one *one;

	world_start(w);
	one = submit_as(w, "fail", NN_READ);
	run(w);
	assert_int_equal(one->call.r, -ENOENT);
	assert_string_equal(one->call.err.words, "nn1 (one:8020): File does not exist: /x");
	assert_int_equal(w->counters.nn_calls, 1);
	world_free(w);
}

static void a_standby_costs_one_refusal_and_is_remembered(void **state)
{
	struct world *w = world_new(2);

	fake_nn_role(w->nns[0], FAKE_STANDBY);
	fake_nn_role(w->nns[1], FAKE_ACTIVE);
	world_start(w);
	submit(w, NN_READ);
	run(w);
	for (unsigned i = 0; i < 50; i++)
		submit(w, NN_READ);
	run(w);
	check_all_right(w);
	assert_int_equal(fake_nn_n_seen(w->nns[0]), 1);
	assert_int_equal(w->counters.nn_failovers, 1);
	world_free(w);
}

/* All in flight turn together: one of them finds out, the others follow. */
static void a_failover_under_many_calls_is_one(void **state)
{
	struct world *w = world_new(2);

	world_start(w);
	w->kill_at = 20;
	w->delay_ns = NS_PER_MS;
	for (unsigned i = 0; i < 100; i++)
		submit(w, i % 2 ? NN_READ : NN_AT_MOST_ONCE);
	fake_nn_role(w->nns[1], FAKE_ACTIVE);
	run(w);
	check_all_right(w);
	assert_int_equal(w->counters.nn_failovers, 1);
	assert_int_equal(fake_nn_n_executed(w->nns[0]) + fake_nn_n_executed(w->nns[1]), 100);
	world_free(w);
}

static void a_dead_host_is_left_long_before_the_timeout(void **state)
{
	struct world *w = world_new(2);
	uint64_t begun_ns;

	fake_net_set(w->net, "one", PORT, FAKE_IS_SILENT);
	fake_nn_role(w->nns[1], FAKE_ACTIVE);
	world_start(w);
	begun_ns = loop_now(w->loop);
	submit(w, NN_READ);
	run(w);
	check_all_right(w);
	assert_true(loop_now(w->loop) - begun_ns < 3 * NS_PER_S);
	world_free(w);
}

static void without_an_active_one_words_name_each_and_what_it_said(void **state)
{
	struct world *w = world_new(2);
	uint64_t begun_ns;
	struct one *one;

	fake_nn_kill(w->nns[0]);
	world_start(w);
	begun_ns = loop_now(w->loop);
	one = submit(w, NN_READ);
	run(w);
	assert_int_equal(one->call.r, -EAGAIN);
	assert_non_null(strstr(one->call.err.words, "nn1 (one:8020): Connection refused"));
	assert_non_null(strstr(one->call.err.words, "nn2 (two:8020): Operation category READ is not supported"));
	assert_non_null(strstr(one->call.err.words, "of cluster"));
	assert_true(loop_now(w->loop) - begun_ns < 70 * NS_PER_S);
	world_free(w);
}

static struct world *restarting;

static void restart(struct timer *t)
{
	fake_nn_start(restarting->nns[0]);
}

static void a_single_namenode_that_restarts_is_waited_for(void **state)
{
	struct world *w = restarting = world_new(1);
	struct timer timer;

	fake_nn_kill(w->nns[0]);
	world_start(w);
	submit(w, NN_READ);
	timer_init(&timer, w->loop, restart);
	assert_int_equal(timer_set(&timer, loop_now(w->loop) + 5 * NS_PER_S), 0);
	run(w);
	check_all_right(w);
	assert_true(fake_net_n_dials(w->net) > 3);
	world_free(w);
}

/* A process that is stopped takes connections and says nothing; the other one has been made active meanwhile. */
static void a_silent_active_namenode_is_left_when_another_is_active(void **state)
{
	struct world *w = world_new(2);
	uint64_t begun_ns;

	world_start(w);
	submit(w, NN_READ);
	run(w);
	fake_nn_stop(w->nns[0], true);
	fake_nn_role(w->nns[1], FAKE_ACTIVE);
	begun_ns = loop_now(w->loop);
	for (unsigned i = 0; i < 20; i++)
		submit(w, i % 2 ? NN_READ : NN_AT_MOST_ONCE);
	run(w);
	check_all_right(w);
	assert_true(loop_now(w->loop) - begun_ns < 10 * NS_PER_S);
	world_free(w);
}

static void a_slow_namenode_is_not_left(void **state)
{
	struct world *w = world_new(2);

	world_start(w);
	w->delay_ns = 100 * NS_PER_S;
	submit(w, NN_READ);
	run(w);
	check_all_right(w);
	assert_int_equal(w->counters.nn_failovers, 0);
	assert_true(fake_nn_n_pings(w->nns[0]) > 0);
	world_free(w);
}

static void silence_ends_a_call(void **state)
{
	struct world *w = world_new(1);
	struct one *one;

	world_start(w);
	fake_nn_stop(w->nns[0], true);
	w->delay_ns = 1000 * NS_PER_S;
	one = submit(w, NN_READ);
	run(w);
	assert_int_equal(one->call.r, -ETIMEDOUT);
	assert_non_null(strstr(one->call.err.words, "one:8020"));
	world_free(w);
}

static void a_deadline_ends_a_call(void **state)
{
	struct world *w = world_new(2);
	struct one *one = &w->ones[w->n_ones++];
	uint64_t begun_ns;

	world_start(w);
	begun_ns = loop_now(w->loop);
	w->delay_ns = 1000 * NS_PER_S;
	one->world = w;
	one->call = (struct nn_call){.method = "getFileInfo", .done = on_done, .ctx = one, .deadline_ns = begun_ns + NS_PER_S};
	buf_init(&one->call.body, 8);
	nn_submit(w->nn, &one->call);
	run(w);
	assert_int_equal(one->call.r, -ETIMEDOUT);
	assert_int_equal(loop_now(w->loop), begun_ns + NS_PER_S);
	world_free(w);
}

static void a_cancelled_call_ends_soon_and_others_go_on(void **state)
{
	struct world *w = world_new(1);
	struct one *one, *other;

	world_start(w);
	w->delay_ns = NS_PER_S;
	one = submit(w, NN_READ);
	other = submit(w, NN_READ);
	nn_cancel(&one->call);
	nn_cancel(&one->call);
	run(w);
	assert_int_equal(one->call.r, -ECANCELED);
	assert_int_equal(other->call.r, 0);
	world_free(w);
}

/* FATAL takes innocent calls with it: they are repeated, and nothing is executed twice. */
static void a_full_queue_loses_no_call_and_repeats_none(void **state)
{
	struct world *w = world_new(1);

	world_start(w);
	fake_nn_queue(w->nns[0], 40);
	w->delay_ns = NS_PER_MS;
	for (unsigned i = 0; i < 100; i++)
		submit(w, NN_AT_MOST_ONCE);
	run(w);
	check_all_right(w);
	assert_int_equal(fake_nn_n_executed(w->nns[0]), 100);
	assert_true(w->counters.nn_repeats > 0);
	assert_true(fake_net_n_dials(w->net) > 1);
	world_free(w);
}

static void calls_that_were_executed_and_not_answered_are_executed_once(void **state)
{
	struct world *w = world_new(2);

	world_start(w);
	w->close_every = 10;
	for (unsigned i = 0; i < 20; i++) {
		submit(w, NN_AT_MOST_ONCE);
		run(w);
	}
	check_all_right(w);
	assert_int_equal(fake_nn_n_executed(w->nns[0]) + fake_nn_n_executed(w->nns[1]), 20);
	assert_true(w->counters.nn_repeats >= 2);
	world_free(w);
}

static void what_must_not_be_repeated_is_not(void **state)
{
	struct world *w = world_new(2);
	struct one *one;

	world_start(w);
	w->close_every = 1;
	one = submit_as(w, "once", NN_ONCE);
	run(w);
	assert_int_equal(one->call.r, -ECONNRESET);
	assert_int_equal(w->n_seen, 1);
	world_free(w);
}

/* Whatever is short of memory, every call ends once, right or with an error, and nothing stays behind. */
static void any_allocation_may_fail(void **state)
{
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		struct world *w = world_new(2);
		int r;

		mem_fail_nth(nth);
		r = nn_new(w->loop, &w->conf, fake_net_dialer(w->net), &w->counters, &w->nn);
		for (unsigned i = 0; r == 0 && i < 100; i++)
			submit(w, i % 2 ? NN_READ : NN_AT_MOST_ONCE);
		if (r == 0)
			run(w);
		failed = mem_failed();
		mem_fail_nth(0);
		for (unsigned i = 0; i < w->n_ones; i++)
			assert_true(w->ones[i].done && (w->ones[i].call.r == 0 || w->ones[i].call.r == -ENOMEM));
		assert_true(r == 0 || r == -ENOMEM);
		world_free(w);
	}
}

static struct pipe_faults schedule(uint64_t seed)
{
	struct pipe_faults f = {
		.seed = seed * 1000,
		.delay_min_ns = NS_PER_US,
		.delay_max_ns = 100 * NS_PER_US,
		.cut_after = 1 + (uint32_t)(seed % 40),
		.split_ppm = seed % 3 ? 300000 : 0,
		.stall_ppm = seed % 5 ? 0 : 20000,
		.stall_ns = 2 * NS_PER_S,
	};

	return f;
}

static uint64_t n_schedules(void)
{
	const char *given = getenv("OLDDOG_SCHEDULES");
	uint64_t n = 100;

	if (given)
		assert_int_equal(str_to_u64(str_of(given), &n), 0);
	return n;
}

/* Connections are cut after every number of reads, again and again, with two NameNodes and a turn in the middle. */
static void any_cuts_lose_nothing_and_run_nothing_twice(void **state)
{
	for (uint64_t seed = 0; seed < n_schedules(); seed++) {
		struct world *w = world_new(2);

		world_start(w);
		w->kill_at = seed % 2 ? 25 : 0;
		fake_nn_role(w->nns[1], seed % 2 ? FAKE_ACTIVE : FAKE_STANDBY);
		for (unsigned batch = 0; batch < 6; batch++) {
			struct pipe_faults faults = schedule(seed + batch * 17);

			/* Two in a row: a connection that is always cut before its first answer serves nobody. */
			fake_net_faults(w->net, 0, &faults, 2);
			for (unsigned i = 0; i < 10; i++)
				submit(w, NN_AT_MOST_ONCE);
			run(w);
		}
		check_all_right(w);
		assert_int_equal(fake_nn_n_executed(w->nns[0]) + fake_nn_n_executed(w->nns[1]), 60);
		world_free(w);
	}
}

static void observers_answer_reads_of_what_was_seen(void **state)
{
	struct world *w = world_new(3);

	fake_nn_role(w->nns[2], FAKE_OBSERVER);
	for (unsigned i = 0; i < 3; i++)
		fake_nn_state_id(w->nns[i], 100);
	w->conf.observer_reads = true;
	world_start(w);
	/* The first goes to the active one, since nothing is known. */
	submit(w, NN_READ);
	run(w);
	for (unsigned i = 0; i < 10; i++)
		submit(w, NN_READ);
	submit(w, NN_AT_MOST_ONCE);
	run(w);
	check_all_right(w);
	assert_int_equal(fake_nn_n_executed(w->nns[2]), 10);
	/* An observer that dies costs nothing but the way. */
	fake_nn_kill(w->nns[2]);
	for (unsigned i = 0; i < 10; i++)
		submit(w, NN_READ);
	run(w);
	check_all_right(w);
	assert_int_equal(fake_nn_n_executed(w->nns[2]), 10);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_calls_share_one_connection),
		cmocka_unit_test(an_exception_is_an_answer_with_words),
		cmocka_unit_test(a_standby_costs_one_refusal_and_is_remembered),
		cmocka_unit_test(a_failover_under_many_calls_is_one),
		cmocka_unit_test(a_dead_host_is_left_long_before_the_timeout),
		cmocka_unit_test(without_an_active_one_words_name_each_and_what_it_said),
		cmocka_unit_test(a_single_namenode_that_restarts_is_waited_for),
		cmocka_unit_test(a_silent_active_namenode_is_left_when_another_is_active),
		cmocka_unit_test(a_slow_namenode_is_not_left),
		cmocka_unit_test(silence_ends_a_call),
		cmocka_unit_test(a_deadline_ends_a_call),
		cmocka_unit_test(a_cancelled_call_ends_soon_and_others_go_on),
		cmocka_unit_test(a_full_queue_loses_no_call_and_repeats_none),
		cmocka_unit_test(calls_that_were_executed_and_not_answered_are_executed_once),
		cmocka_unit_test(what_must_not_be_repeated_is_not),
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(any_cuts_lose_nothing_and_run_nothing_twice),
		cmocka_unit_test(observers_answer_reads_of_what_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
