/* SPDX-License-Identifier: Apache-2.0 */
/* Reading over DataNodes and a NameNode in one thread, with every fault there is: each byte is right, or an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "read_world.h"

/* -- Tests -------------------------------------------------------------------------------------------------------- */

static void a_file_is_read_and_connections_are_used_again(void **state)
{
	struct world *w = world_new();

	world_file(w, 3000000, 1u << 20, 2);
	assert_int_equal(read_all(w, true), 0);
	assert_int_equal(read_all(w, true), 0);
	/* Locations of a version are kept. */
	assert_int_equal(w->n_lookups, 1);
	assert_int_equal(w->counters.bytes_read, 6000000);
	assert_true(w->counters.dn_reused > 0);
	assert_int_equal(w->counters.failed_reads, 0);
	/* Without one they are asked for each time, by stretches. */
	assert_int_equal(read_all(w, false), 0);
	assert_int_equal(w->n_lookups, 2);
	/* Each reader said that all was right, which is what lets a node go on with the connection. */
	assert_int_equal(loop_run(w->loop), 0);
	assert_int_equal(fake_dn_n_ended(w->dn[0]) + fake_dn_n_ended(w->dn[1]) + fake_dn_n_ended(w->dn[2]), 9);
	world_free(w);
}

static void ranges_past_the_end_and_empty_ones_say_so(void **state)
{
	struct world *w = world_new();
	struct call c = {.ranges = {{.offset = 999000, .length = 2000}, {.offset = 5000000, .length = 10}, {.offset = 7},
		{.offset = 0, .length = 1}}};

	world_file(w, 1000000, 300000, 2);
	assert_int_equal(read_once(w, &c, 4, true), 0);
	assert_int_equal(c.ranges[0].done, 1000);
	assert_int_equal(c.ranges[0].r, -ENODATA);
	assert_int_equal(c.ranges[1].r, -ENODATA);
	assert_int_equal(c.ranges[2].r, 0);
	assert_int_equal(c.ranges[3].done, 1);
	call_check(w, &c);
	world_free(w);
}

static void a_dead_node_is_left_and_remembered(void **state)
{
	struct world *w = world_new();

	world_file(w, 3000000, 1u << 20, 2);
	fake_dn_kill(w->dn[0]);
	assert_int_equal(read_all(w, true), 0);
	assert_int_equal(w->counters.dead_nodes, 1);
	assert_true(w->counters.failed_reads > 0);
	w->counters.failed_reads = 0;
	assert_int_equal(read_all(w, true), 0);
	assert_int_equal(w->counters.failed_reads, 0);
	world_free(w);
}

static void a_bad_replica_is_reported_and_another_read(void **state)
{
	struct world *w = world_new();

	world_file(w, 1000000, 1u << 20, 2);
	put_replica(w, 0, 0, 1000000, 700000);
	assert_int_equal(read_all(w, true), 0);
	assert_int_equal(w->counters.bad_checksums, 1);
	assert_true(w->counters.failed_reads >= 1);
	/* The report is under way when the reader has what it wanted. */
	assert_int_equal(loop_run(w->loop), 0);
	assert_int_equal(w->n_reports, 1);
	world_free(w);
}

/* This host's network may be what is bad: the NameNode would take the last replica from everybody. */
static void the_only_replica_is_not_called_bad(void **state)
{
	struct call c = {.ranges = {{.offset = 0, .length = 1000000}}};
	struct world *w = world_new();

	world_file(w, 1000000, 1u << 20, 1);
	put_replica(w, 0, 0, 1000000, 700000);
	assert_int_equal(read_once(w, &c, 1, true), -EIO);
	assert_true(w->counters.bad_checksums > 0);
	assert_int_equal(loop_run(w->loop), 0);
	assert_int_equal(w->n_reports, 0);
	call_check(w, &c);
	world_free(w);
}

static void what_reads_may_end_before_its_reports_are_answered(void **state)
{
	struct world *w = world_new();

	world_file(w, 1000000, 1u << 20, 2);
	put_replica(w, 0, 0, 1000000, 700000);
	assert_int_equal(read_all(w, true), 0);
	assert_int_equal(w->counters.bad_checksums, 1);
	world_free(w);
}

