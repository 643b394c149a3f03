/* SPDX-License-Identifier: Apache-2.0 */
/* What the operations on names ask a NameNode, and what becomes of its answers. */
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
#include "store/hdfs/names/names.h"
#include "wire/hadoop/pb.h"
#include "wire/hadoop/status.h"

#define MAX_SAID 32

/* What the NameNode was asked, as "method(field=value, ..)", and what it says. */
struct world {
	struct loop *loop;
	struct fake_net *net;
	struct fake_nn *fake;
	struct hdfs_conf conf;
	struct hdfs_counters counters;
	struct nn *nn;
	struct names *names;
	char said[MAX_SAID][512];
	unsigned n_said;
	void (*answer)(struct world *w, const struct fake_call *call, struct fake_answer *a);
	unsigned n_answers;
	uint64_t trash_minutes;
	int r;
	bool done;
	struct store_req req;
	struct err err;
};

static void tell_fields(struct str message, char *out, size_t n)
{
	struct pb p = pb_of(message.p, message.n);
	size_t at = 0;

	out[0] = 0;
	while (pb_next(&p) && at < n) {
		const char *comma = at ? ", " : "";

		if (p.type == PB_BYTES && p.bytes.n && p.bytes.p[0] < ' ')
			at += (size_t)snprintf(out + at, n - at, "%s%u={%u}", comma, p.field, (unsigned)p.bytes.n);
		else if (p.type == PB_BYTES)
			at += (size_t)snprintf(out + at, n - at, "%s%u=%.*s", comma, p.field, STR_ARG(p.bytes));
		else
			at += (size_t)snprintf(out + at, n - at, "%s%u=%lld", comma, p.field, (long long)p.value);
	}
	assert_false(p.rd.bad);
}

static void on_call(void *ctx, const struct fake_call *call, struct fake_answer *answer)
{
	struct world *w = ctx;
	char fields[400];

	tell_fields(call->body, fields, sizeof(fields));
	assert_true(w->n_said < MAX_SAID);
	snprintf(w->said[w->n_said++], sizeof(w->said[0]), "%s(%s)", call->method, fields);
	if (w->answer)
		w->answer(w, call, answer);
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_int_equal(loop_new_virtual(&w->loop), 0);
	w->net = fake_net_new(w->loop);
	w->fake = fake_nn_new(w->loop, w->net, "one", 8020, on_call, w);
	w->conf = (struct hdfs_conf){
		.nameservice = (char *)"",
		.n_namenodes = 1,
		.namenodes = {{(char *)"", {(char *)"one", 8020}}},
		.user = (char *)"alice",
		.umask = 022,
		.connect_retries = 3,
		.connect_timeout_ms = 1000,
		.failover_base_ms = 100,
		.failover_max_ms = 1000,
	};
	assert_int_equal(nn_new(w->loop, &w->conf, fake_net_dialer(w->net), &w->counters, &w->nn), 0);
	assert_int_equal(names_new(w->loop, &w->conf, w->nn, &w->names), 0);
	return w;
}

static void world_free(struct world *w)
{
	store_listing_release(&w->req.listing);
	names_free(w->names);
	nn_free(w->nn);
	fake_nn_free(w->fake);
	assert_int_equal(loop_run(w->loop), 0);
	fake_net_free(w->net);
	loop_free(w->loop);
	free(w);
}

static void on_done(struct names_op *op, int r)
{
	struct world *w = container_of(op->req, struct world, req);

	w->r = r;
	w->done = true;
}

static int operate(struct world *w, enum store_op op, const char *path, const char *to)
{
	struct names_op *o = calloc(1, sizeof(*o));

	w->req.op = op;
	w->req.err = &w->err;
	w->err.code = 0;
	w->err.words[0] = 0;
	w->done = false;
	o->req = &w->req;
	o->path = path;
	o->to = to;
	o->done = on_done;
	names_start(w->names, o);
	assert_false(w->done);
	assert_int_equal(loop_run_until(w->loop, &w->done), 0);
	free(o);
	return w->r;
}

