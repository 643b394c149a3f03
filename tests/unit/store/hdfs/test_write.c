/* SPDX-License-Identifier: Apache-2.0 */
/* Files written to DataNodes that fail: what is acknowledged is what was written, on every node that is believed in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/hdfs/write/checksum.h"
#include "write_rig.h"

#define MAX_FILE 400000u

static uint8_t shadow[MAX_FILE];

struct writer {
	struct rig *g;
	struct write_file *file;
	struct write_step step;
	struct err err;
	bool done, appends;
	int r;
	uint64_t n;	/* written */
};

static struct rig g;

static void step_done(struct write_step *step, int r)
{
	struct writer *w = step->ctx;

	w->done = true;
	w->r = r;
}

static struct write_step *step_of(struct writer *w)
{
	w->done = false;
	w->err = (struct err){0};
	w->step = (struct write_step){.done = step_done, .ctx = w, .err = &w->err};
	return &w->step;
}

static int wait(struct writer *w)
{
	assert_int_equal(loop_run_until(w->g->loop, &w->done), 0);
	if (w->r < 0)
		assert_true(w->err.words[0]);
	return w->r;
}

static int w_open(struct writer *w, bool append)
{
	struct store_how how = {.append = append};

	w->appends = append;
	write_open(w->g->writes, step_of(w), "/a", &how);
	wait(w);
	if (w->r == 0)
		w->file = w->step.file;
	return w->r;
}

/* The caller's memory is its own again when the step is done. */
static int w_bytes(struct writer *w, uint64_t n)
{
	uint8_t *copy = malloc(n + 1);

	assert_non_null(copy);
	memcpy(copy, shadow + w->n, n);
	write_bytes(w->file, step_of(w), copy, n);
	wait(w);
	memset(copy, 0xee, n);
	free(copy);
	if (w->r == 0)
		w->n += n;
	return w->r;
}

static int w_flush(struct writer *w, bool disk)
{
	write_flush(w->file, step_of(w), disk);
	wait(w);
	if (w->r == 0)
		rig_check(w->g, shadow, w->n, false);
	return w->r;
}

static int w_close(struct writer *w)
{
	write_close(w->file, step_of(w));
	if (wait(w) == 0)
		w->file = NULL;
	return w->r;
}

static void w_abort(struct writer *w)
{
	write_abort(w->file, step_of(w));
	assert_int_equal(wait(w), 0);
}

static void fill_shadow(void)
{
	for (size_t i = 0; i < MAX_FILE; i++)
		shadow[i] = (uint8_t)(i * 2654435761u >> 13);
}

static void write_whole(unsigned replication, uint64_t n, uint64_t block_bytes)
{
	struct writer w = {.g = &g};

	rig_init(&g, 1, replication, block_bytes, 4096);
	assert_int_equal(w_open(&w, false), 0);
	for (uint64_t part; w.n < n;) {
		part = MIN(n - w.n, 7000u);
		assert_int_equal(w_bytes(&w, part), 0);
	}
	assert_int_equal(w_close(&w), 0);
	rig_check(&g, shadow, n, true);
	assert_false(g.open);
	assert_int_equal(g.n_listed, (n + block_bytes - 1) / block_bytes);
	assert_int_equal(g.counters.bytes_written, n);
	assert_int_equal(g.counters.pipeline_updates, 0);
	rig_release(&g);
}

static void files_of_all_lengths_are_written(void **state)
{
	static const uint32_t lengths[] = {0, 1, 511, 512, 513, 4096, 8191, 8192, 8193, 65535, 65536, 100000};

	for (size_t i = 0; i < N_ELEMS(lengths); i++)
		for (unsigned replication = 1; replication <= 3; replication += 2)
			write_whole(replication, lengths[i], 8192);
}

static void what_is_flushed_is_there_and_goes_on(void **state)
{
	struct writer w = {.g = &g};

	rig_init(&g, 1, 3, 4096, 2100);
	assert_int_equal(w_open(&w, false), 0);
	assert_int_equal(w_flush(&w, false), 0);
	assert_int_equal(g.fsync_bytes, 0);
	for (unsigned i = 1; i < 40; i++) {
		assert_int_equal(w_bytes(&w, i * 13), 0);
		assert_int_equal(w_flush(&w, i % 3 == 0), 0);
		if (i % 5 == 0)
			assert_int_equal(w_flush(&w, i % 2), 0);
	}
	assert_int_equal(w_close(&w), 0);
	rig_check(&g, shadow, w.n, true);
	/* Once for each block. */
	assert_in_range(g.fsync_bytes, 1, g.n_blocks);
	rig_release(&g);
}