static void a_replica_that_is_gone_or_short_is_left(void **state)
{
	struct world *w = world_new();

	world_file(w, 1000000, 1u << 20, 3);
	fake_dn_remove(w->dn[0], w->file.ids[0]);
	put_replica(w, 1, 0, 400000, -1);
	assert_int_equal(read_all(w, true), 0);
	/* The nodes are well. */
	assert_int_equal(w->counters.dead_nodes, 0);
	world_free(w);
}

static void when_all_fail_locations_are_asked_for_anew(void **state)
{
	struct world *w = world_new();
	struct call c = {.ranges = {{.offset = 0, .length = 1000000}}};

	world_file(w, 1000000, 1u << 20, 2);
	assert_int_equal(read_all(w, true), 0);
	/* Both replicas went to the third node. */
	fake_dn_remove(w->dn[0], w->file.ids[0]);
	fake_dn_remove(w->dn[1], w->file.ids[0]);
	put_replica(w, 2, 0, 1000000, -1);
	w->file.nodes[0] = 4;
	assert_int_equal(read_once(w, &c, 1, true), 0);
	assert_int_equal(w->counters.refetches, 1);
	call_check(w, &c);
	/* And when there is none: an error that says where. */
	fake_dn_remove(w->dn[2], w->file.ids[0]);
	assert_int_equal(read_once(w, &c, 1, true), -EIO);
	assert_int_equal(w->counters.refetches, 4);
	assert_non_null(strstr(c.err.words, "/f"));
	assert_int_equal(call_check(w, &c), 0);
	world_free(w);
}

static void another_version_is_stale_and_one_that_is_gone_is_gone(void **state)
{
	struct world *w = world_new();
	struct call c = {.ranges = {{.offset = 0, .length = 1000}}};
	struct store_file old;

	world_file(w, 1000000, 1u << 20, 2);
	call_start(w, &c, 1, true);
	old = c.file;
	w->file.mtime_ms++;
	assert_int_equal(loop_run_until(w->loop, &w->done), 0);
	assert_int_equal(w->r, -ESTALE);
	assert_non_null(strstr(c.err.words, old.version));
	call_check(w, &c);
	w->file.gone = true;
	assert_int_equal(read_once(w, &c, 1, true), -ENOENT);
	call_check(w, &c);
	assert_int_equal(read_once(w, &c, 1, false), -ENOENT);
	call_check(w, &c);
	world_free(w);
}

static void what_only_some_may_read_is_asked_about(void **state)
{
	struct world *w = world_new();
	struct call c = {.ranges = {{.offset = 0, .length = 1000}}};
	static const struct {
		const char *user;
		uint32_t mode;
		bool denied;
		unsigned n_checks;
	} cases[] = {{"alice", 0600, true, 0}, {"bob", 0644, true, 0}, {"bob", 0640, false, 1}, {"bob", 0640, true, 1},
		{"bob", 0604, true, 1}, {"alice", 0244, true, 1}};

	for (unsigned i = 0; i < N_ELEMS(cases); i++) {
		w->conf.user = (char *)cases[i].user;
		mem_free(TAKE(w->file.bytes));
		world_file(w, 1000000, 1u << 20, 2);
		w->file.mtime_ms += i;	/* locations that are kept are another version's */
		w->file.mode = cases[i].mode;
		w->file.denied = cases[i].denied;
		w->n_checks = 0;
		assert_int_equal(read_once(w, &c, 1, true), cases[i].denied && cases[i].n_checks ? -EACCES : 0);
		assert_int_equal(w->n_checks, cases[i].n_checks);
		call_check(w, &c);
	}
	/* It is remembered while the locations are. */
	w->file.denied = false;
	assert_int_equal(read_once(w, &c, 1, true), 0);
	call_check(w, &c);
	assert_int_equal(read_once(w, &c, 1, true), 0);
	call_check(w, &c);
	assert_int_equal(w->n_checks, 2);
	world_free(w);
}

/* Another file in place of the first one, on the same nodes; those of its blocks that `gone` has are not there any more. */
static struct file replace_file(struct world *w, unsigned gone)
{
	struct file old = w->file;