static void put_status(struct buf *b, uint32_t field, const char *name, enum hdfs_type type, uint64_t id)
{
	size_t at = b->n, mode;

	buf_pb_u64(b, 1, type);
	buf_pb_str(b, 2, name);
	buf_pb_u64(b, 3, type == HDFS_FILE ? 1000 + id : 0);
	mode = b->n;
	buf_pb_u64(b, 1, 0644);
	buf_pb_delimit(b, 4, mode);
	buf_pb_str(b, 5, id % 2 ? "alice" : "bob");
	buf_pb_str(b, 6, "staff");
	buf_pb_u64(b, 7, 1700000000123);
	buf_pb_u64(b, 8, 1700000000456);
	buf_pb_u64(b, 10, 3);
	buf_pb_u64(b, 11, 134217728);
	buf_pb_u64(b, 13, id);
	buf_pb_delimit(b, field, at);
}

static void say_file(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	put_status(&a->body, 1, "", HDFS_FILE, 7);
}

static void a_stat_has_what_the_namenode_says(void **state)
{
	struct world *w = world_new();
	const struct store_stat *s = &w->req.stat;

	w->answer = say_file;
	assert_int_equal(operate(w, STORE_STAT, "/a/b", NULL), 0);
	assert_string_equal(w->said[0], "getFileInfo(1=/a/b)");
	assert_int_equal(s->kind, STORE_FILE);
	assert_int_equal(s->file.length, 1007);
	assert_string_equal(s->file.version, "7-1007-1700000000123");
	assert_int_equal(s->mtime_ns, 1700000000123000000);
	assert_string_equal(s->owner, "alice");
	assert_string_equal(s->group, "staff");
	assert_int_equal(s->mode, 0644);
	assert_int_equal(s->replication, 3);
	assert_int_equal(s->block_bytes, 134217728);
	w->answer = NULL;
	assert_int_equal(operate(w, STORE_STAT, "/a/c", NULL), -ENOENT);
	world_free(w);
}

static void put_page(struct buf *b, unsigned n, unsigned n_more)
{
	size_t at = b->n;
	char name[16];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%04u", i);
		put_status(b, 1, name, i == 1 ? HDFS_DIR : HDFS_FILE, i + 1);
	}
	buf_pb_u64(b, 2, n_more);
	buf_pb_delimit(b, 1, at);
}

static void say_page(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	put_page(&a->body, 3, 5);
}

static void say_long_page(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	put_page(&a->body, 1500, 0);
}

static void say_file_as_page(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	size_t at = a->body.n;

	put_status(&a->body, 1, "", HDFS_FILE, 1);
	buf_pb_u64(&a->body, 2, 0);
	buf_pb_delimit(&a->body, 1, at);
}

static void a_listing_comes_in_pages(void **state)
{
	struct world *w = world_new();
	const struct store_listing *l = &w->req.listing;

	w->answer = say_page;
	w->req.to = "e9";
	assert_int_equal(operate(w, STORE_LIST, "/a", NULL), 0);
	assert_string_equal(w->said[0], "getListing(1=/a, 2=e9, 3=0)");
	assert_int_equal(l->n, 3);
	assert_true(l->more);
	assert_string_equal(l->entries[2].name, "f0002");
	assert_int_equal(l->entries[1].stat.kind, STORE_DIR);
	assert_ptr_equal(l->entries[0].stat.owner, l->entries[2].stat.owner);
	store_listing_release(&w->req.listing);
	/* What is more than a page is left for the next. */
	w->answer = say_long_page;
	w->req.to = NULL;
	assert_int_equal(operate(w, STORE_LIST, "/a", NULL), 0);
	assert_int_equal(l->n, STORE_PAGE_ENTRIES);
	assert_true(l->more);
	store_listing_release(&w->req.listing);
	w->answer = say_file_as_page;
	assert_int_equal(operate(w, STORE_LIST, "/a", NULL), -ENOTDIR);
	w->answer = NULL;
	assert_int_equal(operate(w, STORE_LIST, "/a", NULL), -ENOENT);
	world_free(w);
}

