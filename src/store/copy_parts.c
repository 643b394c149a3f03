/* SPDX-License-Identifier: Apache-2.0 */
/* A large file: parts in a hidden directory, joined there, verified, renamed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/scope.h"
#include "store/copy_int.h"
#include "wire/hadoop/crc.h"

#define SUFFIX ".olddog-cp"
#define PART_NAME 32

bool copy_is_staging(const char *name)
{
	size_t n = strlen(name), n_suffix = strlen(SUFFIX);

	return name[0] == '.' && n > n_suffix + 1 && strcmp(name + n - n_suffix, SUFFIX) == 0;
}

static char *staging_of(const char *to)
{
	const char *slash = strrchr(to, '/'), *name = slash ? slash + 1 : to;

	return mem_printf("%.*s.%s" SUFFIX, (int)(name - to), to, name);
}

static void part_name(const struct copy_big *big, unsigned i, char out[PART_NAME])
{
	snprintf(out, PART_NAME, "%016llx-%04u", (unsigned long long)big->key, i);
}

static char *part_path(const struct copy_big *big, unsigned i)
{
	char name[PART_NAME];

	part_name(big, i, name);
	return mem_printf("%s/%s", big->staging, name);
}

static uint64_t part_length(const struct copy_big *big, unsigned i)
{
	return MIN(big->part_bytes, big->task.stat.file.length - i * big->part_bytes);
}

static void big_free(struct copy_big *big)
{
	if (!big)
		return;
	copy_task_release(&big->task);
	mem_free(big->staging);
	mem_free(big->have);
	mem_free(big->crcs);
	mem_free(big);
}

/* Whether the store can concatenate: what it says of files that are not there. */
static bool can_join(struct store *s, const char *staging)
{
	AUTO_FREE char *a = mem_printf("%s/none-a", staging), *b = mem_printf("%s/none-b", staging);
	const char *const paths[] = {b};

	return a && b && store_concat(s, a, paths, 1, NULL) != -EOPNOTSUPP;
}

static int big_init(struct copy_big *big, const struct copy_task *t, unsigned n, uint64_t part_bytes)
{
	AUTO_FREE char *words = mem_printf("%s %llu %llu %llu", t->stat.file.version, (unsigned long long)t->stat.file.length,
		(unsigned long long)t->stat.mtime_ns, (unsigned long long)part_bytes);

	big->staging = staging_of(t->to);
	big->have = mem_calloc(n, sizeof(*big->have));
	big->crcs = mem_calloc(n, sizeof(*big->crcs));
	if (!words || !big->staging || !big->have || !big->crcs)
		return -ENOMEM;
	big->key = xxh3_of(words, strlen(words));
	big->n = n;
	big->part_bytes = part_bytes;
	return 0;
}

/* The part that an entry of the staging directory is, and whole; big->n: it is none. */
static unsigned part_of(const struct copy_big *big, const struct store_entry *entry)
{
	char name[PART_NAME];

	for (unsigned i = 0; i < big->n; i++) {
		part_name(big, i, name);
		if (strcmp(name, entry->name) == 0 && entry->stat.kind == STORE_FILE &&
			(entry->stat.file.length == part_length(big, i) || (i == 0 && entry->stat.file.length ==
			big->task.stat.file.length)))
			return i;
	}
	return big->n;
}

static void take_part(struct copy *c, struct copy_big *big, unsigned i, uint64_t length)
{
	big->have[i] = true;
	if (i == 0 && length == big->task.stat.file.length) {
		big->joined = true;
		big->n_left = 0;
		copy_moved(c, length, true);
	} else if (!big->joined) {
		big->n_left--;
		copy_moved(c, length, true);
	}
}

/* Parts that are whole already; what is of another version or size is removed. */
static int find_parts(struct copy *c, struct copy_big *big, struct err *e)
{
	struct store *s = big->task.to_store;
	struct store_listing all = {0};
	int r = store_mkdir(s, big->staging, e);

	if (r == 0)
		copy_sweep(s, big->staging);
	if (r == 0)
		r = store_list(s, big->staging, &all, e);
	for (size_t i = 0; i < all.n && r == 0; i++) {
		unsigned k = part_of(big, &all.entries[i]);
		AUTO_FREE char *path = mem_printf("%s/%s", big->staging, all.entries[i].name);

		if (k < big->n)
			take_part(c, big, k, all.entries[i].stat.file.length);
		else
			r = path ? store_remove_tree(s, path, e) : -ENOMEM;
	}
	store_listing_release(&all);
	return r;
}

/* What the parts are to be together: of bytes read now, or else of the source. */
static int expected(struct copy *c, const struct copy_big *big, uint32_t *ret, struct err *e)
{
	const struct copy_task *t = &big->task;
	struct store_checksum sum = {0};
	bool all_read = true;
	int r;

	for (unsigned i = 0; i < big->n; i++) {
		all_read &= !big->have[i];
		*ret = i ? crc_join(CRC_C, *ret, big->crcs[i], part_length(big, i)) : big->crcs[i];
	}
	if (all_read)
		return 0;
	r = copy_checksum(c, t->from_store, t->from, &t->stat.file, &sum, e);
	*ret = sum.crc32c;
	return r;
}

