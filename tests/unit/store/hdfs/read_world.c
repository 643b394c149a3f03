/* SPDX-License-Identifier: Apache-2.0 */
#include "read_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/hdfs/version.h"
#include "wire/hadoop/pb.h"

uint32_t below(struct dice *d, uint32_t n)
{
	uint32_t u[4];

	philox(d->key, d->n++, 0, 0, u);
	return (uint32_t)((uint64_t)u[0] * n >> 32);
}

/* -- The NameNode ------------------------------------------------------------------------------------------------- */

static void put_node(struct buf *b, uint32_t field, unsigned i)
{
	AUTO_BUF struct buf id, info;
	char name[16];

	buf_init(&id, 1000);
	buf_init(&info, 1000);
	snprintf(name, sizeof(name), "dn%u", i);
	buf_pb_str(&id, 1, name);
	buf_pb_str(&id, 2, name);
	buf_pb_str(&id, 3, name);
	buf_pb_u64(&id, 4, XFER_PORT);
	buf_pb_u64(&id, 5, 1);
	buf_pb_u64(&id, 6, IPC_PORT);
	buf_pb_bytes(&info, 1, id.ptr, id.n);
	buf_pb_str(&info, 8, "/r1");
	buf_pb_bytes(b, field, info.ptr, info.n);
}

uint64_t block_length(const struct file *f, unsigned i)
{
	return MIN(f->block_bytes, f->length - i * f->block_bytes);
}

static void put_block(struct buf *b, uint32_t field, const struct file *f, unsigned i, uint64_t n_bytes)
{
	struct hdfs_block block = {.pool = i && f->pool_of_later ? f->pool_of_later : "BP-1", .id = f->ids[i], .stamp = 1001,
		.n_bytes = n_bytes};
	AUTO_BUF struct buf m;

	buf_init(&m, 100000);
	buf_hdfs_block(&m, 1, &block);
	buf_pb_u64(&m, 2, i * f->block_bytes);
	for (unsigned k = 0; k < N_NODES; k++)
		if (f->nodes[i] >> k & 1)
			put_node(&m, 3, k);
	buf_pb_u64(&m, 4, 0);
	buf_pb_str(&m, 5, "");
	buf_pb_bytes(b, field, m.ptr, m.n);
}

static void put_locations(struct buf *b, uint32_t field, const struct file *f, uint64_t offset, uint64_t length)
{
	unsigned n = f->n_blocks - f->growing;
	AUTO_BUF struct buf m;

	buf_init(&m, 1000000);
	buf_pb_u64(&m, 1, f->growing ? n * f->block_bytes : f->length);
	for (unsigned i = 0; i < n; i++)
		if ((i + 1) * f->block_bytes > offset && i * f->block_bytes < offset + MIN(length, f->length))
			put_block(&m, 2, f, i, block_length(f, i));
	buf_pb_u64(&m, 3, f->growing);
	if (f->growing)
		put_block(&m, 4, f, n, 0);
	buf_pb_u64(&m, 5, !f->growing);
	buf_pb_bytes(b, field, m.ptr, m.n);
}

static void put_status(struct buf *b, const struct file *f, bool located)
{
	AUTO_BUF struct buf m, perm;

	buf_init(&m, 1000000);
	buf_init(&perm, 100);
	buf_pb_u64(&perm, 1, f->mode ? f->mode : 0644);
	buf_pb_u64(&m, 1, 2);
	buf_pb_str(&m, 2, "");
	buf_pb_u64(&m, 3, f->growing ? (f->n_blocks - 1) * f->block_bytes : f->length);
	buf_pb_bytes(&m, 4, perm.ptr, perm.n);
	buf_pb_str(&m, 5, "alice");
	buf_pb_str(&m, 6, "users");
	buf_pb_u64(&m, 7, f->mtime_ms);
	buf_pb_u64(&m, 8, f->mtime_ms);
	buf_pb_u64(&m, 10, 3);
	buf_pb_u64(&m, 11, f->block_bytes);
	if (located)
		put_locations(&m, 12, f, 0, UINT64_MAX);
	buf_pb_u64(&m, 13, f->id);
	buf_pb_bytes(b, 1, m.ptr, m.n);
}