static void say_true(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	buf_pb_u64(&a->body, 1, 1);
}

static void say_false(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	buf_pb_u64(&a->body, 1, 0);
}

static void directories_are_made_and_things_removed(void **state)
{
	struct world *w = world_new();

	w->answer = say_true;
	assert_int_equal(operate(w, STORE_MKDIR, "/a/b", NULL), 0);
	assert_string_equal(w->said[0], "mkdirs(1=/a/b, 2={3}, 3=1, 4={3})");
	assert_int_equal(operate(w, STORE_REMOVE, "/a/b", NULL), 0);
	assert_string_equal(w->said[1], "delete(1=/a/b, 2=0)");
	assert_int_equal(operate(w, STORE_REMOVE_TREE, "/a/b", NULL), 0);
	assert_string_equal(w->said[2], "delete(1=/a/b, 2=1)");
	assert_int_equal(operate(w, STORE_REMOVE_TREE, "/", NULL), -EBUSY);
	assert_int_equal(w->n_said, 3);
	w->answer = say_false;
	assert_int_equal(operate(w, STORE_REMOVE, "/a/b", NULL), -ENOENT);
	world_free(w);
}

static void renames_say_whether_they_may_replace(void **state)
{
	struct world *w = world_new();

	assert_int_equal(operate(w, STORE_RENAME, "/a", "/b"), 0);
	assert_string_equal(w->said[0], "rename2(1=/a, 2=/b, 3=1)");
	assert_int_equal(operate(w, STORE_RENAME_NEW, "/a", "/b"), 0);
	assert_string_equal(w->said[1], "rename2(1=/a, 2=/b, 3=0)");
	w->answer = say_file;
	assert_int_equal(operate(w, STORE_RENAME, "/a", "/a"), 0);
	assert_string_equal(w->said[2], "getFileInfo(1=/a)");
	world_free(w);
}

static void say_mixed(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	if (strcmp(call->method, "getFileInfo") == 0) {
		say_file(w, call, a);
		return;
	}
	a->exception = "java.io.IOException";
	a->words = "Source /a and destination /b must both be directories";
}

static void a_file_is_not_renamed_to_a_directory(void **state)
{
	struct world *w = world_new();

	w->answer = say_mixed;
	assert_int_equal(operate(w, STORE_RENAME, "/a", "/b"), -EISDIR);
	assert_int_equal(operate(w, STORE_RENAME_NEW, "/a", "/b"), -EEXIST);
	world_free(w);
}

static void files_are_joined(void **state)
{
	struct world *w = world_new();
	const char *paths[] = {"d/x", "d//y/"};

	w->req.paths = paths;
	w->req.n_paths = 2;
	assert_int_equal(operate(w, STORE_CONCAT, "/d/t", NULL), 0);
	assert_string_equal(w->said[0], "concat(1=/d/t, 2=/d/x, 2=/d/y)");
	world_free(w);
}

static void a_set_is_as_many_calls_as_it_needs(void **state)
{
	struct world *w = world_new();
	struct store_set set = {.owner = "bob", .mtime_ns = 1700000000123456789, .replication = 2, .mode = 0700};

	w->req.set = &set;
	w->answer = say_true;
	assert_int_equal(operate(w, STORE_SET, "/a", NULL), 0);
	assert_int_equal(w->n_said, 4);
	assert_string_equal(w->said[0], "setReplication(1=/a, 2=2)");
	assert_string_equal(w->said[1], "setOwner(1=/a, 2=bob)");
	assert_string_equal(w->said[2], "setPermission(1=/a, 2={3})");
	assert_string_equal(w->said[3], "setTimes(1=/a, 2=1700000000123, 3=-1)");
	set = (struct store_set){.replication = 2, .mode = -1};
	w->answer = say_false;
	assert_int_equal(operate(w, STORE_SET, "/a", NULL), -EISDIR);
	set = (struct store_set){.mode = -1};
	w->answer = say_file;
	assert_int_equal(operate(w, STORE_SET, "/a", NULL), 0);
	world_free(w);
}

