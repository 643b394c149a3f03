/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine as a store, on virtual time, before a NameNode that keeps names: every request ends once, whenever it is
 * cancelled, and what is told of a file that was to appear is what is there, whatever answers are lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "fake_nn.h"
#include "store/hdfs/conf/hdfs_url.h"
#include "store/hdfs/hdfs.h"
#include "store/temporary.h"
#include "wire/hadoop/located.h"
#include "wire/hadoop/pb.h"
#include "wire/hadoop/status.h"

#define MAX_NAMES 64
#define NOT_FOUND "java.io.FileNotFoundException"
#define THERE_ALREADY "org.apache.hadoop.fs.FileAlreadyExistsException"

struct world {
	struct loop *loop;
	struct fake_net *net;
	struct fake_nn *fake;
	struct store *store;
	struct name {
		char path[256];
		uint64_t id;
	} names[MAX_NAMES];
	unsigned n_names;
	uint64_t last_id;
	/* Of answers to this method: so many are lost after the call, and before it. */
	const char *method;
	unsigned n_lost, n_before;
	uint64_t delay_ns;
	uint64_t content;	/* bytes of what is written */
	bool moves;		/* somebody renames directories before what is written is renamed */
};

static struct name *find(struct world *w, const char *path)
{
	for (unsigned i = 0; i < w->n_names; i++)
		if (strcmp(w->names[i].path, path) == 0)
			return &w->names[i];
	return NULL;
}

static struct name *add(struct world *w, const char *path)
{
	struct name *n = &w->names[w->n_names++];

	assert_true(w->n_names <= MAX_NAMES);
	snprintf(n->path, sizeof(n->path), "%s", path);
	n->id = ++w->last_id;
	return n;
}

static bool drop(struct world *w, struct name *n)
{
	if (n)
		*n = w->names[--w->n_names];
	return n != NULL;
}

static void put_status(struct buf *b, uint32_t field, uint64_t id)
{
	size_t at = b->n, mode;

	buf_pb_u64(b, 1, HDFS_FILE);
	buf_pb_str(b, 2, "");
	buf_pb_u64(b, 3, 0);
	mode = b->n;
	buf_pb_u64(b, 1, 0644);
	buf_pb_delimit(b, 4, mode);
	buf_pb_str(b, 5, "alice");
	buf_pb_str(b, 6, "staff");
	buf_pb_u64(b, 7, 1700000000123);
	buf_pb_u64(b, 8, 1700000000123);
	buf_pb_u64(b, 10, 1);
	buf_pb_u64(b, 11, 1 << 20);
	buf_pb_u64(b, 13, id);
	buf_pb_delimit(b, field, at);
}

/* A block on a DataNode that never takes a connection. */
static void put_block(struct buf *b)
{
	struct hdfs_block block = {"BP-1", 1, 1, 0};
	size_t at = b->n, node, id;

	buf_hdfs_block(b, 1, &block);
	buf_pb_u64(b, 2, 0);
	node = id = b->n;
	buf_pb_str(b, 1, "silent");
	buf_pb_str(b, 2, "silent");
	buf_pb_str(b, 3, "uuid");
	buf_pb_u64(b, 4, 9866);
	buf_pb_u64(b, 6, 9867);
	buf_pb_delimit(b, 1, id);
	buf_pb_delimit(b, 3, node);
	buf_pb_u64(b, 4, 0);
	buf_pb_str(b, 5, "");
	buf_pb_delimit(b, 1, at);
}

struct arguments {
	char src[256], dst[256];
	bool overwrite;
};

static struct arguments arguments_of(const struct fake_call *call)
{
	struct pb p = pb_of(call->body.p, call->body.n);
	struct arguments a = {""};

	while (pb_next(&p)) {
		if (p.field == 1 && p.type == PB_BYTES)
			snprintf(a.src, sizeof(a.src), "%.*s", STR_ARG(p.bytes));
		if (p.field == 2 && p.type == PB_BYTES)
			snprintf(a.dst, sizeof(a.dst), "%.*s", STR_ARG(p.bytes));
		if (p.field == 3 && p.type == PB_VARINT)
			a.overwrite = p.value;
	}
	return a;
}

