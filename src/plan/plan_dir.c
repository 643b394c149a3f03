/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading a plan's directory. */
#include "plan/plan_dir.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/scope.h"
#include "plan/plan_own.h"

#define PLAN_VERSION 1

static void json_freep(json_t **j)
{
	json_decref(*j);
}
#define AUTO_JSON CLEANUP(json_freep)

static bool exists_in(const char *dir, const char *name)
{
	AUTO_FREE char *path = mem_printf("%s/%s", dir, name);
	struct stat st;

	return path && stat(path, &st) == 0;
}

bool plan_dir_is(const char *path)
{
	return exists_in(path, "plan.json") || exists_in(path, "part-0000");
}

/* The whole file, or the old one: a temporary file, synced, renamed. */
static int file_publish(int dir, const char *name, const void *p, size_t n)
{
	AUTO_CLOSE int fd = -1;
	char temporary[64];
	int r;

	snprintf(temporary, sizeof(temporary), "%s.tmp", name);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, p, n);
	if (r == 0 && (fsync(fd) < 0 || renameat(dir, temporary, dir, name) < 0))
		r = -errno;
	if (r < 0)
		unlinkat(dir, temporary, 0);
	return r == 0 && fsync(dir) < 0 ? -errno : r;
}

static json_t *exts_json(const struct plan_stats *st)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < st->n_exts && list; i++)
		json_array_append_new(list, json_pack("[s, I]", st->exts[i].name, (json_int_t)st->exts[i].n));
	return list;
}

static json_t *stats_json(const struct plan_stats *st)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:s}", "archives", (json_int_t)st->n_archives, "files",
		(json_int_t)st->n_files, "bytes", (json_int_t)st->n_bytes, "found", (json_int_t)st->n_found, "left_out",
		(json_int_t)st->n_bad, "extensions", exts_json(st), "bad", st->bad);
}