/* Trash. */

static void say_trash(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	size_t at = a->body.n;

	if (strcmp(call->method, "getServerDefaults") == 0) {
		buf_pb_u64(&a->body, 7, w->trash_minutes);
		buf_pb_delimit(&a->body, 1, at);
	} else if (strcmp(call->method, "getFileInfo") == 0) {
		put_status(&a->body, 1, "", HDFS_FILE, 42);
	} else if (strcmp(call->method, "mkdirs") == 0) {
		if (w->n_answers++ == 1)
			a->exception = "org.apache.hadoop.fs.ParentNotDirectoryException";
		buf_pb_u64(&a->body, 1, 1);
	} else if (w->n_answers++ == 3) {
		a->exception = "org.apache.hadoop.fs.FileAlreadyExistsException";
	}
}

static void trash_has_hadoops_layout(void **state)
{
	struct world *w = world_new();

	w->answer = say_trash;
	assert_int_equal(operate(w, STORE_TRASH, "/data/x/f", NULL), -EOPNOTSUPP);
	assert_non_null(strstr(w->err.words, "fs.trash.interval"));
	w->trash_minutes = 60;
	w->n_said = 0;
	assert_int_equal(operate(w, STORE_TRASH, "/data/x/f", NULL), 0);
	assert_int_equal(w->n_said, 4);
	assert_string_equal(w->said[1], "getFileInfo(1=/data/x/f)");
	assert_string_equal(w->said[2], "mkdirs(1=/user/alice/.Trash/Current/data/x, 2={3}, 3=1, 4={3})");
	assert_string_equal(w->said[3], "rename2(1=/data/x/f, 2=/user/alice/.Trash/Current/data/x/f, 3=0, 4=1)");
	world_free(w);
}

static void names_that_the_trash_has_already_get_a_number(void **state)
{
	struct world *w = world_new();

	w->answer = say_trash;
	w->trash_minutes = 60;
	w->n_answers = 1;
	assert_int_equal(operate(w, STORE_TRASH, "/data/x/f", NULL), 0);
	assert_int_equal(w->n_said, 6);
	assert_string_equal(w->said[3], "mkdirs(1=/user/alice/.Trash/Current/data42/x, 2={3}, 3=1, 4={3})");
	assert_string_equal(w->said[4], "rename2(1=/data/x/f, 2=/user/alice/.Trash/Current/data42/x/f, 3=0, 4=1)");
	assert_string_equal(w->said[5], "rename2(1=/data/x/f, 2=/user/alice/.Trash/Current/data42/x/f42, 3=0, 4=1)");
	w->n_said = 0;
	w->n_answers = 10;
	assert_int_equal(operate(w, STORE_TRASH, "/f", NULL), 0);
	assert_string_equal(w->said[2], "mkdirs(1=/user/alice/.Trash/Current, 2={3}, 3=1, 4={3})");
	world_free(w);
}

static void the_trash_does_not_go_into_itself(void **state)
{
	struct world *w = world_new();

	w->answer = say_trash;
	w->trash_minutes = 60;
	assert_int_equal(operate(w, STORE_TRASH, "/user/alice/.Trash/Current/x", NULL), -EOPNOTSUPP);
	assert_int_equal(operate(w, STORE_TRASH, "/user/alice", NULL), -EBUSY);
	assert_int_equal(operate(w, STORE_TRASH, "/", NULL), -EBUSY);
	assert_int_equal(operate(w, STORE_TRASH, "/user/alice2", NULL), 0);
	world_free(w);
}

/* Attributes. */