static void a_file_is_appended_to(void **state)
{
	struct writer w = {.g = &g};

	rig_init(&g, 1, 3, 8192, 2100);
	assert_int_equal(w_open(&w, false), 0);
	assert_int_equal(w_bytes(&w, 700), 0);
	assert_int_equal(w_close(&w), 0);
	for (unsigned i = 0; i < 30; i++) {
		assert_int_equal(w_open(&w, true), 0);
		if (i % 4)
			assert_int_equal(w_bytes(&w, 1 + i * 97), 0);
		if (i % 3 == 0)
			assert_int_equal(w_flush(&w, false), 0);
		if (i % 3 == 0)
			assert_int_equal(w_bytes(&w, 40), 0);
		assert_int_equal(w_close(&w), 0);
		rig_check(&g, shadow, w.n, true);
	}
	rig_release(&g);
}

/* Not what was flushed at an append: the NameNode recovers that. */
static void what_is_aborted_lets_its_lease_go(void **state)
{
	struct writer w = {.g = &g};

	rig_init(&g, 1, 3, 8192, 2100);
	assert_int_equal(w_open(&w, false), 0);
	assert_int_equal(w_bytes(&w, 10000), 0);
	assert_int_equal(w_flush(&w, false), 0);
	w_abort(&w);
	assert_false(g.open);
	assert_int_equal(g.n_listed, 1);
	w.n = 0;
	g.n_listed = 0;
	assert_int_equal(w_open(&w, false), 0);
	assert_int_equal(w_bytes(&w, 100), 0);
	assert_int_equal(w_close(&w), 0);
	assert_int_equal(w_open(&w, true), 0);
	assert_int_equal(w_bytes(&w, 100), 0);
	w_abort(&w);
	assert_true(g.recovered);
	/* Nor does it stay open when it cannot be appended to. */
	g.recovered = false;
	g.encrypted = true;
	assert_int_equal(w_open(&w, true), -EOPNOTSUPP);
	assert_true(g.recovered);
	rig_release(&g);
}

static void sum_done(struct checksum *c, int r)
{
	struct writer *w = c->ctx;

	w->done = true;
	w->r = r;
}

static int w_sum(struct writer *w, struct checksum *c)
{
	w->done = false;
	*c = (struct checksum){.loop = w->g->loop, .conf = &w->g->conf, .path = "/a", .done = sum_done, .ctx = w};
	assert_int_equal(checksum_start(c), 0);
	assert_int_equal(loop_run_until(w->g->loop, &w->done), 0);
	w->err = c->err;
	return w->r;
}

static void a_checksum_is_joined_of_those_of_blocks(void **state)
{
	static const uint32_t lengths[] = {0, 1, 8192, 100001};
	static struct checksum c;

	for (size_t i = 0; i < N_ELEMS(lengths); i++) {
		struct writer w = {.g = &g};

		rig_init(&g, i, 3, 8192, 4096);
		assert_int_equal(w_open(&w, false), 0);
		assert_int_equal(w_bytes(&w, lengths[i]), 0);
		assert_int_equal(w_sum(&w, &c), -EOPNOTSUPP);
		assert_int_equal(w_close(&w), 0);
		/* Those that refuse are asked elsewhere, then again. */
		g.faults.setup_ppm = 1000000;
		g.faults.max_failures = 5;
		assert_int_equal(w_sum(&w, &c), 0);
		assert_int_equal(c.sum.length, lengths[i]);
		assert_int_equal(c.sum.crc32c, crc_of(CRC_C, 0, shadow, lengths[i]));
		g.conf.checksum_kind = CRC_ZLIB;
		assert_int_equal(w_sum(&w, &c), lengths[i] ? -EOPNOTSUPP : 0);
		g.faults.max_failures = 100000;
		assert_int_equal(w_sum(&w, &c), lengths[i] ? -EIO : 0);
		rig_release(&g);
	}
}