static void rename2(struct world *w, const struct arguments *a, struct fake_answer *answer)
{
	struct name *from = find(w, a->src), *to = find(w, a->dst);

	for (unsigned i = 0; i < w->n_names && w->moves; i++)
		w->names[i].path[1] = 'e';
	if (w->moves)
		from = to = NULL;
	if (!from)
		answer->exception = NOT_FOUND;
	else if (to && !a->overwrite)
		answer->exception = THERE_ALREADY;
	if (answer->exception)
		return;
	if (to)
		to->id = from->id;
	else
		snprintf(from->path, sizeof(from->path), "%s", a->dst);
	if (to)
		drop(w, find(w, a->src));
}

static void execute(struct world *w, const struct fake_call *call, struct fake_answer *answer)
{
	struct arguments a = arguments_of(call);
	struct name *n = find(w, a.src);

	if (strcmp(call->method, "create") == 0)
		put_status(&answer->body, 1, (n ? n : add(w, a.src))->id);
	else if (strcmp(call->method, "addBlock") == 0)
		put_block(&answer->body);
	else if (strcmp(call->method, "complete") == 0)
		buf_pb_u64(&answer->body, 1, n != NULL);
	else if (strcmp(call->method, "delete") == 0)
		buf_pb_u64(&answer->body, 1, drop(w, n));
	else if (strcmp(call->method, "rename2") == 0)
		rename2(w, &a, answer);
	else if (strcmp(call->method, "getFileInfo") == 0 && n)
		put_status(&answer->body, 1, n->id);
}

static void on_call(void *ctx, const struct fake_call *call, struct fake_answer *answer)
{
	struct world *w = ctx;
	bool mine = w->method && strcmp(call->method, w->method) == 0;

	answer->delay_ns = w->delay_ns;
	if (mine && w->n_before) {
		w->n_before--;
		answer->close = true;
		return;
	}
	execute(w, call, answer);
	if (mine && w->n_lost) {
		w->n_lost--;
		answer->close = true;
	}
}

static struct world *world_at(const char *authority)
{
	struct world *w = calloc(1, sizeof(*w));
	AUTO(site) struct site *site = NULL;
	struct hdfs_conf conf;
	static const char xml[] = "<configuration/>";

	assert_int_equal(loop_new_virtual(&w->loop), 0);
	w->net = fake_net_new(w->loop);
	w->fake = fake_nn_new(w->loop, w->net, "one", 8020, on_call, w);
	assert_int_equal(site_parse(xml, sizeof(xml) - 1, &site, NULL), 0);
	assert_int_equal(hdfs_conf_of(site, authority, &conf, NULL), 0);
	assert_int_equal(hdfs_open_with(w->loop, &conf, fake_net_dialer(w->net), &w->store), 0);
	w->delay_ns = 10 * NS_PER_MS;
	return w;
}

static struct world *world_new(void)
{
	return world_at("one:8020");
}

static void world_free(struct world *w)
{
	store_unref(w->store);
	fake_nn_free(w->fake);
	assert_int_equal(loop_run(w->loop), 0);
	fake_net_free(w->net);
	loop_free(w->loop);
	free(w);
}

static unsigned count_temporaries(const struct world *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_names; i++)
		n += temporary_is(strrchr(w->names[i].path, '/') + 1);
	return n;
}

static uint8_t content[100];

struct asked {
	struct store_req req;
	struct store_range range;
	struct timer cancel;
	unsigned n_done;
	bool done;
};

static void on_done(struct store_req *req)
{
	struct asked *a = req->ctx;

	a->n_done++;
	a->done = true;
}

static void on_flag(struct store_req *req)
{
	*(bool *)req->ctx = true;
}

static void cancel_now(struct timer *t)
{
	struct asked *a = container_of(t, struct asked, cancel);

	if (!a->done)
		store_cancel(&a->req);
}