	world_file(w, old.length, old.block_bytes, 2);
	w->file.id = old.id + 1;
	w->file.mtime_ms = old.mtime_ms + 1;
	for (uint64_t i = 0; i < old.length; i++)
		w->file.bytes[i] = (uint8_t)~old.bytes[i];
	for (unsigned i = 0; i < old.n_blocks; i++)
		for (unsigned k = 0; gone >> i & 1 && k < N_NODES; k++)
			fake_dn_remove(w->dn[k], old.ids[i]);
	return old;
}

/* What was kept of a file's locations leads to its own bytes, or nowhere; never to those of another. */
static void a_file_replaced_is_the_old_one_or_stale(void **state)
{
	for (unsigned gone = 0; gone < 8; gone++) {
		struct call c = {.ranges = {{.offset = 0, .length = 900000}, {.offset = 100, .length = 50}}};
		struct world *w = world_new();
		struct file old, new;
		int r;

		world_file(w, 900000, 300000, 2);
		assert_int_equal(read_all(w, true), 0);
		call_prepare(w, &c, 2, true);
		old = replace_file(w, gone);
		r = call_run(w, &c);
		assert_int_equal(r, gone ? -ESTALE : 0);
		new = w->file;
		w->file = old;
		assert_true(call_check(w, &c) >= (gone & 1 ? 0 : 300000));
		w->file = new;
		mem_free(old.bytes);
		world_free(w);
	}
}

/* A file that no version is told of is located once: the second time it may be another. */
static void whatever_is_there_is_one_file(void **state)
{
	struct world *w = world_new();
	struct call c = {.ranges = {{.offset = 0, .length = 3000000}, {.offset = 5, .length = 10}, {.offset = 7, .length = 1}}};

	w->conf.prefetch_blocks = w->conf.block_bytes = 1;
	world_file(w, 3000000, 300000, 2);
	assert_int_equal(read_once(w, &c, 3, false), 0);
	assert_int_equal(call_check(w, &c), 3000011);
	assert_int_equal(w->n_lookups, 1);
	world_free(w);
}

static void blocks_of_two_clusters_are_never_mixed(void **state)
{
	struct world *w = world_new();

	world_file(w, 3000000, 300000, 2);
	w->file.pool_of_later = "BP-2";
	assert_int_equal(read_all(w, false), -ESTALE);
	assert_int_equal(read_all(w, true), -ESTALE);
	world_free(w);
}

struct cancel {
	struct timer timer;
	struct call *call;
};

static void cancel_fire(struct timer *t)
{
	read_cancel(&container_of(t, struct cancel, timer)->call->job);
}

static void a_read_can_be_cancelled_at_any_moment(void **state)
{
	for (unsigned i = 0; i < 200; i++) {
		struct world *w = world_new();
		struct call c = {.ranges = {{.offset = 0, .length = 3000000}, {.offset = 100, .length = 5000}}};
		struct cancel cancel = {.call = &c};
		struct pipe_faults slow = {.delay_min_ns = NS_PER_MS, .delay_max_ns = 3 * NS_PER_MS};

		world_file(w, 3000000, 300000, 2);
		fake_net_faults(w->net, 0, &slow, 0);
		if (i % 3 == 0)
			fake_dn_kill(w->dn[0]);
		call_start(w, &c, 2, i % 2);
		timer_init(&cancel.timer, w->loop, cancel_fire);
		assert_int_equal(timer_set(&cancel.timer, loop_now(w->loop) + i * 100 * NS_PER_US), 0);
		assert_int_equal(loop_run_until(w->loop, &w->done), 0);
		assert_true(w->r == -ECANCELED || w->r == 0);
		timer_clear(&cancel.timer);
		call_check(w, &c);
		world_free(w);
	}
}

/* -- Memory ------------------------------------------------------------------------------------------------------- */

enum trouble { NO_TROUBLE, GROWS, NODE_IS_DEAD, REPLICA_IS_BAD, NODE_IS_SLOW, REPLICAS_MOVED, N_TROUBLES };

static struct world *world_in(enum trouble trouble)
{
	struct world *w = world_new();

	world_file(w, 90000, 30000, 2);
	if (trouble == NODE_IS_DEAD)
		fake_dn_kill(w->dn[0]);
	if (trouble == REPLICA_IS_BAD)
		put_replica(w, 0, 0, 30000, 10000);
	if (trouble == NODE_IS_SLOW)
		fake_dn_stop(w->dn[1], true);
	w->file.growing = trouble == GROWS;
	return w;
}

