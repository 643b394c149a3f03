/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that change nothing, and what they must find. */
#include <inttypes.h>
#include <string.h>

#include "base/scope.h"
#include "ops.h"

#define MAX_RANGES 32

static void compare_range(const struct shadow_file *f, uint64_t offset, const void *buf, uint64_t n)
{
	uint64_t at = content_differs(&f->content, offset, buf, n);

	if (at < n)
		differs("%s: byte %" PRIu64 " of %" PRIu64 " is not what was written", f->path, offset + at, f->content.length);
	run.n_read += n;
}

/* All of it; the sum is for those who read it by other means. False: it could not be read. */
bool compare_file(const struct shadow_file *f, struct sha256 *sum)
{
	struct err e = {0};
	struct store_stat st;

	if (!worked(store_stat(run.store, full(f->path), &st, &e), "stat", f->path, &e))
		return false;
	if (st.kind != STORE_FILE || st.file.length != f->content.length)
		differs("%s: %" PRIu64 " bytes, not %" PRIu64, f->path, st.file.length, f->content.length);
	for (uint64_t at = 0; at < st.file.length; at += CHUNK) {
		size_t n = MIN(CHUNK, st.file.length - at);

		if (!worked(store_pread(run.store, full(f->path), &st.file, run.buf, n, at, &e), "read", f->path, &e))
			return false;
		compare_range(f, at, run.buf, n);
		if (sum)
			sha256_add(sum, run.buf, n);
	}
	return true;
}

static void set_true(struct store_req *req)
{
	*(bool *)req->ctx = true;
}

static int read_ranges(const char *path, struct store_range *ranges, unsigned n, struct err *e)
{
	AUTO(loop) struct loop *loop = NULL;
	bool done = false;
	struct store_req req = {.op = STORE_READ, .path = path, .ranges = ranges, .n_ranges = n, .prio = STORE_PRIO_NORMAL,
		.done = set_true, .ctx = &done, .err = e};

	if (loop_new(&loop) < 0)
		return -ENOMEM;
	req.loop = loop;
	store_submit(run.store, &req);
	loop_run_until(loop, &done);
	return req.r;
}

/* Many ranges in one request, some past the end. */
void op_read(struct shadow_file *f)
{
	struct store_range ranges[MAX_RANGES] = {0};
	unsigned n = 1 + (unsigned)dice(MAX_RANGES);
	uint64_t used = 0, length = f->content.length;
	struct err e = {0};
	int r;

	for (unsigned i = 0; i < n; i++) {
		ranges[i].offset = dice(length + 1);
		ranges[i].length = log_uniform(CHUNK / MAX_RANGES);
		ranges[i].length = MIN(ranges[i].length, length - ranges[i].offset);
		if (ranges[i].length == 0)
			ranges[i].length = 1;	/* past the end, when it is at the end */
		ranges[i].buf = run.buf + used;
		used += ranges[i].length;
	}
	r = read_ranges(full(f->path), ranges, n, &e);
	for (unsigned i = 0; i < n; i++) {
		bool past = ranges[i].offset + ranges[i].length > length;

		if (ranges[i].r == 0 && past)
			differs("%s: bytes behind its end (%" PRIu64 ") were read", f->path, length);
		if (ranges[i].r != 0 && !(past && ranges[i].r == -ENODATA))
			return (void)worked(ranges[i].r, "read ranges of", f->path, r == ranges[i].r ? &e : NULL);
		compare_range(f, ranges[i].offset, ranges[i].buf, ranges[i].done);
		if (ranges[i].done != MIN(ranges[i].length, length - ranges[i].offset))
			differs("%s: %" PRIu64 " bytes at %" PRIu64 " of a range of %" PRIu64, f->path, ranges[i].done,
				ranges[i].offset, ranges[i].length);
	}
}

void op_list(const char *dir)
{
	struct store_listing l = {0};
	struct err e = {0};

	if (!worked(store_list(run.store, full(dir), &l, &e), "list", dir, &e))
		return;
	for (size_t i = 0; i < l.n; i++) {
		char path[PATH_BYTES];
		struct shadow_file *f;

		snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", l.entries[i].name);
		f = shadow_find(&run.shadow, path);
		if (!f || f->is_dir != (l.entries[i].stat.kind == STORE_DIR) ||
			(!f->is_dir && l.entries[i].stat.file.length != f->content.length))
			differs("listing of \"%s\": %s is not as it should be", dir, l.entries[i].name);
		if (i && strcmp(l.entries[i - 1].name, l.entries[i].name) >= 0)
			differs("listing of \"%s\" is not in order at %s", dir, l.entries[i].name);
	}
	if (l.n != shadow_count(&run.shadow, dir))
		differs("listing of \"%s\": %zu entries, not %u", dir, l.n, shadow_count(&run.shadow, dir));
	store_listing_release(&l);
}

void op_stat(const char *path)
{
	struct shadow_file *f = shadow_find(&run.shadow, path);
	struct store_stat st;
	struct err e = {0};
	int r = store_stat(run.store, full(path), &st, &e);

	if (r == -ENOENT && !f)
		return;
	if (!worked(r, "stat", path, &e))
		return;
	if (!f || f->is_dir != (st.kind == STORE_DIR) || (!f->is_dir && st.file.length != f->content.length))
		differs("%s is not as it should be", path);
}

/* Castagnoli's, bit by bit but for a table: on purpose not the engine's. */
static uint32_t crc32c_of(const struct content *c)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;

	for (unsigned i = 0; i < 256 && !table[255]; i++) {
		table[i] = i;
		for (unsigned k = 0; k < 8; k++)
			table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0x82f63b78u : 0);
	}
	for (uint64_t at = 0; at < c->length; at += CHUNK) {
		uint64_t n = MIN(CHUNK, c->length - at);

		content_fill(c, at, run.buf, n);
		for (uint64_t i = 0; i < n; i++)
			crc = (crc >> 8) ^ table[(crc ^ run.buf[i]) & 255];
	}
	return ~crc;
}

void op_sum(struct shadow_file *f)
{
	struct store_checksum sum;
	struct err e = {0};
	int r = run.no_sum ? -EOPNOTSUPP : store_checksum(run.store, full(f->path), &sum, &e);

	run.no_sum = r == -EOPNOTSUPP;
	if (run.no_sum || !worked(r, "checksum", f->path, &e))
		return;
	if (sum.length != f->content.length || sum.crc32c != crc32c_of(&f->content))
		differs("%s: checksum %08x of %" PRIu64 " bytes, not of what was written", f->path, sum.crc32c, sum.length);
}