/* Cancelled after so long; 0: not. Its r; it has ended once. */
static int ask(struct world *w, enum store_op op, const char *path, uint64_t cancel_ns)
{
	struct asked a = {.req = {.loop = w->loop, .op = op, .path = path, .done = on_done}};

	a.req.ctx = &a;
	a.range = (struct store_range){.buf = content, .length = w->content};
	a.req.ranges = &a.range;
	a.req.n_ranges = 1;
	store_submit(w->store, &a.req);
	timer_init(&a.cancel, w->loop, cancel_now);
	if (cancel_ns)
		timer_set(&a.cancel, loop_now(w->loop) + cancel_ns);
	assert_int_equal(loop_run_until(w->loop, &a.done), 0);
	timer_clear(&a.cancel);
	assert_int_equal(a.n_done, 1);
	return a.req.r;
}

static void files_appear_at_once(void **state)
{
	struct world *w = world_new();

	assert_int_equal(ask(w, STORE_STAT, "d/f", 0), -ENOENT);
	assert_int_equal(ask(w, STORE_WRITE, "d/f", 0), 0);
	assert_int_equal(ask(w, STORE_STAT, "d/f", 0), 0);
	assert_int_equal(ask(w, STORE_CREATE_EXCLUSIVE, "d/f", 0), -EEXIST);
	assert_int_equal(ask(w, STORE_WRITE, "d/f", 0), 0);
	assert_int_equal(ask(w, STORE_CREATE_EXCLUSIVE, "d/g", 0), 0);
	assert_int_equal(w->n_names, 2);
	assert_int_equal(ask(w, STORE_WRITE, "", 0), -EISDIR);
	assert_int_equal(ask(w, STORE_WRITE, "d/\xff", 0), -EILSEQ);
	world_free(w);
}

/* -ENOENT would be said of the path. */
static void a_host_that_nobody_knows_is_told_with_where_it_was_looked_for(void **state)
{
	struct world *w = world_at("nowhere:8020");
	struct err e = {0};
	bool done = false;
	struct store_req req = {.loop = w->loop, .op = STORE_STAT, .path = "d/f", .done = on_flag, .ctx = &done, .err = &e};

	store_submit(w->store, &req);
	assert_int_equal(loop_run_until(w->loop, &done), 0);
	assert_int_equal(req.r, -EHOSTUNREACH);
	assert_non_null(strstr(e.words, "nowhere:8020: no such host; and no configuration was found"));
	world_free(w);
}

/* Millisecond by millisecond through the whole of it. */
static void cancelled_when(enum store_op op)
{
	unsigned n_cancelled = 0, n_worked = 0;

	for (uint64_t ms = 1; ms < 150; ms++) {
		struct world *w = world_new();
		int r = ask(w, op, "d/f", ms * NS_PER_MS);

		assert_true(r == 0 || r == -ECANCELED || (op == STORE_STAT && r == -ENOENT));
		n_cancelled += r == -ECANCELED;
		n_worked += r != -ECANCELED;
		if (op != STORE_STAT)
			assert_int_equal(find(w, "/d/f") != NULL, r == 0);
		assert_int_equal(count_temporaries(w), 0);
		world_free(w);
	}
	assert_true(n_cancelled > 5 && n_worked > 5);
}

static void a_cancelled_request_ends_once_and_tells_how_it_went(void **state)
{
	cancelled_when(STORE_STAT);
	cancelled_when(STORE_WRITE);
	cancelled_when(STORE_CREATE_EXCLUSIVE);
}

static void waiting_for_a_datanode_can_be_cancelled(void **state)
{
	static const enum store_op ops[] = {STORE_WRITE, STORE_CREATE_EXCLUSIVE};

	for (unsigned i = 0; i < N_ELEMS(ops); i++) {
		struct world *w = world_new();
		uint64_t began_ns = loop_now(w->loop);

		fake_net_listen(w->net, "silent", 9866, NULL, NULL);
		fake_net_set(w->net, "silent", 9866, FAKE_IS_SILENT);
		w->content = sizeof(content);
		assert_int_equal(ask(w, ops[i], "d/f", NS_PER_S), -ECANCELED);
		assert_true(loop_now(w->loop) < began_ns + 2 * NS_PER_S);
		assert_int_equal(w->n_names, 0);
		world_free(w);
	}
}