/* Both replicas of the first block are where the reader does not look yet. */
static void move_replicas(struct world *w)
{
	fake_dn_remove(w->dn[0], w->file.ids[0]);
	fake_dn_remove(w->dn[1], w->file.ids[0]);
	put_replica(w, 2, 0, 30000, -1);
	w->file.nodes[0] = 4;
}

/* Whether the nth allocation was made, and failed. */
static bool reads_without(uint64_t nth, enum trouble trouble, bool versioned, unsigned *n_told)
{
	struct call c = {.ranges = {{.offset = 0, .length = 50000}, {.offset = 100, .length = 10000},
		{.offset = 70000, .length = 20000}}};
	struct world *w = world_in(trouble);
	bool failed;
	int r;

	if (trouble == REPLICAS_MOVED) {
		assert_int_equal(read_all(w, versioned), 0);
		move_replicas(w);
	}
	call_prepare(w, &c, 3, versioned);
	mem_fail_nth(nth);
	r = call_run(w, &c);
	failed = mem_failed();
	mem_fail_nth(0);
	assert_true(r == 0 || r == -ENOMEM || c.err.words[0]);
	*n_told += r < 0;
	call_check(w, &c);
	/* And nothing is left in the way of the next. */
	fake_dn_stop(w->dn[1], false);
	assert_int_equal(read_all(w, versioned), 0);
	world_free(w);
	return failed;
}

static void short_of_memory_a_read_is_right_or_told(void **state)
{
	for (enum trouble trouble = NO_TROUBLE; trouble < N_TROUBLES; trouble++) {
		unsigned n_told = 0;

		/* What grows has another version each time. */
		for (uint64_t nth = 1; reads_without(nth, trouble, trouble != GROWS, &n_told); nth++)
			;
		assert_true(n_told > 5);
	}
}

/* -- Random schedules --------------------------------------------------------------------------------------------- */

static unsigned n_schedules(void)
{
	const char *s = getenv("OLDDOG_SCHEDULES");
	uint64_t n = 100;

	if (s)
		assert_int_equal(str_to_u64(str_of(s), &n), 0);
	return (unsigned)n;
}

struct harm {
	struct timer timer;
	struct world *w;
	struct dice *d;
	unsigned left;
};

/* Now and then something happens to a node, or is over. */
static void harm_fire(struct timer *t)
{
	struct harm *h = container_of(t, struct harm, timer);
	struct fake_dn *dn = h->w->dn[below(h->d, N_NODES)];

	switch (below(h->d, 5)) {
	case 0:
		fake_dn_kill(dn);
		break;
	case 1:
		fake_dn_stop(dn, true);
		break;
	case 2:
		fake_dn_start(dn);
		break;
	default:
		fake_dn_stop(dn, false);
		break;
	}
	if (h->left-- > 1)
		assert_int_equal(timer_set(t, loop_now(h->w->loop) + (1 + below(h->d, 2000)) * NS_PER_MS), 0);
}

static unsigned draw_ranges(struct dice *d, const struct file *f, struct store_range *g)
{
	unsigned n = 1 + below(d, 24);

	for (unsigned i = 0; i < n; i++) {
		g[i] = (struct store_range){.offset = below(d, (uint32_t)f->length)};
		g[i].length = below(d, 1u << (1 + below(d, 19)));
		g[i].length = MIN(g[i].length, f->length - g[i].offset);
	}
	return n;
}

static void draw_faults(struct world *w, struct dice *d, unsigned seed)
{
	struct pipe_faults f = {.seed = seed * 1000, .delay_max_ns = below(d, 20) * NS_PER_MS};

	if (below(d, 2))
		f.cut_after = 1 + below(d, 60);
	if (below(d, 2))
		f.flip_ppm = below(d, 100000);
	if (below(d, 2)) {
		f.stall_ppm = below(d, 30000);
		f.stall_ns = below(d, 100) * NS_PER_S;
	}
	if (below(d, 2))
		f.split_ppm = below(d, 1000000);
	fake_net_faults(w->net, XFER_PORT, &f, below(d, 3) ? 1 + below(d, 8) : 0);
}