/* Also when the block was not there yet as the flush was asked for. */
static void what_was_flushed_stays_on_as_many_nodes(void **state)
{
	struct writer w = {.g = &g};

	rig_init(&g, 1, 3, 8192, 2100);
	assert_int_equal(w_open(&w, false), 0);
	assert_int_equal(w_bytes(&w, 2 * 8192 + 1000), 0);
	assert_int_equal(w_flush(&w, false), 0);
	g.faults.packet_ppm = 1000000;
	g.faults.max_failures = 1;
	assert_int_equal(w_bytes(&w, 1000), 0);
	assert_int_equal(w_close(&w), 0);
	assert_int_equal(g.counters.pipeline_updates, 1);
	assert_int_equal(g.counters.pipeline_additions, 1);
	rig_check(&g, shadow, w.n, true);
	rig_release(&g);
}

/* A node further on is dead and nobody says so: the first is left out, the other fails, the first comes back. */
static void the_fault_of_another_is_forgiven(void **state)
{
	unsigned n_returns = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct writer w = {.g = &g};

		rig_init(&g, seed, 2, 65536, 4096);
		assert_int_equal(w_open(&w, false), 0);
		assert_int_equal(w_bytes(&w, 10000), 0);
		g.faults = (struct rig_faults){.packet_ppm = 1000000, .kill_ppm = 1000000, .max_failures = 1};
		g.faults.how = 1 + (seed % 2 ? HARM_STALL : HARM_CLOSE);
		assert_int_equal(w_bytes(&w, 10000), 0);
		assert_int_equal(w_close(&w), 0);
		rig_check(&g, shadow, w.n, true);
		assert_int_equal(g.n_failures, 1);
		n_returns += g.counters.pipeline_returns;
		rig_release(&g);
	}
	assert_in_range(n_returns, 2, 18);
}

struct nap {
	struct timer timer;
	bool over;
};

static void nap_over(struct timer *t)
{
	container_of(t, struct nap, timer)->over = true;
}

/* Heartbeats, and one lease for all files. */
static void an_idle_file_keeps_lease_and_pipeline(void **state)
{
	struct writer w = {.g = &g};
	struct nap nap = {0};

	rig_init(&g, 1, 3, 8192, 2100);
	assert_int_equal(w_open(&w, false), 0);
	assert_int_equal(w_bytes(&w, 1000), 0);
	assert_int_equal(w_flush(&w, false), 0);
	timer_init(&nap.timer, g.loop, nap_over);
	timer_set(&nap.timer, loop_now(g.loop) + 3600 * NS_PER_S);
	assert_int_equal(loop_run_until(g.loop, &nap.over), 0);
	assert_in_range(g.n_renewals, 3600 / 30, 3600 / 20);
	assert_in_range(g.n_beats, 3600 / 31, 3600 / 20);
	assert_int_equal(w_bytes(&w, 1000), 0);
	assert_int_equal(w_close(&w), 0);
	assert_int_equal(g.counters.pipeline_updates, 0);
	rig_check(&g, shadow, w.n, true);
	rig_release(&g);
}

static uint64_t env_u64(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);
	uint64_t v;

	return s && str_to_u64(str_of(s), &v) == 0 ? v : otherwise;
}

static struct rig_faults random_faults(void)
{
	struct rig_faults f = {.setup_ppm = rig_draw(&g) % 300000,
		.packet_ppm = rig_draw(&g) % 150000, .kill_ppm = rig_draw(&g) % 300000,
		.not_yet_ppm = rig_draw(&g) % 400000, .congested_ppm = rig_draw(&g) % 20000, .max_failures = rig_draw(&g) % 12,
		.cut_ppm = rig_draw(&g) % 300000};

	f.wire = (struct pipe_faults){.delay_max_ns = rig_draw(&g) % (20 * NS_PER_MS), .split_ppm = rig_draw(&g) % 1000000,
		.stall_ppm = rig_draw(&g) % 1000, .stall_ns = rig_draw(&g) % 4 ? NS_PER_S : 90 * NS_PER_S};
	return f;
}

