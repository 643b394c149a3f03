/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that copy, the queue before them, and the walk that fills it. */
#include "store/copy.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "store/absent.h"
#include "store/copy_int.h"
#include "store/temporary.h"

/* Of leftovers in one directory. */
#define SWEEP_PAGES 64u

void copy_task_release(struct copy_task *t)
{
	store_unref(t->from_store);
	store_unref(t->to_store);
	mem_free(t->from);
	mem_free(t->to);
	*t = (struct copy_task){0};
}

static void progress(struct copy *c)
{
	if (c->watch.progress)
		c->watch.progress(c->watch.ctx, &c->counts);
}

void copy_moved(struct copy *c, uint64_t n_bytes, bool resumed)
{
	pthread_mutex_lock(&c->lock);
	*(resumed ? &c->counts.bytes_resumed : &c->counts.bytes_moved) += n_bytes;
	progress(c);
	pthread_mutex_unlock(&c->lock);
}

void copy_tell(struct copy *c, enum copy_event event, const struct copy_task *t, const struct err *e, int r)
{
	uint64_t n = t->stat.file.length;

	/* That it was stopped is told once, by copy_finish(). */
	if (r == -ECANCELED)
		return;
	pthread_mutex_lock(&c->lock);
	if (event == COPY_WHOLE) {
		c->counts.n_skipped++;
		c->counts.bytes_skipped += n;
	} else if (event == COPY_FAILED) {
		c->counts.n_failed++;
	} else {
		c->counts.n_copied++;
		c->counts.bytes_copied += n;
	}
	if (c->watch.event)
		c->watch.event(c->watch.ctx, event, t->from, t->to, n, event == COPY_FAILED ? err_words(e, r) : NULL);
	progress(c);
	pthread_mutex_unlock(&c->lock);
}

