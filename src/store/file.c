/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file: the machine's own file systems, through a bounded pool of threads that all stores of this kind share.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scope.h"
#include "store/engine.h"
#include "store/file_attr.h"
#include "store/file_dir.h"
#include "store/file_read.h"
#include "store/file_tree.h"
#include "store/file_write.h"
#include "store/path.h"
#include "store/publish.h"

#define POOL_THREADS 16
/* Listings under way whose names are kept. */
#define MAX_DIRS 4

struct file_store {
	struct store store;
	int root_fd;
	struct pool *pool;
	struct owners owners;
	pthread_mutex_t lock; /* of dirs; taken on pool threads */
	struct list dirs;     /* the newest last */
	unsigned n_dirs;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool *shared_pool;
static unsigned n_pool_users;

static int pool_get(struct pool **ret_pool)
{
	int r = 0;

	pthread_mutex_lock(&pool_lock);
	if (!shared_pool)
		r = pool_new(POOL_THREADS, &shared_pool);
	if (r == 0) {
		n_pool_users++;
		*ret_pool = shared_pool;
	}
	pthread_mutex_unlock(&pool_lock);
	return r;
}

static void pool_put(void)
{
	pthread_mutex_lock(&pool_lock);
	if (--n_pool_users == 0)
		pool_free(TAKE(shared_pool));
	pthread_mutex_unlock(&pool_lock);
}

/* A path of the store as one of openat(): "/a" is still below the root. */
static const char *path_below(const char *path)
{
	path += strspn(path, "/");
	return path[0] ? path : ".";
}

/* Listing. */

/* The names that a listing of this path goes on with, or NULL. The caller's. */
static struct file_dir *dirs_take(struct file_store *s, const char *path)
{
	struct file_dir *found = NULL;