static void say_attributes(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	static const char *const names[] = {"one", "two"};

	for (unsigned i = 0; i < 2; i++) {
		size_t at = a->body.n;

		buf_pb_u64(&a->body, 1, i);
		buf_pb_str(&a->body, 2, names[i]);
		if (strcmp(call->method, "getXAttrs") == 0)
			buf_pb_bytes(&a->body, 3, "v\0w", 3);
		buf_pb_delimit(&a->body, 1, at);
	}
}

static void attributes_are_set_and_read(void **state)
{
	struct world *w = world_new();
	struct store_xattr *x = &w->req.xattr;

	*x = (struct store_xattr){.name = "user.k", .value = (void *)"val", .n = 3, .create = true};
	assert_int_equal(operate(w, STORE_XATTR_SET, "/a", NULL), 0);
	assert_string_equal(w->said[0], "setXAttr(1=/a, 2={10}, 3=1)");
	x->create = false;
	assert_int_equal(operate(w, STORE_XATTR_SET, "/a", NULL), 0);
	assert_string_equal(w->said[1], "setXAttr(1=/a, 2={10}, 3=3)");
	x->name = "security";
	assert_int_equal(operate(w, STORE_XATTR_SET, "/a", NULL), -EOPNOTSUPP);
	assert_non_null(strstr(w->err.words, "user.NAME"));
	*x = (struct store_xattr){.name = "user.one"};
	assert_int_equal(operate(w, STORE_XATTR_GET, "/a", NULL), -ENODATA);
	w->answer = say_attributes;
	assert_int_equal(operate(w, STORE_XATTR_GET, "/a", NULL), 0);
	assert_int_equal(x->n, 3);
	assert_memory_equal(x->value, "v\0w", 3);
	mem_free(x->value);
	*x = (struct store_xattr){NULL};
	assert_int_equal(operate(w, STORE_XATTR_LIST, "/a", NULL), 0);
	assert_int_equal(x->n, 21);
	assert_memory_equal(x->value, "user.one\0trusted.two", 21);
	mem_free(x->value);
	world_free(w);
}

static void say_numbers(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	size_t at = a->body.n;

	for (unsigned i = 1; i <= 6; i++)
		buf_pb_u64(&a->body, i, i == 6 ? UINT64_MAX : 10 * i);
	if (strcmp(call->method, "getContentSummary") == 0)
		buf_pb_delimit(&a->body, 1, at);
}

static void space_and_summaries_are_numbers(void **state)
{
	struct world *w = world_new();

	w->answer = say_numbers;
	assert_int_equal(operate(w, STORE_SPACE, "/", NULL), 0);
	assert_int_equal(w->req.space.total_bytes, 10);
	assert_int_equal(w->req.space.used_bytes, 20);
	assert_int_equal(w->req.space.free_bytes, 30);
	assert_int_equal(operate(w, STORE_SUMMARY, "/a", NULL), 0);
	assert_int_equal(w->req.summary.n_bytes, 10);
	assert_int_equal(w->req.summary.n_files, 20);
	assert_int_equal(w->req.summary.n_dirs, 30);
	assert_int_equal(w->req.summary.quota_names, 40);
	assert_int_equal(w->req.summary.space_bytes, 50);
	assert_true(w->req.summary.quota_bytes == STORE_NO_QUOTA);
	world_free(w);
}

static void say_refused(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	a->exception = "org.apache.hadoop.security.AccessControlException";
	a->words = "Permission denied: user=alice, access=WRITE\n\tat x";
}

static void refusals_have_the_servers_words(void **state)
{
	struct world *w = world_new();

	w->answer = say_refused;
	assert_int_equal(operate(w, STORE_MKDIR, "/a", NULL), -EACCES);
	assert_string_equal(w->err.words, "one:8020: Permission denied: user=alice, access=WRITE");
	world_free(w);
}

static void say_rubbish(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	buf_add(&a->body, "\x0a\xff\xff", 3);
}