static int join_parts(const struct copy_big *big, const char *first, struct err *e)
{
	const char **paths = mem_calloc(big->n, sizeof(*paths));
	unsigned n = 0;
	int r = 0;

	while (paths && n < big->n - 1 && (paths[n] = part_path(big, n + 1)))
		n++;
	r = paths && n == big->n - 1 ? store_concat(big->task.to_store, first, paths, n, e) : -ENOMEM;
	while (n)
		mem_free((void *)paths[--n]);
	mem_free(paths);
	return r;
}

static int publish(struct copy *c, struct copy_big *big, const char *first, struct err *e)
{
	const struct copy_task *t = &big->task;
	int r = c->rules.preserve ? copy_attributes(t->to_store, first, &t->stat, e) : 0;

	if (r == 0)
		r = big->replace ? store_rename(t->to_store, first, t->to, e) : store_rename_new(t->to_store, first, t->to, e);
	if (r == 0)
		r = store_remove_tree(t->to_store, big->staging, e);
	return r;
}

/* All parts are there. What differs from what was read is not kept: the next try begins anew. */
static int big_finish(struct copy *c, struct copy_big *big, struct err *e)
{
	AUTO_FREE char *first = part_path(big, 0);
	uint32_t crc = 0;
	int r = first ? big->joined ? 0 : join_parts(big, first, e) : -ENOMEM;

	if (r == 0)
		r = expected(c, big, &crc, e);
	if (r == 0)
		r = copy_verify(c, &big->task, first, crc, e);
	return r < 0 ? r : publish(c, big, first, e);
}

static void big_end(struct copy *c, struct copy_big *big)
{
	int r = big->r;

	if (r == 0)
		r = big_finish(c, big, &big->err);
	copy_tell(c, r < 0 ? COPY_FAILED : big->replace ? COPY_REPLACED : COPY_COPIED, &big->task, &big->err, r);
	big_free(big);
}

void copy_forget_parts(const struct copy *c, const struct copy_task *t)
{
	AUTO_FREE char *staging = NULL;
	uint64_t part_bytes;

	if (copy_parts(t->stat.file.length, c->rules.part_bytes, &part_bytes) == 1)
		return;
	staging = staging_of(t->to);
	if (staging)
		store_remove_tree(t->to_store, staging, NULL);
}

int copy_begin_parts(struct copy *c, struct copy_task *t, bool replace, struct err *e)
{
	uint64_t part_bytes;
	unsigned n = copy_parts(t->stat.file.length, c->rules.part_bytes, &part_bytes);
	struct copy_big *big;
	int r;

	if (n == 1)
		return 1;
	big = mem_zalloc(sizeof(*big));
	r = big ? big_init(big, t, n, part_bytes) : -ENOMEM;
	if (r == 0 && !can_join(t->to_store, big->staging))
		r = 1;
	if (r == 0) {
		big->n_left = n;
		big->replace = replace;
		big->task = *t;
		r = find_parts(c, big, e);
	}
	if (r != 0) {
		if (big)
			big->task = (struct copy_task){0};
		big_free(big);
		return r;
	}
	*t = (struct copy_task){0};
	if (big->n_left == 0)
		big_end(c, big);
	else
		copy_share(c, big);
	return 0;
}

static int one_part(struct copy_pump *p, struct copy_big *big, unsigned i, struct err *e)
{
	AUTO_FREE char *path = part_path(big, i);
	const struct store_how how = {.mode = p->copy->rules.preserve ? big->task.stat.mode & 0777 : 0};
	unsigned n_tries = 0;
	int r = path ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	do {
		*e = (struct err){0};
		r = copy_range(p, &big->task, i * big->part_bytes, part_length(big, i), path, &how, &big->crcs[i], e);
		n_tries++;
	} while (r < 0 && r != -ESTALE && copy_again(r, n_tries) && !copy_stopped(p->copy));
	return r;
}

void copy_part(struct copy_pump *p, struct copy_big *big, unsigned i)
{
	struct copy *c = p->copy;
	struct err e = {0};
	int r;
	bool last;

	pthread_mutex_lock(&c->lock);
	r = big->r;
	pthread_mutex_unlock(&c->lock);
	/* Once one part has failed the others would be for nothing; those that are done stay for the next time. */
	if (r == 0)
		r = one_part(p, big, i, &e);
	pthread_mutex_lock(&c->lock);
	if (r < 0 && big->r == 0) {
		big->r = r;
		big->err = e;
	}
	last = --big->n_left == 0;
	pthread_mutex_unlock(&c->lock);
	if (last)
		big_end(c, big);
}