	pthread_mutex_lock(&s->lock);
	LIST_EACH(l, &s->dirs) {
		struct file_dir *d = container_of(l, struct file_dir, list);

		if (!found && strcmp(d->path, path) == 0) {
			list_del(&d->list);
			s->n_dirs--;
			found = d;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* Keeps them for the next page, in place of older ones; forgets the oldest listing when there are too many. */
static void dirs_keep(struct file_store *s, struct file_dir *d)
{
	struct list *oldest = NULL;

	file_dir_free(dirs_take(s, d->path));
	pthread_mutex_lock(&s->lock);
	list_add(&s->dirs, &d->list);
	if (++s->n_dirs > MAX_DIRS) {
		oldest = list_pop(&s->dirs);
		s->n_dirs--;
	}
	pthread_mutex_unlock(&s->lock);
	if (oldest)
		file_dir_free(container_of(oldest, struct file_dir, list));
}

/* One entry by its name, unless it is gone since the names were read. */
static int list_one(struct file_store *s, int dir_fd, const char *name, struct store_listing *l)
{
	struct store_stat stat;
	int r = file_stat_at(dir_fd, name, &s->owners, &stat);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : store_listing_add(l, name, &stat);
}

static int list_page(struct file_store *s, struct store_req *req, int dir_fd, struct file_dir *d)
{
	size_t at = file_dir_after(d, req->to);
	int r = 0;

	for (; r == 0 && at < d->names.n && req->listing.n < STORE_PAGE_ENTRIES; at++)
		r = req->cancelled ? req->cancelled : list_one(s, dir_fd, d->names.ptr[at], &req->listing);
	req->listing.more = at < d->names.n;
	return r;
}

static int file_list(struct file_store *s, struct store_req *req, const char *path)
{
	AUTO_CLOSE int dir_fd = openat(s->root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(file_dir) struct file_dir *d = NULL;
	int r = 0;

	if (dir_fd < 0)
		return -errno;
	/* A first page is of the directory as it is now. */
	if (req->to && !req->temporaries)
		d = dirs_take(s, path);
	if (!d)
		r = file_dir_read(s->root_fd, path, req->temporaries, &d);
	if (r == 0)
		r = list_page(s, req, dir_fd, d);
	if (r == 0 && req->listing.more && !req->temporaries)
		dirs_keep(s, TAKE(d));
	return r;
}

/* Changing. */

static int file_publish(struct file_store *s, struct store_req *req, enum publish how)
{
	char path[STORE_NAME_MAX];
	const struct store_range *content = req->ranges;
	int r;

	path_clean(req->path, path);
	r = publish_file(s->root_fd, path, content->buf, (size_t)content->length, how);
	if (r != -ENOENT)
		return r;
	r = file_make_dirs(s->root_fd, path_parent(path));
	return r < 0 ? r : publish_file(s->root_fd, path, content->buf, (size_t)content->length, how);
}

static int remove_dir(struct file_store *s, const char *path)
{
	int r = 0;

	if (unlinkat(s->root_fd, path, AT_REMOVEDIR) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	/* Perhaps only what killed processes left there. */
	r = publish_sweep(s->root_fd, path);
	if (r < 0)
		return r;
	return unlinkat(s->root_fd, path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int file_remove(struct file_store *s, const char *path)
{
	struct stat st;

	if (fstatat(s->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return remove_dir(s, path);
	return unlinkat(s->root_fd, path, 0) < 0 ? -errno : 0;
}

static int file_rename(struct file_store *s, const char *from, const char *to, unsigned flags)
{
	return renameat2(s->root_fd, from, s->root_fd, to, flags) < 0 ? -errno : 0;
}

/*
 * Where the file system cannot do it at once (NFS says EINVAL), a file is renamed by a link; a directory cannot have one,
 * and there is no other way that is sure.
 */
static int file_rename_new(struct file_store *s, const char *from, const char *to)
{
	int r = file_rename(s, from, to, RENAME_NOREPLACE);
	struct stat st;

	if ((r != -EINVAL && r != -ENOSYS) || fstatat(s->root_fd, from, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return r;
	if (S_ISDIR(st.st_mode))
		return r == -EINVAL ? r : -EOPNOTSUPP;
	if (linkat(s->root_fd, from, s->root_fd, to, 0) < 0)
		return -errno;
	return unlinkat(s->root_fd, from, 0) < 0 ? -errno : 0;
}

/* The table. */

static int file_do_more(struct file_store *s, struct store_req *req, const char *clean)
{
	const char *path = path_below(clean);

	switch (req->op) {
	case STORE_REMOVE_TREE:
		return file_remove_tree(s->root_fd, clean, req);
	case STORE_SUMMARY:
		return file_summary(s->root_fd, path, req);
	case STORE_TRASH:
		return err_set(req->err, -EOPNOTSUPP, "there is no trash for files of this host");
	case STORE_CONCAT:
		return file_concat(s->root_fd, clean, req);
	case STORE_CHECKSUM:
		return file_checksum(s->root_fd, path, req);
	case STORE_LOCATE:
		return file_locate(s->root_fd, path, req);
	case STORE_SET:
		return file_set(s->root_fd, path, req);
	case STORE_SPACE:
		return file_space(s->root_fd, path, &req->space);
	case STORE_XATTR_GET:
	case STORE_XATTR_SET:
	case STORE_XATTR_REMOVE:
	case STORE_XATTR_LIST:
		return file_xattr(s->root_fd, path, req);
	case STORE_OPEN_WRITER:
		return file_open_writer(s->root_fd, clean, req);
	case STORE_APPEND:
		return file_append(req);
	case STORE_FLUSH:
		return file_flush(req);
	case STORE_COMMIT:
	case STORE_ABORT:
		return file_end_writer(req);
	default:
		return -EOPNOTSUPP;
	}
}

static int file_do(struct file_store *s, struct store_req *req)
{
	char clean[STORE_NAME_MAX];
	const char *path = path_below(req->path);

	switch (req->op) {
	case STORE_READ:
		return file_read_at(s->root_fd, path, req);
	case STORE_STAT:
		return file_stat_at(s->root_fd, path, &s->owners, &req->stat);
	case STORE_LIST:
		return file_list(s, req, path);
	case STORE_MKDIR:
		path_clean(path, clean);
		return file_make_dirs(s->root_fd, str_of(clean));
	case STORE_REMOVE:
		return file_remove(s, path);
	case STORE_RENAME:
		return file_rename(s, path, path_below(req->to), 0);
	case STORE_RENAME_NEW:
		return file_rename_new(s, path, path_below(req->to));
	case STORE_WRITE:
		return file_publish(s, req, PUBLISH_REPLACE);
	case STORE_CREATE_EXCLUSIVE:
		return file_publish(s, req, PUBLISH_EXCLUSIVE);
	default:
		path_clean(path, clean);
		return file_do_more(s, req, clean);
	}
}

/* On a pool thread. A request that was cancelled while it waited is not begun. */
static void file_work(struct job *job)
{
	struct store_req *req = container_of(job, struct store_req, job);
	struct file_store *s = container_of(req->store, struct file_store, store);

	bool ends = req->op == STORE_COMMIT || req->op == STORE_ABORT;

	req->r = req->cancelled && !ends ? req->cancelled : file_do(s, req);
	if (req->r < 0 && (req->op == STORE_APPEND || req->op == STORE_FLUSH) && !req->writer->r)
		req->writer->r = req->r;
}

static void file_done(struct job *job)
{
	struct store_req *req = container_of(job, struct store_req, job);

	store_req_finish(req, req->r);
}

static void file_submit(struct store *store, struct store_req *req)
{
	struct file_store *s = container_of(store, struct file_store, store);

	/* To hand it to a thread and to wait for that is dearer than most of what there is to do. */
	if (req->blocking) {
		file_work(&req->job);
		store_req_finish(req, req->r);
		return;
	}
	req->job.work = file_work;
	req->job.done = file_done;
	req->job.urgent = req->prio == STORE_PRIO_URGENT;
	pool_submit(s->pool, req->loop, &req->job);
}

static void file_free(struct store *store)
{
	struct file_store *s = container_of(store, struct file_store, store);
	struct list *l;

	while ((l = list_pop(&s->dirs)) != NULL)
		file_dir_free(container_of(l, struct file_dir, list));
	pthread_mutex_destroy(&s->lock);
	owners_release(&s->owners);
	if (s->pool)
		pool_put();
	fd_closep(&s->root_fd);
	mem_free(s);
}

static int file_open_reader(struct store *store, const char *path, const struct store_file *file, int *ret_fd)
{
	return file_open_fd(container_of(store, struct file_store, store)->root_fd, path_below(path), file, ret_fd);
}

/* What a system call has begun cannot be called back; what waits, or goes on, looks at req->cancelled. */
static const struct store_ops file_ops = {
	.name = "file",
	.submit = file_submit,
	.blocks = true,
	.open_fd = file_open_reader,
	.check_fd = file_check_fd,
	.free = file_free,
};

static int file_open_at(const char *root, const char *base, const char *path, struct store **ret_store, char **ret_path,
	struct err *e)
{
	struct file_store *s = mem_zalloc(sizeof(*s));
	AUTO_STORE struct store *owned = NULL;
	AUTO_FREE char *copy = mem_strdup(path);
	int r;

	if (!s)
		return -ENOMEM;
	store_init(&s->store, &file_ops);
	owned = &s->store;
	list_init(&s->dirs);
	pthread_mutex_init(&s->lock, NULL);
	owners_init(&s->owners);
	s->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->root_fd < 0)
		return err_set(e, -errno, "%s: %s", root, err_text(-errno));
	s->store.base = mem_strdup(base);
	r = pool_get(&s->pool);
	if (r < 0 || !copy || !s->store.base)
		return -ENOMEM;
	*ret_store = TAKE(owned);
	*ret_path = TAKE(copy);
	return 0;
}

int file_open(const char *rest, struct store **ret_store, char **ret_path, struct err *e)
{
	const char *path = rest;

	if (str_starts(str_of(rest), "//localhost/"))
		path = rest + strlen("//localhost");
	else if (str_starts(str_of(rest), "//"))
		path = rest + 2;
	if (path[0] != '/')
		return err_set(e, -EINVAL, "file:%s: write file:///PATH with the whole path, or the path alone", rest);
	return file_open_at("/", "", path, ret_store, ret_path, e);
}

/* Where the last ".." of a path ends; 0: there is none. */
static size_t climb_length(const char *path)
{
	struct str rest = str_of(path);
	size_t n = 0;

	while (rest.n) {
		struct str part = str_split(&rest, '/');

		if (str_eq(part, ".."))
			n = (size_t)(part.p + part.n - path);
	}
	return n;
}

/* A path may climb before the store begins, as the kernel climbs, and not within it: the root is behind the last "..". */
int file_open_bare(const char *path, struct store **ret_store, char **ret_path, struct err *e)
{
	size_t n = climb_length(path);
	AUTO_FREE char *root = mem_strndup(path, n), *base = mem_printf("%s/", root ? root : "");

	if (!root || !base)
		return -ENOMEM;
	if (n == 0)
		return file_open_at(path[0] == '/' ? "/" : ".", "", path, ret_store, ret_path, e);
	return file_open_at(root, base, path + n + strspn(path + n, "/"), ret_store, ret_path, e);
}