static void rubbish_is_an_error_of_the_protocol(void **state)
{
	struct world *w = world_new();
	struct store_range range = {.length = 10};

	w->answer = say_rubbish;
	w->req.ranges = &range;
	w->req.n_ranges = 1;
	w->req.xattr.name = "user.x";
	for (enum store_op op = STORE_READ; op <= STORE_ABORT; op++)
		if (names_can(op) && op != STORE_RENAME && op != STORE_RENAME_NEW && op != STORE_CONCAT && op != STORE_SET &&
			op != STORE_XATTR_SET && op != STORE_XATTR_REMOVE)
			assert_int_equal(operate(w, op, "/a", "/b"), E_PROTOCOL);
	world_free(w);
}

static void say_what_fits(struct world *w, const struct fake_call *call, struct fake_answer *a)
{
	static const struct {
		const char *method;
		void (*say)(struct world *w, const struct fake_call *call, struct fake_answer *a);
	} says[] = {{"getFileInfo", say_file}, {"getListing", say_page}, {"getXAttrs", say_attributes},
		{"listXAttrs", say_attributes}, {"getFsStats", say_numbers}, {"getContentSummary", say_numbers},
		{"getServerDefaults", say_trash}};

	for (size_t i = 0; i < N_ELEMS(says); i++)
		if (strcmp(call->method, says[i].method) == 0) {
			says[i].say(w, call, a);
			return;
		}
	say_true(w, call, a);
}

/* One operation with all that it may need, in a world of its own, where the nth allocation fails; 0: none. */
static int operate_without(uint64_t nth, enum store_op op, bool *ret_failed)
{
	struct store_set set = {.owner = "bob", .mtime_ns = 1700000000123456789, .replication = 2, .mode = 0700};
	const char *paths[] = {"d/x", "d/y"};
	struct store_range range = {.length = 10};
	struct world *w = world_new();
	int r;

	w->answer = say_what_fits;
	w->trash_minutes = 60;
	w->req = (struct store_req){.set = &set, .paths = paths, .n_paths = 2, .ranges = &range, .n_ranges = 1};
	if (op != STORE_XATTR_LIST)
		w->req.xattr = (struct store_xattr){.name = "user.one", .value = (void *)"v", .n = 1};
	mem_fail_nth(nth);
	r = operate(w, op, "/d/a", "/d/b");
	*ret_failed = mem_failed();
	mem_fail_nth(0);
	if (r == 0 && (op == STORE_XATTR_GET || op == STORE_XATTR_LIST))
		mem_free(w->req.xattr.value);
	world_free(w);
	return r;
}

static void short_of_memory_a_call_is_right_or_told(void **state)
{
	for (enum store_op op = STORE_READ; op <= STORE_ABORT; op++) {
		unsigned n_told = 0;
		bool failed = names_can(op), none;
		int whole = failed ? operate_without(0, op, &none) : 0;

		for (uint64_t nth = 1; failed; nth++) {
			int r = operate_without(nth, op, &failed);

			assert_true(r == whole || (failed && r == -ENOMEM));
			n_told += r == -ENOMEM;
		}
		assert_true(!names_can(op) || n_told > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stat_has_what_the_namenode_says),
		cmocka_unit_test(a_listing_comes_in_pages),
		cmocka_unit_test(directories_are_made_and_things_removed),
		cmocka_unit_test(renames_say_whether_they_may_replace),
		cmocka_unit_test(a_file_is_not_renamed_to_a_directory),
		cmocka_unit_test(files_are_joined),
		cmocka_unit_test(a_set_is_as_many_calls_as_it_needs),
		cmocka_unit_test(trash_has_hadoops_layout),
		cmocka_unit_test(names_that_the_trash_has_already_get_a_number),
		cmocka_unit_test(the_trash_does_not_go_into_itself),
		cmocka_unit_test(attributes_are_set_and_read),
		cmocka_unit_test(space_and_summaries_are_numbers),
		cmocka_unit_test(refusals_have_the_servers_words),
		cmocka_unit_test(rubbish_is_an_error_of_the_protocol),
		cmocka_unit_test(short_of_memory_a_call_is_right_or_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