/* A whole life of a file. 1: it was closed. */
static int one_schedule(uint64_t seed)
{
	struct writer w = {.g = &g};
	int r = 0;

	rig_init(&g, seed, rig_draw(&(struct rig){.key = philox_key_of(seed, "r")}) % 2 ? 3 : 1, 0, 0);
	g.conf.block_bytes = 512u << rig_draw(&g) % 8;
	g.conf.packet_bytes = 600 + rig_draw(&g) % 6000;
	g.faults = random_faults();
	r = w_open(&w, false);
	assert_int_equal(r, 0);
	for (unsigned i = 0, n = rig_draw(&g) % 30; r == 0 && i < n && w.n < MAX_FILE - 10000; i++) {
		r = w_bytes(&w, rig_draw(&g) % (1u << rig_draw(&g) % 14));
		if (r == 0 && rig_draw(&g) % 4 == 0)
			r = w_flush(&w, rig_draw(&g) % 2);
		if (r == 0 && rig_draw(&g) % 12 == 0) {
			r = w_close(&w);
			if (r == 0)
				rig_check(&g, shadow, w.n, true);
			if (r == 0)
				assert_int_equal(w_open(&w, true), 0);
		}
	}
	if (r == 0 && rig_draw(&g) % 16 == 0)
		r = -ECANCELED;
	if (r == 0)
		r = w_close(&w);
	if (r == 0)
		rig_check(&g, shadow, w.n, true);
	if (r < 0) {
		print_message("%s\n", w.err.words);
		w_abort(&w);
	}
	/* Nobody gives up without a reason. */
	if (r < 0 && r != -ECANCELED && g.faults.wire.stall_ns < 60 * NS_PER_S)
		assert_true(g.n_failures > 0);
	rig_release(&g);
	return r == 0;
}

static void random_schedules(void **state)
{
	uint64_t n = env_u64("OLDDOG_SCHEDULES", 100), seed = env_u64("OLDDOG_SEED", 0);
	unsigned n_closed = 0;

	for (uint64_t i = seed ? seed : 1; i <= (seed ? seed : n); i++) {
		print_message("OLDDOG_SEED=%llu\n", (unsigned long long)i);
		n_closed += one_schedule(i) > 0;
	}
	print_message("%u of them closed\n", n_closed);
	assert_true(seed || n_closed * 2 > n);
}

/* A file's life; how it ended. */
static int live(struct writer *w, bool appends)
{
	int r = w_open(w, false);

	if (r == 0)
		r = w_bytes(w, 5000);
	if (r == 0)
		r = w_flush(w, true);
	if (r == 0 && appends)
		r = w_close(w);
	if (r == 0 && appends)
		r = w_open(w, true);
	if (r == 0)
		r = w_bytes(w, 9000);
	return r < 0 ? r : w_close(w);
}

/* One of three nodes fails while readers rely on them, and no other lives. */
static int write_without_spare(uint64_t seed, bool best_effort, unsigned enough)
{
	struct writer w = {.g = &g};
	int r;

	rig_init(&g, seed, 3, 65536, 4096);
	g.conf.replace_best_effort = best_effort;
	g.conf.replace_enough = enough;
	assert_int_equal(w_open(&w, false), 0);
	assert_int_equal(w_bytes(&w, 1000), 0);
	assert_int_equal(w_flush(&w, false), 0);
	for (unsigned i = 0; i < RIG_NODES; i++)
		g.nodes[i].dead = !g.nodes[i].replicas[0].is;
	g.faults.packet_ppm = 1000000;
	g.faults.max_failures = 1;
	r = w_bytes(&w, 1000);
	if (r == 0)
		r = w_flush(&w, false);
	if (r == 0)
		r = w_close(&w);
	if (r == 0)
		rig_check(&g, shadow, 2000, true);
	else
		w_abort(&w);
	rig_release(&g);
	return r;
}

static void without_a_spare_node_the_site_says_whether_to_go_on(void **state)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		assert_true(write_without_spare(seed, false, 0) < 0);
		assert_true(write_without_spare(seed, false, 3) < 0);
		assert_int_equal(write_without_spare(seed, false, 2), 0);
		assert_int_equal(write_without_spare(seed, true, 0), 0);
	}
}

struct cancelling {
	struct timer timer;
	struct writer *w;
};

static void cancel_now(struct timer *t)
{
	struct cancelling *c = container_of(t, struct cancelling, timer);

	/* The file of the step that is on: opening has one before the writer has. */
	if (!c->w->done && c->w->step.file)
		write_cancel(c->w->step.file);
}