static uint64_t number_of(struct str message, uint32_t field)
{
	struct pb p = pb_of(message.p, message.n);
	uint64_t found = 0;

	while (pb_next(&p))
		if (p.field == field)
			found = p.value;
	return found;
}

static void on_call(void *ctx, const struct fake_call *call, struct fake_answer *a)
{
	struct world *w = ctx;

	if (strcmp(call->method, "reportBadBlocks") == 0) {
		w->n_reports++;
		a->delay_ns = NS_PER_S;
		return;
	}
	if (strcmp(call->method, "checkAccess") == 0) {
		assert_int_equal(number_of(call->body, 2), 4);
		w->n_checks++;
		a->exception = w->file.denied ? "org.apache.hadoop.security.AccessControlException" : NULL;
		a->words = "Permission denied: user=bob, access=READ, inode=/f";
		return;
	}
	w->n_lookups++;
	if (strcmp(call->method, "getBlockLocations") == 0 && w->file.gone) {
		a->exception = "java.io.FileNotFoundException";
		a->words = "File does not exist: /f";
	} else if (strcmp(call->method, "getBlockLocations") == 0) {
		put_locations(&a->body, 1, &w->file, number_of(call->body, 2), number_of(call->body, 3));
	} else if (!w->file.gone) {
		put_status(&a->body, &w->file, strcmp(call->method, "getLocatedFileInfo") == 0);
	}
}

/* A DataNode's ipc port: all of the last block can be seen. */
static void on_ipc(void *ctx, const struct fake_call *call, struct fake_answer *a)
{
	struct world *w = ctx;

	assert_string_equal(call->method, "getReplicaVisibleLength");
	if (w->none_has) {
		a->exception = "org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException";
		a->words = "Cannot append to a non-existent replica";
		return;
	}
	if (w->first_says) {
		buf_pb_u64(&a->body, 1, w->first_says);
		w->first_says = 0;
		return;
	}
	buf_pb_u64(&a->body, 1, w->visible ? w->visible : block_length(&w->file, w->file.n_blocks - 1));
}

/* -- The world ---------------------------------------------------------------------------------------------------- */

struct world *world_new_on(struct loop *loop)
{
	struct world *w = mem_zalloc(sizeof(*w));
	char name[16];

	w->loop = loop;
	w->net = fake_net_new(w->loop);
	w->fake = fake_nn_new(w->loop, w->net, "nn", 8020, on_call, w);
	for (unsigned i = 0; i < N_NODES; i++) {
		snprintf(name, sizeof(name), "dn%u", i);
		w->dn[i] = fake_dn_new(w->loop, w->net, name, XFER_PORT);
		w->ipc[i] = fake_nn_new(w->loop, w->net, name, IPC_PORT, on_ipc, w);
	}
	w->conf = (struct hdfs_conf){.nameservice = (char *)"", .n_namenodes = 1,
		.namenodes = {{(char *)"", {(char *)"nn", 8020}}}, .user = (char *)"alice", .connect_retries = 3,
		.connect_timeout_ms = 1000, .failover_base_ms = 100, .failover_max_ms = 1000, .socket_timeout_ms = 60000,
		.socket_keepalive_ms = 3000, .prefetch_blocks = 3, .acquire_failures = 3, .retry_window_ms = 3000,
		.block_bytes = 128u << 20};
	assert_int_equal(nn_new(w->loop, &w->conf, fake_net_dialer(w->net), &w->counters, &w->nn), 0);
	assert_int_equal(dn_pool_new(w->loop, &w->conf, fake_net_dialer(w->net), &w->counters, &w->dns), 0);
	assert_int_equal(reads_new(w->loop, &w->conf, w->nn, w->dns, &w->counters, &w->reads), 0);
	return w;
}

struct world *world_new(void)
{
	struct loop *loop;

	assert_int_equal(loop_new_virtual(&loop), 0);
	return world_new_on(loop);
}

void world_free_on(struct world *w)
{
	reads_free(w->reads);
	dn_pool_free(w->dns);
	nn_free(w->nn);
	for (unsigned i = 0; i < N_NODES; i++) {
		fake_dn_free(w->dn[i]);
		fake_nn_free(w->ipc[i]);
	}
	fake_nn_free(w->fake);
	fake_net_free(w->net);
	mem_free(w->file.bytes);
	mem_free(w);
}