/* A NameNode that has forgotten the call, as after a restart, and executes it again. */
static void lost_answers_of_rename_are_settled(void **state)
{
	for (unsigned n = 0; n < 4; n++) {
		for (unsigned there = 0; there < 2; there++) {
			static const enum store_op ops[] = {STORE_WRITE, STORE_CREATE_EXCLUSIVE};

			for (unsigned i = 0; i < N_ELEMS(ops); i++) {
				struct world *w = world_new();
				uint64_t other = there ? add(w, "/d/f")->id : 0;
				bool refused = there && ops[i] == STORE_CREATE_EXCLUSIVE;

				w->method = "rename2";
				w->n_lost = n % 2;
				w->n_before = n / 2;
				assert_int_equal(ask(w, ops[i], "d/f", 0), refused ? -EEXIST : 0);
				assert_non_null(find(w, "/d/f"));
				assert_int_equal(find(w, "/d/f")->id == other, refused);
				assert_int_equal(w->n_names, 1);
				world_free(w);
			}
		}
	}
}

/* What was written is elsewhere now: it was not published, and that is told. */
static void a_directory_that_is_renamed_under_a_writer_is_an_error(void **state)
{
	static const enum store_op ops[] = {STORE_WRITE, STORE_CREATE_EXCLUSIVE};

	for (unsigned i = 0; i < 2 * N_ELEMS(ops); i++) {
		struct world *w = world_new();
		bool there = i % 2;

		if (there)
			add(w, "/d/f");
		w->moves = true;
		assert_int_equal(ask(w, ops[i / 2], "d/f", 0), -ENOENT);
		assert_int_equal(w->n_names, 1 + there);
		world_free(w);
	}
}

static void a_deadline_ends_the_wait(void **state)
{
	struct world *w = world_new();
	struct asked a = {.req = {.loop = w->loop, .op = STORE_STAT, .path = "d/f", .done = on_done}};

	a.req.ctx = &a;
	w->delay_ns = 5 * NS_PER_S;
	a.req.deadline_ns = loop_now(w->loop) + NS_PER_S;
	store_submit(w->store, &a.req);
	assert_int_equal(loop_run_until(w->loop, &a.done), 0);
	assert_int_equal(a.req.r, -ETIMEDOUT);
	assert_int_equal(loop_now(w->loop), a.req.deadline_ns);
	world_free(w);
}

static void check_url(const char *rest, const char *authority, const char *path, bool relative)
{
	AUTO_FREE char *a = NULL, *p = NULL;
	bool is_relative;

	assert_int_equal(hdfs_url_parse(rest, &a, &p, &is_relative), 0);
	assert_string_equal(a, authority);
	assert_string_equal(p, path);
	assert_int_equal(is_relative, relative);
}

static void urls_are_read_as_hadoop_reads_them(void **state)
{
	check_url("//train/a/b", "train", "a/b", false);
	check_url("//train:8020/", "train:8020", "", false);
	check_url("//train", "train", "", false);
	check_url("///a", "", "a", false);
	check_url("/a", "", "a", false);
	check_url("/", "", "", false);
	check_url("a/b", "", "a/b", true);
	check_url("", "", "", true);
}

static void short_of_memory_is_told(void **state)
{
	unsigned n = 0, n_refused = 0;

	do {
		struct world *w = world_new();
		int r;

		mem_fail_nth(++n);
		r = ask(w, STORE_CREATE_EXCLUSIVE, "d/f", 0);
		n_refused += r < 0;
		if (!mem_failed())
			assert_int_equal(r, 0);
		assert_int_equal(find(w, "/d/f") != NULL, r == 0);
		world_free(w);
	} while (mem_failed());
	mem_fail_nth(0);
	assert_true(n_refused > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_appear_at_once),
		cmocka_unit_test(a_host_that_nobody_knows_is_told_with_where_it_was_looked_for),
		cmocka_unit_test(a_cancelled_request_ends_once_and_tells_how_it_went),
		cmocka_unit_test(waiting_for_a_datanode_can_be_cancelled),
		cmocka_unit_test(lost_answers_of_rename_are_settled),
		cmocka_unit_test(a_directory_that_is_renamed_under_a_writer_is_an_error),
		cmocka_unit_test(a_deadline_ends_the_wait),
		cmocka_unit_test(urls_are_read_as_hadoop_reads_them),
		cmocka_unit_test(short_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