void copy_share(struct copy *c, struct copy_big *big)
{
	pthread_mutex_lock(&c->lock);
	list_add(&c->bigs, &big->list);
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

/* The next part of the first large file that nobody has begun. The lock is held. */
static struct copy_big *next_part(struct copy *c, unsigned *ret_i)
{
	struct copy_big *big;

	if (list_empty(&c->bigs))
		return NULL;
	big = container_of(c->bigs.next, struct copy_big, list);
	while (big->have[big->next])
		big->next++;
	*ret_i = big->next++;
	while (big->next < big->n && big->have[big->next])
		big->next++;
	if (big->next == big->n)
		list_del(&big->list);
	return big;
}

/* Parts come before files, so that few large files are under way at once. */
static bool work_once(struct copy *c, struct copy_pump *p)
{
	unsigned i = 0;
	struct copy_big *big = next_part(c, &i);
	struct copy_task t = {0};

	if (!big && !c->n_queued)
		return false;
	if (!big) {
		t = c->queue[c->first];
		c->first = (c->first + 1) % COPY_QUEUE;
		c->n_queued--;
		pthread_cond_broadcast(&c->wake);
	}
	c->n_busy++;
	pthread_mutex_unlock(&c->lock);
	if (big)
		copy_part(p, big, i);
	else if (copy_stopped(c))
		copy_task_release(&t);
	else
		copy_file(p, &t);
	pthread_mutex_lock(&c->lock);
	c->n_busy--;
	pthread_cond_broadcast(&c->wake);
	return true;
}

static void *worker(void *arg)
{
	struct copy_pump *p = arg;
	struct copy *c = p->copy;

	store_lend_loop(p->loop);
	pthread_mutex_lock(&c->lock);
	/* One that is busy may yet share parts. */
	while (work_once(c, p) || !c->closed || c->n_busy)
		if (!c->n_queued && list_empty(&c->bigs) && (!c->closed || c->n_busy))
			pthread_cond_wait(&c->wake, &c->lock);
	pthread_mutex_unlock(&c->lock);
	store_lend_loop(NULL);
	copy_pump_release(p);
	mem_free(p);
	return NULL;
}

static int start_worker(struct copy *c)
{
	struct copy_pump *p = mem_zalloc(sizeof(*p));
	int r = p ? copy_pump_init(p, c) : -ENOMEM;

	if (r == 0)
		r = -pthread_create(&c->threads[c->n_threads], NULL, worker, p);
	if (r == 0) {
		c->n_threads++;
		return 0;
	}
	if (p)
		copy_pump_release(p);
	mem_free(p);
	return r;
}

int copy_new(const struct copy_rules *rules, const struct copy_watch *watch, atomic_bool *stop, struct copy **ret)
{
	AUTO(copy) struct copy *c = mem_zalloc(sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->rules = *rules;
	c->watch = *watch;
	c->stop = stop;
	c->dirs.max = COPY_MAX_DIRS;
	list_init(&c->bigs);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	for (unsigned i = 0; i < MIN(MAX(rules->n_workers, 1), COPY_MAX_WORKERS) && r == 0; i++)
		r = start_worker(c);
	if (r < 0)
		return r;
	*ret = TAKE(c);
	return 0;
}

static void close_and_wait(struct copy *c)
{
	pthread_mutex_lock(&c->lock);
	c->closed = true;
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->lock);
	while (c->n_threads)
		pthread_join(c->threads[--c->n_threads], NULL);
}

void copy_free(struct copy *c)
{
	if (!c)
		return;
	close_and_wait(c);
	for (size_t i = 0; i < c->dirs.n; i++) {
		store_unref(c->dirs.ptr[i].from);
		store_unref(c->dirs.ptr[i].store);
		mem_free(c->dirs.ptr[i].path);
	}
	vec_release(&c->dirs);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	mem_free(c);
}

/* Takes the task. */
static void enqueue(struct copy *c, struct copy_task t)
{
	pthread_mutex_lock(&c->lock);
	while (c->n_queued == COPY_QUEUE)
		pthread_cond_wait(&c->wake, &c->lock);
	c->queue[(c->first + c->n_queued++) % COPY_QUEUE] = t;
	c->counts.n_files++;
	c->counts.n_bytes += t.stat.file.length;
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

static int add_file(struct copy *c, struct store *from, const char *from_path, const struct store_stat *stat,
	struct store *to, const char *to_path, bool absent)
{
	struct copy_task t = {.from = mem_strdup(from_path), .to = mem_strdup(to_path), .stat = *stat, .absent = absent};

	if (!t.from || !t.to) {
		copy_task_release(&t);
		return -ENOMEM;
	}
	t.from_store = store_ref(from);
	t.to_store = store_ref(to);
	enqueue(c, t);
	return 0;
}

static char *join(const char *dir, const char *name)
{
	size_t n = strlen(dir);

	return mem_printf("%s%s%s", dir, n && dir[n - 1] != '/' ? "/" : "", name);
}

/* Of one page; whether another one may have more. */
static bool sweep_page(struct store *s, const char *dir, char **after)
{
	struct store_listing page = {0};
	bool more;

	if (store_list_temporaries(s, dir, *after, &page, NULL) < 0)
		return false;
	for (size_t i = 0; i < page.n; i++) {
		AUTO_FREE char *path = temporary_is_abandoned(page.entries[i].name) ? join(dir, page.entries[i].name) : NULL;

		if (path && page.entries[i].stat.kind == STORE_FILE)
			store_remove(s, path, NULL);
	}
	mem_free(*after);
	*after = page.n ? mem_strdup(page.entries[page.n - 1].name) : NULL;
	more = page.more && *after && temporary_is(*after);
	store_listing_release(&page);
	return more;
}

void copy_sweep(struct store *s, const char *dir)
{
	AUTO_FREE char *after = NULL;

	for (unsigned i = 0; i < SWEEP_PAGES && sweep_page(s, dir, &after); i++)
		continue;
}

/* The walk of one tree. */
struct tree {
	struct copy *c;
	struct store *from, *to;
	struct err *e;
};

static int add_tree(struct tree *w, const char *from, const char *to, const struct store_stat *stat, unsigned depth);

static int add_entry(struct tree *w, const char *from, const char *to, const struct store_entry *entry, struct absent *absent,
	unsigned depth)
{
	AUTO_FREE char *below = join(from, entry->name), *target = join(to, entry->name);

	if (!below || !target)
		return -ENOMEM;
	if (copy_stopped(w->c))
		return -ECANCELED;
	if (entry->stat.kind == STORE_DIR)
		return copy_is_staging(entry->name) ? 0 : add_tree(w, below, target, &entry->stat, depth + 1);
	if (entry->stat.kind == STORE_FILE)
		return add_file(w->c, w->from, below, &entry->stat, w->to, target, absent_is(absent, entry->name));
	return 0;
}

static int add_page(struct tree *w, const char *from, const char *to, char **after, bool *more, struct absent *absent,
	unsigned depth)
{
	struct store_listing page = {0};
	int r = store_list_page(w->from, from, *after, &page, w->e);

	for (size_t i = 0; i < page.n && r == 0; i++)
		r = add_entry(w, from, to, &page.entries[i], absent, depth);
	*more = page.more;
	mem_free(*after);
	*after = page.more && page.n ? mem_strdup(page.entries[page.n - 1].name) : NULL;
	if (r == 0 && *more && !*after)
		r = -ENOMEM;
	store_listing_release(&page);
	return r;
}

/* Attributes come when nothing is put into the directory any more. */
static int keep_dir(struct tree *w, const char *to, const struct store_stat *stat)
{
	struct copy_dir d = {.path = mem_strdup(to), .stat = *stat};
	int r = d.path ? VEC_PUSH(&w->c->dirs, d) : -ENOMEM;

	if (r < 0) {
		mem_free(d.path);
		return r;
	}
	w->c->dirs.ptr[w->c->dirs.n - 1].from = store_ref(w->from);
	w->c->dirs.ptr[w->c->dirs.n - 1].store = store_ref(w->to);
	return 0;
}

static int make_dir(struct tree *w, const char *to, const struct store_stat *stat)
{
	int r = w->c->rules.dry ? 0 : store_mkdir(w->to, to, w->e);

	if (r == 0 && !w->c->rules.dry)
		copy_sweep(w->to, to);
	if (r == 0 && w->c->rules.preserve && !w->c->rules.dry)
		r = keep_dir(w, to, stat);
	pthread_mutex_lock(&w->c->lock);
	w->c->counts.n_dirs += r == 0;
	pthread_mutex_unlock(&w->c->lock);
	return r;
}

static int add_tree(struct tree *w, const char *from, const char *to, const struct store_stat *stat, unsigned depth)
{
	AUTO_FREE char *after = NULL;
	struct absent absent;
	bool more = true;
	int r;

	if (depth > COPY_MAX_DEPTH)
		return err_set(w->e, -ELOOP, "%.300s is deeper than %u directories: is there a loop of symbolic links?", from,
			COPY_MAX_DEPTH);
	r = make_dir(w, to, stat);
	if (r < 0)
		return r;
	absent_init(&absent, w->to, to);
	while (r == 0 && more)
		r = add_page(w, from, to, &after, &more, &absent, depth);
	absent_release(&absent);
	return r;
}

int copy_add(struct copy *c, struct store *from, const char *from_path, const struct store_stat *stat, struct store *to,
	const char *to_path, struct err *e)
{
	struct tree w = {c, from, to, e};

	if (stat->kind == STORE_DIR)
		return add_tree(&w, from_path, to_path, stat, 1);
	if (stat->kind == STORE_FILE)
		return add_file(c, from, from_path, stat, to, to_path, false);
	return err_set(e, -EINVAL, "%.300s is neither a file nor a directory", from_path);
}

int copy_finish(struct copy *c, struct copy_counts *ret, struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&c->lock);
	c->counts.all_seen = true;
	pthread_mutex_unlock(&c->lock);
	close_and_wait(c);
	/* Backwards: what is in a directory before the directory. */
	for (size_t i = c->dirs.n; i > 0 && r == 0 && !copy_stopped(c); i--)
		r = copy_attributes(c->dirs.ptr[i - 1].store, c->dirs.ptr[i - 1].path, &c->dirs.ptr[i - 1].stat, e);
	*ret = c->counts;
	if (r == 0 && copy_stopped(c))
		r = -ECANCELED;
	return r;
}