void world_free(struct world *w)
{
	struct loop *loop = w->loop;

	/* Reports that are under way. */
	assert_int_equal(loop_run(loop), 0);
	world_free_on(w);
	assert_int_equal(loop_run(loop), 0);
	loop_free(loop);
}

void put_replica(struct world *w, unsigned node, unsigned block, uint64_t n, int64_t bad_at)
{
	struct fake_replica r = {.id = w->file.ids[block], .bytes = w->file.bytes + block * w->file.block_bytes, .n = n,
		.bad_at = bad_at};

	fake_dn_put(w->dn[node], &r);
}

void world_file(struct world *w, uint64_t length, uint64_t block_bytes, unsigned n_replicas)
{
	struct file *f = &w->file;

	*f = (struct file){.id = 16386, .mtime_ms = 1000, .length = length, .block_bytes = block_bytes};
	w->n_files++;
	f->n_blocks = (unsigned)((length + block_bytes - 1) / block_bytes);
	assert_true(f->n_blocks <= MAX_BLOCKS);
	f->bytes = mem_alloc(length + 1);
	for (uint64_t i = 0; i < length; i++)
		f->bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	for (unsigned i = 0; i < f->n_blocks; i++) {
		/* Far from each other: a bit that flips in a question must not name another block. */
		f->ids[i] = (w->n_files * MAX_BLOCKS + i + 1) * 0x123456789abcdull;
		for (unsigned k = 0; k < n_replicas; k++) {
			f->nodes[i] |= 1u << ((i + k) % N_NODES);
			put_replica(w, (i + k) % N_NODES, i, block_length(f, i), -1);
		}
	}
}

static struct store_file file_of(const struct file *f)
{
	struct hdfs_status st = {.file_id = f->id, .length = f->length, .mtime_ms = f->mtime_ms};
	struct store_file file = {.length = f->length};

	hdfs_version_of(&st, file.version);
	return file;
}

static void on_done(struct read_job *job, int r)
{
	struct world *w = job->ctx;

	w->done = true;
	w->r = r;
}

void call_prepare(struct world *w, struct call *c, unsigned n, bool versioned)
{
	c->file = file_of(&w->file);
	c->job = (struct read_job){.path = "/f", .file = versioned ? &c->file : NULL, .ranges = c->ranges, .n_ranges = n,
		.done = on_done, .ctx = w, .err = &c->err};
	for (unsigned i = 0; i < n; i++) {
		c->ranges[i].buf = mem_alloc(c->ranges[i].length + 1);
		memset(c->ranges[i].buf, 0xee, c->ranges[i].length);
	}
}

void call_start(struct world *w, struct call *c, unsigned n, bool versioned)
{
	call_prepare(w, c, n, versioned);
	w->done = false;
	read_start(w->reads, &c->job);
	assert_false(w->done);
}

int call_run(struct world *w, struct call *c)
{
	w->done = false;
	read_start(w->reads, &c->job);
	assert_int_equal(loop_run_until(w->loop, &w->done), 0);
	return w->r;
}

/* What is done is right; what is not has a reason. Bytes done in all. */
uint64_t call_check(struct world *w, struct call *c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < c->job.n_ranges; i++) {
		struct store_range *g = &c->ranges[i];

		assert_true(g->done <= g->length);
		if (g->done)
			assert_memory_equal(g->buf, w->file.bytes + g->offset, g->done);
		assert_true(g->done == g->length ? g->r == 0 : g->r < 0);
		n += g->done;
		mem_free(TAKE(g->buf));
	}
	return n;
}

int read_once(struct world *w, struct call *c, unsigned n, bool versioned)
{
	call_start(w, c, n, versioned);
	assert_int_equal(loop_run_until(w->loop, &w->done), 0);
	return w->r;
}

int read_all(struct world *w, bool versioned)
{
	struct call c = {.ranges = {{.offset = 0, .length = w->file.length}}};
	int r = read_once(w, &c, 1, versioned);

	if (r == 0)
		assert_int_equal(c.ranges[0].done, c.ranges[0].length);
	call_check(w, &c);
	return r;
}