static void draw_replicas(struct world *w, struct dice *d)
{
	static const uint32_t chunks[] = {512, 512, 1000, 4096}, packets[] = {65536, 65536, 4096, 200000};

	for (unsigned i = 0; i < N_NODES; i++)
		fake_dn_how(w->dn[i], below(d, 4) ? CRC_C : CRC_ZLIB, chunks[below(d, 4)], packets[below(d, 4)]);
	for (unsigned i = 0; i < w->file.n_blocks; i++) {
		unsigned node = below(d, N_NODES);

		if (!(w->file.nodes[i] >> node & 1))
			continue;
		if (below(d, 4) == 0)
			put_replica(w, node, i, block_length(&w->file, i), below(d, (uint32_t)block_length(&w->file, i)));
		else if (below(d, 8) == 0)
			fake_dn_remove(w->dn[node], w->file.ids[i]);
	}
}

/* What struck, and what was done about it, over all schedules. */
static struct hdfs_counters seen;

static void add_seen(const struct hdfs_counters *c)
{
#define X(name, words) seen.name += c->name;
	HDFS_COUNTERS(X)
#undef X
}

static unsigned schedule(unsigned seed)
{
	struct dice d = {.key = philox_key_of(seed, "read schedule")};
	struct world *w = world_new();
	struct harm h = {.w = w, .d = &d, .left = below(&d, 12)};
	unsigned n_failed = 0;
	struct call c;

	world_file(w, 1 + below(&d, 3000000), 200000 + below(&d, 800000), 1 + below(&d, 3));
	draw_replicas(w, &d);
	draw_faults(w, &d, seed);
	timer_init(&h.timer, w->loop, harm_fire);
	if (h.left)
		assert_int_equal(timer_set(&h.timer, loop_now(w->loop) + below(&d, 100) * NS_PER_MS), 0);
	for (unsigned i = 0; i < 3; i++) {
		c = (struct call){0};
		n_failed += read_once(w, &c, draw_ranges(&d, &w->file, c.ranges), below(&d, 2)) < 0;
		call_check(w, &c);
	}
	timer_clear(&h.timer);
	for (unsigned i = 0; i < N_NODES; i++)
		fake_dn_stop(w->dn[i], false);
	add_seen(&w->counters);
	world_free(w);
	return n_failed;
}

static void under_faults_every_byte_is_right_or_an_error(void **state)
{
	const char *one = getenv("OLDDOG_SEED");
	unsigned n = n_schedules(), n_failed = 0;
	uint64_t seed;

	if (one) {
		assert_int_equal(str_to_u64(str_of(one), &seed), 0);
		schedule((unsigned)seed);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		n_failed += schedule(i);
	/* Most are read all the same, and every way out was taken. */
	assert_true(n_failed < n);
	if (n >= 50) {
		assert_true(seen.failed_reads && seen.bad_checksums && seen.dead_nodes && seen.refetches);
		assert_true(seen.hedges && seen.hedge_wins && seen.dn_reused && seen.bytes_read);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_and_connections_are_used_again),
		cmocka_unit_test(ranges_past_the_end_and_empty_ones_say_so),
		cmocka_unit_test(a_dead_node_is_left_and_remembered),
		cmocka_unit_test(a_bad_replica_is_reported_and_another_read),
		cmocka_unit_test(the_only_replica_is_not_called_bad),
		cmocka_unit_test(what_reads_may_end_before_its_reports_are_answered),
		cmocka_unit_test(a_replica_that_is_gone_or_short_is_left),
		cmocka_unit_test(when_all_fail_locations_are_asked_for_anew),
		cmocka_unit_test(another_version_is_stale_and_one_that_is_gone_is_gone),
		cmocka_unit_test(what_only_some_may_read_is_asked_about),
		cmocka_unit_test(a_file_replaced_is_the_old_one_or_stale),
		cmocka_unit_test(whatever_is_there_is_one_file),
		cmocka_unit_test(blocks_of_two_clusters_are_never_mixed),
		cmocka_unit_test(a_read_can_be_cancelled_at_any_moment),
		cmocka_unit_test(short_of_memory_a_read_is_right_or_told),
		cmocka_unit_test(under_faults_every_byte_is_right_or_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