/* A file's life, cancelled after so long. 1: it was. */
static bool cancelled_after(uint64_t ns, bool appends)
{
	struct writer w = {.g = &g};
	struct cancelling c = {.w = &w};
	int r;

	timer_init(&c.timer, g.loop, cancel_now);
	assert_int_equal(timer_set(&c.timer, loop_now(g.loop) + ns), 0);
	r = live(&w, appends);
	timer_clear(&c.timer);
	assert_true(r == 0 || r == -ECANCELED);
	if (r == 0)
		rig_check(&g, shadow, 14000, true);
	if (w.file)
		w_abort(&w);
	assert_true(!w.appends || !g.open || g.recovered);
	return r < 0;
}

static void a_writer_can_be_cancelled_at_any_moment(void **state)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < 200; i++) {
		rig_init(&g, i, 3, 8192, 4096);
		g.faults.wire.delay_max_ns = 5 * NS_PER_MS;
		g.faults.packet_ppm = i % 3 ? 0 : 300000;
		g.faults.max_failures = 1;
		n += cancelled_after((1 + i) * NS_PER_MS, i % 2);
		rig_release(&g);
	}
	assert_in_range(n, 50, 199);
}

static void waiting_for_datanodes_ends_when_it_is_cancelled(void **state)
{
	uint64_t began_ns;

	for (uint64_t seed = 0; seed < 10; seed++) {
		rig_init(&g, seed, 3, 8192, 4096);
		g.faults.wire = (struct pipe_faults){.stall_ppm = 1000000, .stall_ns = 1000 * NS_PER_S};
		began_ns = loop_now(g.loop);
		assert_true(cancelled_after(NS_PER_S, false));
		assert_true(loop_now(g.loop) < began_ns + 2 * NS_PER_S);
		rig_release(&g);
	}
}

enum trouble { NO_TROUBLE, APPENDS, NO_SET_UP, PACKET_LOST, N_TROUBLES };

static struct rig *rig_in(enum trouble trouble)
{

	rig_init(&g, 7, 3, 8192, 4096);
	g.faults.setup_ppm = trouble == NO_SET_UP ? 1000000 : 0;
	g.faults.packet_ppm = trouble == PACKET_LOST ? 300000 : 0;
	g.faults.max_failures = 1;
	return &g;
}

/* Whether the nth allocation was made, and failed. */
static bool writes_without(uint64_t nth, enum trouble trouble, unsigned *n_told)
{
	struct writer w = {.g = rig_in(trouble)};
	bool failed;
	int r;

	mem_fail_nth(nth);
	r = live(&w, trouble == APPENDS);
	failed = mem_failed();
	mem_fail_nth(0);
	assert_true(r == 0 || failed);
	*n_told += r < 0;
	if (r == 0)
		rig_check(&g, shadow, 14000, true);
	if (w.file)
		w_abort(&w);
	/* Of a new file it goes with the file, which is removed. */
	assert_true(!w.appends || !g.open || g.recovered);
	rig_release(&g);
	return failed;
}

static void short_of_memory_a_file_is_whole_or_told(void **state)
{
	for (enum trouble trouble = NO_TROUBLE; trouble < N_TROUBLES; trouble++) {
		unsigned n_told = 0;

		for (uint64_t nth = 1; writes_without(nth, trouble, &n_told); nth++)
			;
		assert_true(n_told > 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_all_lengths_are_written),
		cmocka_unit_test(what_is_flushed_is_there_and_goes_on),
		cmocka_unit_test(what_was_flushed_stays_on_as_many_nodes),
		cmocka_unit_test(the_fault_of_another_is_forgiven),
		cmocka_unit_test(a_file_is_appended_to),
		cmocka_unit_test(what_is_aborted_lets_its_lease_go),
		cmocka_unit_test(an_idle_file_keeps_lease_and_pipeline),
		cmocka_unit_test(a_checksum_is_joined_of_those_of_blocks),
		cmocka_unit_test(without_a_spare_node_the_site_says_whether_to_go_on),
		cmocka_unit_test(a_writer_can_be_cancelled_at_any_moment),
		cmocka_unit_test(waiting_for_datanodes_ends_when_it_is_cancelled),
		cmocka_unit_test(short_of_memory_a_file_is_whole_or_told),
		cmocka_unit_test(random_schedules),
	};

	fill_shadow();
	if (getenv("OLDDOG_SEED"))
		cmocka_set_test_filter("random_schedules");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