static json_t *bases_json(const struct index *x)
{
	json_t *list = json_array();

	for (size_t i = 0; i < x->bases.all.n && list; i++)
		if (json_array_append_new(list, json_string(x->bases.all.ptr[i].url)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static int text_add(const char *p, size_t n, void *text)
{
	return buf_add(text, p, n);
}

/*
 * Over the values, not over the text, so that it says nothing of white space: a bit that flips in a seed leaves a plan
 * that reads well and is another.
 */
static int json_sum(const json_t *j, char ret[17])
{
	AUTO_BUF struct buf text;

	buf_init(&text, PLAN_JSON_MAX_BYTES);
	if (json_dump_callback(j, text_add, &text, JSON_COMPACT | JSON_SORT_KEYS) < 0)
		return text.r < 0 ? text.r : -ENOMEM;
	snprintf(ret, 17, "%016llx", (unsigned long long)xxh3_of(text.ptr, text.n));
	return 0;
}

/* Whether j is what was written; its sum is taken out. */
static bool json_sum_right(json_t *j)
{
	const char *said = json_string_value(json_object_get(j, "sum"));
	char kept[17], sum[17];

	if (!said || strlen(said) != 16)
		return false;
	memcpy(kept, said, sizeof(kept));
	json_object_del(j, "sum");
	return json_sum(j, sum) == 0 && memcmp(kept, sum, sizeof(sum)) == 0;
}

static json_t *plan_json(const struct plan *p, const char *spec, uint64_t shards_xxh3)
{
	char order_id[SHA256_HEX], fields_id[SHA256_HEX], sum[17];

	hex_of(p->order_id, SHA256_BYTES, order_id);
	hex_of(p->fields_id, SHA256_BYTES, fields_id);
	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)shards_xxh3);
	return json_pack("{s:i, s:s, s:s, s:s, s:o, s:s, s:I, s:o}", "v", PLAN_VERSION, "order_id", order_id, "fields_id",
		fields_id, "spec", spec, "bases", bases_json(p->index), "shards_xxh3", sum, "samples",
		(json_int_t)p->n_samples, "stats", stats_json(&p->index->stats));
}

static int json_publish(const struct plan *p, int dir, uint64_t shards_xxh3, struct err *e)
{
	AUTO_BUF struct buf spec;
	AUTO_JSON json_t *j = NULL;
	AUTO_BUF struct buf text;
	char sum[17];
	int r;

	buf_init(&spec, SPEC_MAX_BYTES);
	buf_init(&text, PLAN_JSON_MAX_BYTES);
	r = spec_write(p->spec, &spec);
	if (r < 0)
		return r;
	j = plan_json(p, (const char *)spec.ptr, shards_xxh3);
	if (!j)
		return err_set(e, E_SPEC, "the plan cannot be written: a name in the spec is no UTF-8");
	r = json_sum(j, sum);
	if (r < 0 || json_object_set_new(j, "sum", json_string(sum)) < 0)
		return r < 0 ? r : -ENOMEM;
	if (json_dump_callback(j, text_add, &text, JSON_INDENT(1)) < 0)
		return text.r < 0 ? text.r : -ENOMEM;
	return file_publish(dir, "plan.json", text.ptr, text.n);
}

int plan_dir_write(struct plan *p, const char *dir, struct err *e)
{
	int fd = parts_dir(p->index->parts), r;
	AUTO_BUF struct buf shards;

	buf_init(&shards, SHARDS_MAX_BYTES);
	r = shards_encode(p->index, &shards);
	if (r == 0)
		r = parts_sync(p->index->parts, e);
	if (r == 0)
		r = parts_sync(p->index->binds, e);
	/* From here to the end the directory is not finished: the old plan.json would not fit the new shards.bin. */
	if (r == 0 && unlinkat(fd, "plan.json", 0) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0)
		r = file_publish(fd, "shards.bin", shards.ptr, shards.n);
	if (r == 0)
		r = json_publish(p, fd, xxh3_of(shards.ptr, shards.n), e);
	if (r < 0 && (!e || !e->code))
		return err_set(e, r, "%s: cannot write the plan: %s", dir, err_text(r));
	return r;
}

/* The whole file: 0; -EFBIG. A NUL follows. */
static int file_read(const char *dir, const char *name, uint64_t max, void **ret, size_t *ret_n)
{
	AUTO_FREE char *path = mem_printf("%s/%s", dir, name), *bytes = NULL;
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int r;

	if (!path)
		return -ENOMEM;
	fd = regular_open(AT_FDCWD, path, O_RDONLY, &st);
	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	bytes = mem_alloc((size_t)st.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	r = fd_pread_all(fd, bytes, (size_t)st.st_size, 0);
	if (r < 0)
		return r;
	bytes[st.st_size] = '\0';
	*ret = TAKE(bytes);
	*ret_n = (size_t)st.st_size;
	return 0;
}

static int broken(const char *dir, const char *what, struct err *e)
{
	return err_set(e, E_FORMAT, "%s: %s: make the plan again with olddog plan", dir, what);
}

static void stats_read(const json_t *j, struct plan_stats *st)
{
	json_int_t archives = 0, files = 0, bytes = 0, found = 0, left_out = 0, n;
	const char *bad = "", *name;
	json_t *exts = NULL, *item;
	size_t i;

	if (json_unpack((json_t *)j, "{s:I, s:I, s:I, s:I, s:I, s:o, s:s}", "archives", &archives, "files", &files, "bytes",
		    &bytes, "found", &found, "left_out", &left_out, "extensions", &exts, "bad", &bad) < 0)
		return; /* they are for people only */
	st->n_archives = (uint64_t)archives;
	st->n_files = (uint64_t)files;
	st->n_bytes = (uint64_t)bytes;
	st->n_found = (uint64_t)found;
	st->n_bad = (uint64_t)left_out;
	snprintf(st->bad, sizeof(st->bad), "%s", bad);
	json_array_foreach(exts, i, item) {
		if (st->n_exts == PLAN_STATS_EXTS || json_unpack(item, "[s, I]", &name, &n) < 0)
			break;
		snprintf(st->exts[st->n_exts].name, sizeof(st->exts[0].name), "%s", name);
		st->exts[st->n_exts++].n = (uint64_t)n;
	}
}

static int bases_read(const json_t *list, struct index *x, struct err *e)
{
	uint32_t number;
	json_t *item;
	size_t i;
	int r;

	json_array_foreach(list, i, item) {
		if (!json_is_string(item))
			return E_FORMAT;
		r = bases_add(&x->bases, json_string_value(item), &number, e);
		if (r < 0)
			return r;
		if (number != i)
			return E_FORMAT;
	}
	return 0;
}

static int file_failed(const char *dir, const char *name, int r, struct err *e)
{
	return err_set(e, r, "%s/%s%s%s", dir, name, r == -EINVAL ? " is no regular file" : ": ",
		r == -EINVAL ? "" : err_text(r));
}

static int json_read(struct plan *p, const char *dir, json_t *j, uint64_t *ret_sum, struct err *e)
{
	const char *order_id, *spec, *sum;
	json_t *bases, *stats;
	uint8_t bytes[8];
	int v, r;

	if (json_unpack(j, "{s:i}", "v", &v) < 0)
		return broken(dir, "plan.json has no version", e);
	if (v != PLAN_VERSION)
		return err_set(e, E_FORMAT, "%s: the plan is of version %d, this olddog reads version %d", dir, v,
			PLAN_VERSION);
	if (!json_sum_right(j))
		return broken(dir, "plan.json is not as it was written", e);
	if (json_unpack(j, "{s:s, s:s, s:s, s:o, s:o}", "order_id", &order_id, "spec", &spec, "shards_xxh3", &sum,
		    "bases", &bases, "stats", &stats) < 0 ||
		strlen(order_id) != SHA256_HEX - 1 || hex_parse(order_id, SHA256_BYTES, p->order_id) < 0 ||
		strlen(sum) != 16 || hex_parse(sum, 8, bytes) < 0)
		return broken(dir, "plan.json is not as it was written", e);
	*ret_sum = 0;
	for (unsigned i = 0; i < 8; i++)
		*ret_sum = *ret_sum << 8 | bytes[i];
	stats_read(stats, &p->index->stats);
	r = spec_parse(dir, spec, strlen(spec), &p->spec, e);
	return r < 0 ? r : bases_read(bases, p->index, e);
}

static int shards_read(struct plan *p, const char *dir, uint64_t sum, struct err *e)
{
	AUTO_FREE void *bytes = NULL;
	size_t n;
	int r = file_read(dir, "shards.bin", SHARDS_MAX_BYTES, &bytes, &n);

	if (r < 0)
		return file_failed(dir, "shards.bin", r, e);
	if (xxh3_of(bytes, n) != sum)
		return broken(dir, "shards.bin is not the one that plan.json names", e);
	r = shards_decode(bytes, n, p->index);
	if (r == E_FORMAT || (r == 0 && p->index->n_sources != p->spec->n_sources))
		return broken(dir, "shards.bin is broken", e);
	return r;
}

int plan_dir_read(struct plan *p, const char *dir, struct err *e)
{
	AUTO_FREE void *text = NULL;
	AUTO_JSON json_t *j = NULL;
	uint64_t sum = 0;
	size_t n;
	int r = file_read(dir, "plan.json", PLAN_JSON_MAX_BYTES, &text, &n);

	if (r == -ENOENT && exists_in(dir, "part-0000"))
		return err_set(e, E_FORMAT, "%s: the plan is not finished: run the same olddog plan again, it goes on", dir);
	if (r == -ENOENT)
		return err_set(e, E_FORMAT, "%s is no plan: it has no plan.json; olddog plan DATA -o %s makes one", dir, dir);
	if (r < 0)
		return file_failed(dir, "plan.json", r, e);
	j = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	if (!j)
		return broken(dir, "plan.json is no JSON", e);
	r = json_read(p, dir, j, &sum, e);
	if (r == 0)
		r = shards_read(p, dir, sum, e);
	if (r == 0)
		r = parts_open(dir, "part", &p->index->parts, e);
	if (r == 0)
		r = parts_open(dir, "bind", &p->index->binds, e);
	return r == E_FORMAT && (!e || !e->code) ? broken(dir, "plan.json is not as it was written", e) : r;
}
